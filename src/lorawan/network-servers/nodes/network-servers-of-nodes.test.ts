import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { TestClock } from '../../../clock.testing.ts'
import { silentLogger } from '../../../logger.ts'
import { LocalDeployment } from '../../../nodes.testing.ts'
import type { LocalNode } from '../../../nodes.testing.ts'
import { settle } from '../../commands/nodes/nodes-with-commands.testing.ts'
import type { Downlink, HandOverAnswer, NetworkServer } from '../../commands/network-server.ts'
import { NetworkServersOfNodes } from './network-servers-of-nodes.ts'

const DOWNLINK: Downlink = {
  id: '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d',
  applicationId: '5',
  devEui: '0102030405060708',
  confirmed: true,
  fPort: 10,
  data: Buffer.from([1, 2, 3]),
  expiresAtMs: 5,
  doubt: { forMs: 7, otherIds: new Set(['x']), unclaimedIds: ['y'] },
}

/** A node with the network server `far`. */
interface TestNode {
  readonly node: LocalNode
  readonly all: NetworkServersOfNodes
  readonly server: NetworkServer
  readonly counts: { ready: number; changed: number }
}

let clock: TestClock
let deployment: LocalDeployment
/** The names of the nodes with a connection. */
let connected: string[]
let offered: Downlink[]
let answer: HandOverAnswer | Promise<HandOverAnswer>
let a: TestNode
let b: TestNode

beforeEach(async () => {
  clock = new TestClock()
  deployment = new LocalDeployment(clock)
  connected = []
  offered = []
  answer = { outcome: 'taken', networkServerItemId: 'z', holdsNext: true }
  a = join('a')
  await settle()
  b = join('b')
  await settle()
})

function join(name: string): TestNode {
  const node = deployment.join(name)
  const counts = { ready: 0, changed: 0 }
  const all = new NetworkServersOfNodes({
    nodes: node,
    clock,
    onReady: () => void (counts.ready += 1),
    onChanged: () => void (counts.changed += 1),
    log: silentLogger,
  })
  const open = async (): Promise<NetworkServer> => {
    connected.push(name)
    return {
      name: 'far',
      serves: () => true,
      handOver: async (downlink) => {
        offered.push(downlink)
        return answer
      },
      flush: async (devEui) => [devEui],
      close: async () => void connected.splice(connected.indexOf(name), 1),
    }
  }
  const parts = { name: 'far', givesIds: true, serves: (id: string) => id === '5', flushes: true, open }
  return { node, all, server: all.add(parts), counts }
}

describe('a network server to which the service connects', () => {
  it('has one connection, and takes the downlinks of all nodes', async () => {
    assert.deepEqual(connected, ['a'])
    for (const { server } of [a, b]) {
      assert.deepEqual(await server.handOver(DOWNLINK), answer)
      assert.deepEqual(await server.flush?.('0102030405060708'), ['0102030405060708'])
      assert.deepEqual([server.serves('5'), server.givesIds, server.judges], [true, true, undefined])
    }
    assert.deepEqual(offered, [DOWNLINK, DOWNLINK])
    assert.equal(b.server.serves('6'), false)
  })

  it('is connected by the heir of its node; a downlink without an answer is in doubt', async () => {
    answer = new Promise(() => {})
    const asked = b.server.handOver(DOWNLINK)
    await settle()
    deployment.declareGone(a.node)
    const lost = await asked
    assert.equal(lost.outcome === 'away' && lost.isInDoubt, true)
    connected = []
    await deployment.kill(a.node, { heir: b.node })
    await settle()
    clock.advance(5_000)
    await settle()
    assert.deepEqual(connected, ['b'])
    answer = { outcome: 'taken' }
    assert.deepEqual(await b.server.handOver(DOWNLINK), answer)
  })

  it('is connected by another node when its node gives it up', async () => {
    await a.server.close()
    assert.deepEqual(connected, [])
    assert.deepEqual((await b.server.handOver(DOWNLINK)).outcome, 'away')
    clock.advance(5_000)
    await settle()
    assert.deepEqual(connected, ['b'])
    await b.server.close()
    assert.deepEqual([connected, clock.pending], [[], 0])
  })

  it('loses the connection of a node that another one has taken for dead', async () => {
    deployment.homes.set('network-server/far', { node: b.node, revision: 9 })
    clock.advance(5_000)
    await settle()
    assert.deepEqual(connected, ['b'])
  })

  it('tells all nodes when it is ready, and when the list has changed', async () => {
    a.all.ready()
    a.all.ready()
    a.all.changed()
    clock.advance(100)
    await settle()
    assert.deepEqual(
      [a.counts, b.counts],
      [
        { ready: 0, changed: 0 },
        { ready: 1, changed: 1 },
      ],
    )
  })
})
