/** Several nodes while servers of NATS are killed and paused. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { natsServerProgram } from '../engine/nats/nats-server-binary.testing.ts'
import { NatsServers } from '../engine/nats/nats-servers.testing.ts'
import { RequestRefusedError } from '../nodes.ts'
import type { NodeId } from '../nodes.ts'
import { TestedDeployment } from './nodes-over-nats.testing.ts'

const found = natsServerProgram()
const LONG = { timeout: 60_000 }
const HELLO = Buffer.from('hello')

function isTaken(result: PromiseSettledResult<boolean> | undefined): boolean {
  return result?.status === 'fulfilled' && result.value
}

describe('nodes over NATS, while servers fail,', () => {
  if ('missing' in found) {
    test('are tested with servers', { skip: found.missing }, () => {})
    return
  }
  const { program } = found
  let servers: NatsServers
  before(async () => {
    servers = await NatsServers.start({ program, count: 3 })
  })
  after(async () => {
    await servers[Symbol.asyncDispose]()
  })

  test('never take the same thing twice while the leader of the claims is killed', LONG, async () => {
    await using deployment = new TestedDeployment(servers, 'n1', 3)
    const all = await Promise.all([deployment.join('a'), deployment.join('b'), deployment.join('c')])
    const leader = await servers.leaderOf('n1-claims')
    let unknown = 0
    for (let round = 0; round < 30; round += 1) {
      if (round === 10) await servers.signal(leader, 'SIGKILL')
      const homes = await Promise.all(all.map(({ nodes }) => nodes.homes.find('thing', 30_000)))
      // The leader ends while a change is on its way.
      const killed = round === 9 ? servers.signal(leader, 'SIGSTOP') : undefined
      const taken = await Promise.allSettled(
        all.map(({ nodes }, at) => nodes.homes.take('thing', homes[at] ?? assert.fail())),
      )
      await killed
      const winners = all.filter((_, at) => isTaken(taken[at]))
      const isKnown = taken.every(({ status }) => status === 'fulfilled')
      if (!isKnown) unknown += 1
      assert.ok(isKnown ? winners.length === 1 : winners.length <= 1, `round ${round}: ${JSON.stringify(taken)}`)
      if (winners.length === 0) continue
      // A leader that was just elected may answer with an earlier home for a moment.
      for (const { nodes } of all) {
        let home: NodeId | undefined
        while (home?.name !== winners[0]?.self.name) ({ node: home } = await nodes.homes.find('thing', 30_000))
      }
    }
    assert.ok(unknown <= 2, `${unknown} rounds without an answer`)
    servers.restart(leader)
    await servers.ready()
    assert.deepEqual(
      all.map(({ gone }) => gone),
      [[], [], []],
    )
  })

  test('find another server when theirs is paused, before anybody believes them dead', LONG, async () => {
    await using deployment = new TestedDeployment(servers, 'n2', 3)
    const [a, b] = await Promise.all([deployment.join('a', { first: 0 }), deployment.join('b', { first: 1 })])
    const [paused] = servers.names
    assert(paused !== undefined)
    await servers.signal(paused, 'SIGSTOP')
    for (let beat = 0; beat < 4; beat += 1) {
      for (let answer: unknown; !(answer instanceof RequestRefusedError);) {
        answer = await b.nodes.bus.request(a.self, 'heard', HELLO, 500).catch((error: unknown) => error)
      }
    }
    await servers.signal(paused, 'SIGCONT')
    assert.deepEqual([a.gone, b.gone], [[], []])
    await servers.ready()
  })
})
