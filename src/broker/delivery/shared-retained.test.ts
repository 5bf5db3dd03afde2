/** Retained messages in a deployment of several nodes: nodes within one process, over one log. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ManualClock, createHarness } from '../../../test/support/broker-harness.ts'
import type { Harness } from '../../../test/support/broker-harness.ts'
import { LocalRetainedStore } from '../../../test/support/local-retained-snapshot.ts'
import { SharedLog } from '../../../test/support/shared-log.ts'
import type { LogView } from '../../../test/support/shared-log.ts'
import { LocalDeployment } from '../../nodes.testing.ts'
import type { LocalNode } from '../../nodes.testing.ts'

interface TestNode extends Harness {
  readonly node: LocalNode
  readonly engine: LogView
  /** The retained messages in memory: the Topic Names with the payloads. */
  kept(): Record<string, string>
}

/** Its waits keep the process of the test alive. */
class NodesClock extends ManualClock {
  override after(_ms: number, run: () => void): () => void {
    const waiting = setImmediate(run)
    return () => clearImmediate(waiting)
  }
}

class TestDeployment {
  readonly clock = new NodesClock()
  readonly nodes = new LocalDeployment()
  readonly store = new LocalRetainedStore()
  readonly over = new Set<string>()
  readonly #log: SharedLog

  constructor(log: SharedLog) {
    this.#log = log
  }

  static async of(...names: readonly string[]): Promise<{ deployment: TestDeployment; started: TestNode[] }> {
    const deployment = new TestDeployment(await SharedLog.open())
    const started: TestNode[] = []
    for (const name of names) started.push(await deployment.start(name))
    return { deployment, started }
  }

  async start(name: string, state?: Map<string, Buffer>): Promise<TestNode> {
    const node = this.nodes.join(name)
    const engine = this.#log.join(state)
    const isOver = (topicName: string): boolean => this.over.has(topicName)
    const parts = { engine, clock: this.clock, nodes: node, retainedSnapshot: this.store.join(), isOver }
    const harness = await createHarness(parts)
    const kept = (): Record<string, string> => {
      const { retained } = harness.broker
      const names = [...retained.topicNames('')].toSorted()
      return Object.fromEntries(
        names.map((topicName) => [topicName, `${retained.find(topicName)?.payload.toString()}`]),
      )
    }
    return { ...harness, node, engine, kept }
  }

  async kill(dead: TestNode, heir: TestNode): Promise<void> {
    dead.engine.kill()
    this.nodes.silence(dead.node)
    await this.nodes.kill(dead.node, { heir: heir.node })
  }

  /** A second passes at these nodes. */
  async second(...nodes: readonly TestNode[]): Promise<void> {
    for (const { broker } of nodes) this.clock.advance(broker, 1)
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
  }
}

async function two(): Promise<{ deployment: TestDeployment; a: TestNode; b: TestNode }> {
  const { deployment, started } = await TestDeployment.of('a', 'b')
  const [a, b] = started as [TestNode, TestNode]
  return { deployment, a, b }
}

async function retain({ connect }: Harness, messages: Readonly<Record<string, string>>): Promise<void> {
  const publisher = await connect()
  for (const [topicName, payload] of Object.entries(messages)) {
    publisher.publish(topicName, payload, { qos: 1, retain: true })
    await publisher.next('puback')
  }
}

describe('retained messages in a deployment of several nodes', () => {
  it('are the same at all nodes, whichever node took them', async () => {
    const { a, b } = await two()
    await retain(a, { x: 'of a', y: 'of a', z: 'of a' })
    await retain(b, { y: 'of b', z: '' })
    assert.deepEqual(a.kept(), { x: 'of a', y: 'of b' })
    assert.deepEqual(b.kept(), a.kept())
    assert.deepEqual(
      [...a.engine.state.keys()].filter((key) => key.startsWith('retained/')),
      [],
    )
  })

  it('reach a new subscriber at another node', async () => {
    const { a, b } = await two()
    await retain(a, { 'x/y': 'kept' })
    const reader = await b.connect()
    await reader.subscribe('x/#')
    const { payload, retain: isRetained } = await reader.next('publish')
    assert.equal(payload.toString(), 'kept')
    assert.equal(isRetained, true)
  })

  it('go through the log with QoS 0, too', async () => {
    const { a, b } = await two()
    const publisher = await a.connect()
    publisher.publish('x', 'kept', { qos: 0, retain: true })
    await publisher.sync()
    await new Promise(setImmediate)
    assert.deepEqual(b.kept(), { x: 'kept' })
    assert.deepEqual(a.kept(), { x: 'kept' })
  })

  it('are there for a node that starts later, from the snapshot and from the log behind it', async () => {
    const { deployment, a, b } = await two()
    await retain(a, { w: '1', x: '1', y: '1', z: '1' })
    await deployment.second(a, b)
    assert.deepEqual(deployment.store.topicNames(), ['w', 'x', 'y', 'z'])
    await retain(b, { x: '2', y: '' })
    const c = await deployment.start('c')
    assert.deepEqual(c.kept(), { w: '1', x: '2', z: '1' })
    await deployment.second(a, b, c)
    assert.deepEqual(deployment.store.topicNames(), ['w', 'x', 'z'])
    assert.deepEqual(deployment.store.writes.slice(-1), [2], 'the changes alone were written')
    const d = await deployment.start('d')
    assert.deepEqual(d.kept(), { w: '1', x: '2', z: '1' })
  })

  it('take no step back where the snapshot knows more than its mark', async () => {
    const { deployment, a, b } = await two()
    await deployment.second(a, b)
    const mark = deployment.store.mark
    await retain(a, { x: 'old' })
    await retain(a, { x: 'new', y: 'new' })
    await retain(a, { y: '' })
    await deployment.second(a, b)
    // The writer ended before it wrote the mark.
    deployment.store.mark = mark
    const c = await deployment.start('c')
    assert.deepEqual(c.kept(), { x: 'new' })
  })

  it('are written by another node when the writer dies, though it dies before a write', async () => {
    const { deployment, a, b } = await two()
    await retain(a, { w: '1', x: '1', y: '1' })
    await deployment.second(a, b)
    await retain(b, { x: '2', y: '', z: '2' })
    await deployment.kill(a, b)
    await deployment.second(b)
    assert.deepEqual(deployment.store.topicNames(), ['w', 'x', 'z'])
    assert.deepEqual(deployment.store.writes.slice(-1), [3], 'the differences alone were written')
    const c = await deployment.start('c')
    assert.deepEqual(c.kept(), { w: '1', x: '2', z: '2' })
  })

  it('are not written by a node that has lost the lock', async () => {
    const { deployment, a, b } = await two()
    const other = deployment.store.join()
    await other.lock()
    await retain(a, { x: '1' })
    await deployment.second(a, b)
    assert.deepEqual(deployment.store.topicNames(), [])
    // The home finds out, and takes the lock back.
    for (let seconds = 0; seconds < 10; seconds += 1) await deployment.second(a, b)
    assert.deepEqual(deployment.store.topicNames(), ['x'])
  })

  it('are left as they are by an heir that is behind the log', async () => {
    const { deployment, a, b } = await two()
    b.engine.hold()
    await retain(a, { x: '1', y: '1' })
    await retain(a, { y: '' })
    await deployment.second(a)
    const { mark } = deployment.store
    await deployment.kill(a, b)
    await deployment.second(b)
    assert.deepEqual(deployment.store.topicNames(), ['x'])
    assert.deepEqual(deployment.store.mark, mark, 'the mark takes no step back')
    b.engine.goOn()
    await deployment.second(b)
    assert.deepEqual(b.kept(), { x: '1' })
    assert.deepEqual(deployment.store.topicNames(), ['x'])
  })

  it('are the own ones of the first node where it was the only one before', async () => {
    const deployment = new TestDeployment(await SharedLog.open())
    const alone = await deployment.start('alone')
    await retain(alone, { x: 'kept' })
    const [entry] = [...deployment.store.entries.values()]
    assert.equal(entry, undefined)
    await deployment.second(alone)
    const { record } = deployment.store.entries.get('x') ?? {}
    assert.ok(record !== undefined)
    const later = new TestDeployment(await SharedLog.open())
    const state = new Map([['retained/x', record]])
    const first = await later.start('a', state)
    assert.deepEqual(first.kept(), { x: 'kept' })
    assert.deepEqual(later.store.topicNames(), ['x'])
    const second = await later.start('b')
    assert.deepEqual(second.kept(), { x: 'kept' })
    await retain(second, { x: 'newer' })
    await later.second(first, second)
    await later.kill(first, second)
    // Its own entry is of an earlier time, and is forgotten.
    const again = await later.start('a', state)
    assert.deepEqual(again.kept(), { x: 'newer' })
    await new Promise(setImmediate)
    assert.deepEqual(
      [...state.keys()].filter((key) => key.startsWith('retained/')),
      [],
    )
  })

  it('go at all nodes when their topics are over, and from the snapshot', async () => {
    const { deployment, a, b } = await two()
    await retain(a, { 'x/1': 'over', 'x/2': 'over', y: 'kept' })
    await deployment.second(a, b)
    b.broker.removeRetainedUnder('x/')
    await deployment.second(a, b)
    assert.deepEqual(a.kept(), { y: 'kept' })
    assert.deepEqual(b.kept(), { y: 'kept' })
    await deployment.second(a, b)
    assert.deepEqual(deployment.store.topicNames(), ['y'])
    const c = await deployment.start('c')
    assert.deepEqual(c.kept(), { y: 'kept' })
  })

  it('stay where a topic began anew before the news of its end came', async () => {
    const { deployment, a, b } = await two()
    await retain(a, { 'x/1': 'over' })
    const held = Promise.withResolvers<void>()
    deployment.nodes.delivery = ({ kind }) => (kind === 'retained.removed' ? held.promise : undefined)
    a.broker.removeRetainedUnder('x/')
    await deployment.second()
    await retain(a, { 'x/1': 'new' })
    held.resolve()
    await deployment.second(a, b)
    assert.deepEqual(b.kept(), { 'x/1': 'new' })
    assert.deepEqual(a.kept(), { 'x/1': 'new' })
  })

  it('are in the snapshot when the last node ends in order', async () => {
    const { deployment, started } = await TestDeployment.of('a')
    const [a] = started as [TestNode]
    await retain(a, { x: '1' })
    await a.broker.close()
    assert.deepEqual(deployment.store.topicNames(), ['x'])
  })
})
