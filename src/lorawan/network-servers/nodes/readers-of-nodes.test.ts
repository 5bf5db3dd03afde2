import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type {
  Dispatched,
  Dispatcher,
  DispatchWatcher,
  OwnMessage,
  ReaderFilter,
} from '../../../broker/ports/consumer.ts'
import { openNodesWithCommands, settle } from '../../commands/nodes/nodes-with-commands.testing.ts'
import type { NodesWithCommands, NodeWithCommands } from '../../commands/nodes/nodes-with-commands.testing.ts'
import { NEXT_AFTER_MS } from '../adapter/downlink-message.ts'
import { LocalReaders } from '../downlink-readers.ts'
import { MqttNetworkServer } from '../mqtt-network-server.ts'
import { ReadersOfNodes } from './readers-of-nodes.ts'

/** After this time the next command of a device has gone out. */
const UNTIL_NEXT_MS = NEXT_AFTER_MS + 50

/** A network server that may be connected to the broker of one node. */
class TestReader implements Dispatcher {
  isConnected = false
  /** The ids of the commands that it got, in order. */
  readonly got: string[] = []
  readonly #held: DispatchWatcher[] = []

  dispatch({ payload }: OwnMessage, watcher: DispatchWatcher, isFor: ReaderFilter = () => true): Dispatched {
    if (!this.isConnected || !isFor({ tenant: 'organization:1', identity: 'x' })) return 'no reader'
    this.got.push((JSON.parse(payload.toString()) as { id: string }).id)
    this.#held.push(watcher)
    return 'sent'
  }

  get held(): number {
    return this.#held.length
  }

  acknowledge(): void {
    this.#held.shift()?.acknowledged()
  }

  /** Its Session ends, or goes to another node. */
  leave(): void {
    this.isConnected = false
    for (const watcher of this.#held.splice(0)) watcher.abandoned()
  }
}

const readers = new Map<string, TestReader>()
const ready = new Map<string, ReadersOfNodes>()

let all: NodesWithCommands
let a: NodeWithCommands
let b: NodeWithCommands
let c: NodeWithCommands

beforeEach(async () => {
  all = openNodesWithCommands((nodes, clock, downlinks) => {
    const reader = new TestReader()
    const here = new LocalReaders(reader)
    const everywhere = new ReadersOfNodes({ nodes, here, clock, onReady: () => downlinks().ready() })
    const { name } = nodes.bus.self
    readers.set(name, reader)
    ready.set(name, everywhere)
    const server = new MqttNetworkServer({
      readers: everywhere,
      sink: { ready: () => downlinks().ready() },
      organizationOf: () => '1',
      hasOwn: async () => true,
      presenceOf: () => undefined,
      isServedElsewhere: () => false,
      naming: { names: () => true, countsFrames: () => false },
    })
    return { serverOf: () => server }
  })
  a = await all.join('a')
  b = await all.join('b')
  c = await all.join('c')
})

describe('a network server that is connected to one node', () => {
  it('gets the commands of all nodes, never two of a device without its acknowledgement', async () => {
    const reader = connect('c')
    await Promise.all([a.send('a-1'), a.send('a-2'), b.send('b-1'), c.send('c-1')])
    for (let sent = 1; sent <= 4; sent += 1) {
      await all.pass(UNTIL_NEXT_MS)
      assert.deepEqual([reader.got.length, reader.held], [sent, 1])
      reader.acknowledge()
    }
    await all.pass(UNTIL_NEXT_MS)
    assert.equal(new Set(reader.got).size, 4)
    assert.equal((await b.standing()).filter((one) => one.endsWith(' sent')).length, 4)
  })

  it('gets what waits when it connects, though its home is another node', async () => {
    await a.send('one')
    await all.pass(100)
    assert.deepEqual(await b.standing(), ['one queued'])
    const reader = connect('b')
    await all.pass(200)
    assert.equal(reader.got.length, 1)
    reader.acknowledge()
    await all.pass(100)
    assert.deepEqual(await b.standing(), ['one sent'])
  })

  it('may take longer to acknowledge than a request lasts', async () => {
    const reader = connect('b')
    await a.send('one')
    await all.pass(41_000)
    reader.acknowledge()
    await all.pass(100)
    assert.deepEqual([reader.got.length, await a.standing()], [1, ['one sent']])
  })

  it('and moves to another node gets what it had not acknowledged there', async () => {
    const first = connect('b')
    await a.send('one')
    await all.pass(100)
    assert.equal(first.held, 1)
    first.leave()
    const second = connect('c')
    await all.pass(UNTIL_NEXT_MS)
    assert.deepEqual([second.got, second.held], [first.got, 1])
    second.acknowledge()
    await all.pass(UNTIL_NEXT_MS)
    await a.send('two')
    await all.pass(UNTIL_NEXT_MS)
    assert.deepEqual([first.got.length, second.got.length], [1, 2])
  })

  it('is asked again when the answer of its node got lost, and gets no second copy', async () => {
    const reader = connect('b')
    let lost = 0
    all.deployment.delivery = ({ kind, type, from }) => {
      if (kind !== 'downlinks.offer' || type !== 'answer' || from !== b.node.bus.self) return undefined
      lost += 1
      return lost === 1 ? 'drop' : undefined
    }
    await a.send('one')
    await all.pass(100)
    reader.acknowledge()
    await all.pass(7_000)
    assert.deepEqual([lost, reader.got.length, await a.standing()], [2, 1, ['one sent']])
  })

  it('is asked again when its node could not tell of a late acknowledgement', async () => {
    const reader = connect('b')
    all.deployment.delivery = ({ kind, from }) =>
      kind === 'downlinks.ended' && from === b.node.bus.self ? 'drop' : undefined
    await a.send('one')
    await all.pass(1_000)
    reader.acknowledge()
    await all.pass(28_000)
    assert.deepEqual(await a.standing(), ['one queued'])
    await all.pass(3_000)
    assert.deepEqual([reader.got.length, await a.standing()], [1, ['one sent']])
  })
})

describe('the loss of a node with a command in flight', () => {
  it('leaves the command in doubt, and another network server gets it', async () => {
    const first = connect('b')
    await a.send('one')
    await all.pass(100)
    assert.equal(first.held, 1)
    const second = connect('c')
    await all.kill(b, a)
    await all.pass(UNTIL_NEXT_MS)
    assert.deepEqual([second.got, second.held], [first.got, 1])
    second.acknowledge()
    await all.pass(UNTIL_NEXT_MS)
    assert.deepEqual(await a.standing(), ['one sent'])
  })

  it('that was the home: the heir waits for the acknowledgement that is on its way', async () => {
    const reader = connect('c')
    await a.send('one')
    await a.send('two')
    await all.pass(100)
    assert.deepEqual([reader.got.length, reader.held], [1, 1])
    await all.kill(a, b)
    await all.pass(1_000)
    assert.deepEqual([reader.got.length, reader.held], [1, 1])
    reader.acknowledge()
    await all.pass(UNTIL_NEXT_MS)
    assert.deepEqual([reader.got.length, reader.held], [2, 1])
    reader.acknowledge()
    await all.pass(UNTIL_NEXT_MS)
    assert.deepEqual(await c.standing(), ['two sent', 'one sent'])
  })

  it('that was the home: an acknowledgement before the heir began counts', async () => {
    const reader = connect('c')
    await a.send('one')
    await all.pass(100)
    all.deployment.silence(a.node)
    reader.acknowledge()
    await settle()
    await all.kill(a, b)
    await all.pass(1_000)
    assert.deepEqual([reader.got.length, await c.standing()], [1, ['one sent']])
  })

  it('that was the home: the heir offers a command to nobody while a living node has not said whether it had it', async () => {
    const first = connect('c')
    await a.send('one')
    await all.pass(100)
    all.deployment.silence(a.node)
    first.acknowledge()
    first.isConnected = false
    const second = connect('b')
    let lost = 0
    all.deployment.delivery = ({ kind, type, from }) => {
      if (kind !== 'downlinks.held' || type !== 'answer' || from !== c.node.bus.self) return undefined
      lost += 1
      return lost === 1 ? 'drop' : undefined
    }
    await all.kill(a, b)
    await all.pass(1_000)
    assert.deepEqual([lost, second.got, await c.standing()], [1, [], ['one queued']])
    // As a service does every 10 s.
    b.downlinks.ready()
    await all.pass(1_000)
    assert.deepEqual([lost, first.got.length, second.got, await c.standing()], [2, 1, [], ['one sent']])
  })
})

/** Connects the network server to a node, which hears that it can take messages. */
function connect(name: string): TestReader {
  const reader = readers.get(name) as TestReader
  reader.isConnected = true
  ready.get(name)?.readerReady()
  for (const { node, downlinks } of [a, b, c]) if (node.bus.self.name === name) downlinks.ready()
  return reader
}
