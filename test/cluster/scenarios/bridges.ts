/** A network server outside, to which one node of the cluster has a connection. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { startBridgedBroker } from '../../network-servers/bridged-broker.ts'
import type { BridgedBroker } from '../../network-servers/bridged-broker.ts'
import { findMosquitto } from '../../network-servers/programs.ts'
import type { WireClient } from '../../support/wire-client.ts'
import type { ClusterNode } from '../cluster-node.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'
import { eventIdOf } from '../wire-steps.ts'

const LONGEST_MS = 60_000
const EVENT_MS = 20
/** Events between two faults. */
const BEFORE = 100
/** mosquitto sends so many again whose PUBACK it has not got: `max_inflight_messages`. */
const IN_FLIGHT = 20

export const BRIDGES: readonly Scenario[] = [
  {
    number: 29,
    title: 'one bridge in the cluster',
    nodes: 2,
    impossible: findMosquitto() === undefined ? 'mosquitto is not here (Debian: apt-get install mosquitto)' : undefined,
    run: bridge,
  },
]

async function bridge(stage: Stage): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-bridge-'))
  await chmod(folder, 0o755)
  const broker = await startBridgedBroker({ mosquitto: findMosquitto() ?? '' }, folder)
  try {
    const administration = stage.deployment.administration()
    const organizationId = await administration.organization()
    const file = join(folder, 'network-servers.json')
    await writeFile(file, JSON.stringify({ networkServers: [broker.networkServer('valley', organizationId)] }))
    const settings = { FIELDGATE_NETWORK_SERVERS_FILE: file }
    const applicationId = await administration.application(organizationId)
    const topic = `application/${applicationId}/device/${await administration.device(applicationId)}/event/up`
    const { session } = await administration.person([{ organizationId }])
    const login = { username: await administration.brokerToken(session, organizationId), password: 'default' }
    for (const node of stage.nodes) {
      await node.stop()
      await node.start(0, settings)
    }
    stage.load.goHome()
    const events = new BridgedEvents(topic, () =>
      stage.connect(stage.cluster.serving[0] as ClusterNode, {
        clientId: stage.unique('scene-bridge'),
        login,
        clean: false,
      }),
    )
    await withEvents(broker, events, () => killEach(stage, broker, events, settings))
  } finally {
    // The nodes forget the bridge.
    await Promise.all(stage.nodes.map((node) => node.stop()))
    await broker.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Kills each node in turn, so that the one with the bridge is among them. */
async function killEach(
  stage: Stage,
  { fieldgatePath }: BridgedBroker,
  events: BridgedEvents,
  settings: Readonly<Record<string, string>>,
): Promise<void> {
  const comeMs = await until(() => events.arrived >= BEFORE, LONGEST_MS)
  stage.bar('until events came by the bridge', comeMs, 15_000)
  stage.must(events.stored === events.arrived, `${events.stored - events.arrived} events were stored twice`)
  stage.must(fieldgatePath.connections === 1, `the cluster has ${fieldgatePath.connections} connections`)
  for (const node of stage.nodes) {
    const sent = events.sent
    const stored = events.stored - events.arrived
    await node.kill()
    let most = 0
    const goesOn = (): boolean => {
      most = Math.max(most, fieldgatePath.connections)
      return events.arrived >= sent + BEFORE
    }
    const movedMs = await until(goesOn, LONGEST_MS)
    stage.bar(`until events came without ${node.name}`, movedMs - BEFORE * EVENT_MS, 15_000)
    stage.must(most <= 1, `without ${node.name}, the cluster had ${most} connections at once`)
    const repeated = events.stored - events.arrived - stored
    stage.bar(`events that were stored again after ${node.name}`, repeated, IN_FLIGHT, 'events')
    await node.start(0, settings)
    stage.load.goHome()
  }
  events.cease()
  await until(() => events.arrived >= events.sent, LONGEST_MS)
  stage.must(events.arrived === events.sent, `${events.sent - events.arrived} of ${events.sent} events are lost`)
}

async function withEvents(broker: BridgedBroker, events: BridgedEvents, work: () => Promise<void>): Promise<void> {
  const { server, userName, password, caFile, clientId } = broker.integration('scene-chirpstack')
  const publisher = await connectAsync(server.replace('ssl:', 'mqtts:'), {
    username: userName,
    password,
    clientId,
    ca: await readFile(caFile),
  })
  try {
    await events.begin(publisher)
    await work()
  } finally {
    events.cease()
    await publisher.endAsync(true)
  }
}

/** Numbered events that a network server publishes at its own broker, and their reader. */
class BridgedEvents {
  readonly #topic: string
  readonly #connect: () => Promise<{ readonly client: WireClient }>
  readonly #numbers = new Set<number>()
  readonly #ids = new Set<string>()
  #timer: NodeJS.Timeout | undefined
  #isOver = false
  sent = 0

  constructor(topic: string, connect: () => Promise<{ readonly client: WireClient }>) {
    this.#topic = topic
    this.#connect = connect
  }

  /** Events that have come, each counted once. */
  get arrived(): number {
    return this.#numbers.size
  }

  /** The ids under which they were stored. */
  get stored(): number {
    return this.#ids.size
  }

  async begin(publisher: MqttClient): Promise<void> {
    const { client } = await this.#connect()
    await client.subscribe(this.#topic, 1)
    void this.#read(client)
    this.#timer = setInterval(() => {
      const payload = JSON.stringify({ number: this.sent })
      this.sent += 1
      publisher.publish(this.#topic, payload, { qos: 1 })
    }, EVENT_MS)
  }

  cease(): void {
    clearInterval(this.#timer)
    this.#isOver = true
  }

  /** Reads from here on, by replay where the reader has lost its node. */
  async #read(first: WireClient): Promise<void> {
    for (let client = first; ;) {
      const packet = await client.next().catch(() => null)
      if (packet === undefined) {
        const again = await this.#again()
        if (again === undefined) return
        client = again
      } else if (packet?.cmd === 'publish') {
        const { number } = JSON.parse(packet.payload.toString()) as { readonly number: number }
        this.#numbers.add(number)
        this.#ids.add(eventIdOf(packet) ?? '')
        client.send({ cmd: 'puback', messageId: packet.messageId as number })
      }
    }
  }

  async #again(): Promise<WireClient | undefined> {
    while (!this.#isOver) {
      try {
        const { client } = await this.#connect()
        client.send(client.subscribePacket(`$replay/2020-01-01T00:00:00Z/${this.#topic}`, 1))
        return client
      } catch {
        await new Promise((resolve) => {
          setTimeout(resolve, EVENT_MS)
        })
      }
    }
    return undefined
  }
}
