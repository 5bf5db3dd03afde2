import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry as MetricsRegistry } from 'prom-client'
import { TestClock } from '../clock.testing.ts'
import { testStatus } from '../http/operation/broker-views.testing.ts'
import { settle } from '../lorawan/commands/nodes/nodes-with-commands.testing.ts'
import { LocalDeployment } from '../nodes.testing.ts'
import { registerNodes } from './node-metrics.ts'
import { statusOfNodes } from './status-of-nodes.ts'
import { usageOfNodes } from './usage-of-nodes.ts'

test('the status has all living nodes, and those that do not answer without numbers', async () => {
  const clock = new TestClock()
  const deployment = new LocalDeployment(clock)
  const [a, b] = [deployment.join('a'), deployment.join('b')]
  const status = statusOfNodes(testStatus(clock), a)
  statusOfNodes(testStatus(clock), b)
  const all = (await status.nodes?.()) ?? []
  assert.deepEqual(
    all.map(({ name, isReady, answer }) => [name, isReady, answer?.connections, answer?.parts.length]),
    [
      ['a', true, 1, 2],
      ['b', true, 1, 2],
    ],
  )
  deployment.silence(b)
  const asked = status.nodes?.()
  await settle()
  clock.advance(500)
  const after = (await asked) ?? []
  assert.deepEqual(
    after.map(({ name, silentMs, answer }) => [name, silentMs, answer?.sessions]),
    [
      ['a', 0, 2],
      ['b', 500, undefined],
    ],
  )
})

test('the use of all nodes is added up, and messages that all nodes share count once', async () => {
  const deployment = new LocalDeployment(new TestClock())
  const [a, b] = [deployment.join('a'), deployment.join('b')]
  const usageOf = usageOfNodes({ usageOf: () => ({ sessions: 2, storedBytes: 7 }) }, a.bus)
  usageOfNodes({ usageOf: (id) => ({ sessions: Number(id), storedBytes: 6, connections: 1 }) }, b.bus)
  assert.deepEqual(await usageOf('5'), { sessions: 7, storedBytes: 7, connections: 1 })
})

test('the metrics count the living nodes by whether they are ready', async () => {
  const deployment = new LocalDeployment(new TestClock())
  const [a, b] = [deployment.join('a'), deployment.join('b')]
  b.isReady = false
  const registry = new MetricsRegistry()
  registerNodes(registry, a)
  const text = await registry.metrics()
  assert.match(text, /fieldgate_nodes\{state="ready"\} 1\n/)
  assert.match(text, /fieldgate_nodes\{state="not_ready"\} 1\n/)
})
