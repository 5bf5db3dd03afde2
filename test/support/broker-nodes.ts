/** Brokers of several nodes within one process, over one log in memory. */
import { LocalDeployment } from '../../src/nodes.testing.ts'
import type { LocalNode } from '../../src/nodes.testing.ts'
import type { Limits } from '../../src/broker/ports/limits.ts'
import type { Reach } from '../../src/broker/ports/policy.ts'
import type { PublishPacket } from '../../src/mqtt/packet.ts'
import { ManualClock, TestPermit, TestPolicy, createHarness } from './broker-harness.ts'
import type { Harness, TestClient } from './broker-harness.ts'
import { SharedLog } from './shared-log.ts'
import type { LogView } from './shared-log.ts'

export const TOPIC_NAME = 'application/5/device/0102030405060708/event/up'
export const TOPIC_FILTER = 'application/5/device/+/event/+'

export interface TestNode extends Harness {
  readonly node: LocalNode
  readonly engine: LogView
}

/** Wills of dead nodes are asked for by their ground. */
class HeirPolicy extends TestPolicy {
  readonly reach: Reach | undefined

  constructor(reach: Reach | undefined) {
    super()
    this.reach = reach
  }

  permitOn(): Promise<TestPermit> {
    return Promise.resolve(new TestPermit())
  }
}

/** Its waits keep the process of the test alive. */
class NodesClock extends ManualClock {
  override after(_ms: number, run: () => void): () => void {
    const waiting = setImmediate(run)
    return () => clearImmediate(waiting)
  }
}

export class TestDeployment {
  readonly clock = new NodesClock()
  readonly nodes = new LocalDeployment()
  readonly #log: SharedLog

  readonly #limits: Partial<Limits>
  readonly #reachOf: ((name: string) => Reach) | undefined

  constructor(log: SharedLog, limits: Partial<Limits>, reachOf?: (name: string) => Reach) {
    this.#log = log
    this.#limits = limits
    this.#reachOf = reachOf
  }

  static async of(
    names: readonly string[],
    limits: Partial<Limits> = {},
    reachOf?: (name: string) => Reach,
  ): Promise<{ deployment: TestDeployment; started: TestNode[] }> {
    const deployment = new TestDeployment(await SharedLog.open(), limits, reachOf)
    const started: TestNode[] = []
    for (const name of names) started.push(await deployment.start(name))
    return { deployment, started }
  }

  /** Starts a node. `joined` is called before its broker starts. */
  async start(
    name: string,
    state?: Map<string, Buffer>,
    joined: (node: LocalNode) => void = () => {},
  ): Promise<TestNode> {
    const node = this.nodes.join(name)
    joined(node)
    const engine = this.#log.join(state)
    const policy = new HeirPolicy(this.#reachOf?.(name))
    const harness = await createHarness({
      engine,
      clock: this.clock,
      nodes: node,
      policy,
      limits: this.#limits,
    })
    return { ...harness, policy, node, engine }
  }

  async kill(dead: TestNode, heir: TestNode): Promise<void> {
    dead.engine.kill()
    this.nodes.silence(dead.node)
    await this.nodes.kill(dead.node, { heir: heir.node, entries: dead.engine.entries() })
  }
}

export async function three(
  limits: Partial<Limits> = {},
): Promise<{ deployment: TestDeployment; a: TestNode; b: TestNode; c: TestNode }> {
  const { deployment, started } = await TestDeployment.of(['a', 'b', 'c'], limits)
  const [a, b, c] = started as [TestNode, TestNode, TestNode]
  return { deployment, a, b, c }
}

export async function publish(client: TestClient, payload: string, qos: 1 | 2 = 1): Promise<void> {
  const packetId = client.publish(TOPIC_NAME, payload, { qos })
  if (qos === 1) {
    await client.next('puback')
    return
  }
  await client.next('pubrec')
  client.acknowledge('pubrel', packetId)
  await client.next('pubcomp')
}

export async function take(client: TestClient, count: number): Promise<PublishPacket[]> {
  const packets: PublishPacket[] = []
  let open = 0
  while (packets.length < count || open > 0) {
    const packet = await client.nextOf('publish', 'pubrel')
    if (packet.type === 'pubrel') {
      client.acknowledge('pubcomp', packet.packetId)
      open = Math.max(0, open - 1)
    } else if (packet.type === 'publish') {
      packets.push(packet)
      if (packet.qos === 1) client.acknowledge('puback', packet.packetId)
      if (packet.qos !== 2) continue
      open += 1
      client.acknowledge('pubrec', packet.packetId)
    }
  }
  return packets
}

export function texts(packets: readonly PublishPacket[]): string[] {
  return packets.map(({ payload }) => payload.toString())
}
