import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TestClock } from '../clock.testing.ts'
import { LocalDeployment } from '../nodes.testing.ts'
import { ImportTurns } from './import-turns.ts'

test('a node gives one turn to an organization, and to four of them', async () => {
  const turns = new ImportTurns(undefined, 4)
  for (const id of ['1', '2', '3', '4']) assert.equal(await turns.begin(id), true)
  assert.deepEqual([await turns.begin('1'), await turns.begin('5')], [false, false])
  turns.end('1')
  assert.equal(await turns.begin('5'), true)
})

test('an organization has one turn in all nodes', async () => {
  const deployment = new LocalDeployment()
  const [one, other] = ['a', 'b'].map((name) => new ImportTurns(deployment.join(name).bus, 4))
  assert.ok(one !== undefined && other !== undefined)
  assert.equal(await one.begin('1'), true)
  assert.deepEqual([await other.begin('1'), await other.begin('2')], [false, true])
  one.end('1')
  assert.equal(await other.begin('1'), true)
  other.end('1')
  // When two begin together, at most one has the turn. A refused one leaves nothing behind.
  const together = await Promise.all([one.begin('1'), other.begin('1')])
  assert.notDeepEqual(together, [true, true])
  one.end('1')
  other.end('1')
  assert.equal(await one.begin('1'), true)
})

test('a node that does not answer holds up no turn for longer than two seconds', async () => {
  const clock = new TestClock()
  const deployment = new LocalDeployment(clock)
  const nodes = [deployment.join('a'), deployment.join('b')] as const
  const [one, other] = nodes.map(({ bus }) => new ImportTurns(bus, 4))
  assert.equal(await other?.begin('1'), true)
  deployment.silence(nodes[1])
  const begun = one?.begin('1')
  await new Promise(setImmediate)
  clock.advance(2_000)
  assert.equal(await begun, true)
})

test('an organization whose turn could not be asked for has none, and may ask again', async () => {
  const bus = { serve: () => {}, gather: () => Promise.reject(new Error('the bus is closed')) }
  const turns = new ImportTurns(bus, 1)
  await assert.rejects(turns.begin('1'), /closed/)
  await assert.rejects(turns.begin('1'), /closed/)
})
