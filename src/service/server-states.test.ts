import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createServerStates } from './server-states.ts'

const N1 = { name: 'n1', leads: 3, copies: 7, lag: 2, isBehind: false, isOffline: false }
const DATABASE = { name: 'db:5432', version: '17.2', answerMs: 1.6, standbys: 1, lagBytes: 2_048 }

async function away(): Promise<never> {
  throw new Error('away')
}

test('the servers are told in words, and a deployment without them has none', async () => {
  assert.deepEqual(await createServerStates({})(), [])
  const servers = await createServerStates({
    nats: async () => [N1, { ...N1, name: 'n2', isBehind: true, isOffline: true }],
    database: async () => DATABASE,
  })()
  assert.deepEqual(
    servers.map(({ kind, name, isWell, role, lag, reason }) => [kind, name, isWell, role, lag, reason].join('; ')),
    [
      'nats; n1; true; leads 3 of 7 streams; 2 operations; ',
      'nats; n2; false; leads 3 of 7 streams; 2 operations; the other servers do not reach it',
      'postgresql; db:5432; true; writes, 1 standby, PostgreSQL 17.2, answers in 2 ms; 2 KiB; ',
    ],
  )
})

test('a database without a standby says so', async () => {
  const [server] = await createServerStates({
    database: async () => ({ ...DATABASE, standbys: 0, lagBytes: undefined }),
  })()
  assert.equal(server?.lag, 'no standby')
})

test('servers that do not answer keep their names', async () => {
  let areAway = false
  const look = createServerStates({
    nats: async () => (areAway ? away() : [N1, { ...N1, name: 'n2' }]),
    database: async () => (areAway ? away() : DATABASE),
  })
  await look()
  areAway = true
  assert.deepEqual(
    (await look()).map(({ name, isWell, reason }) => [name, isWell, reason]),
    [
      ['n1', false, 'a majority of the servers of NATS does not answer'],
      ['n2', false, 'a majority of the servers of NATS does not answer'],
      ['db:5432', false, 'PostgreSQL does not answer, or does not write'],
    ],
  )
})
