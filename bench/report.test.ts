import assert from 'node:assert/strict'
import test from 'node:test'
import { BROKERS } from './brokers.ts'
import type { BrokerName } from './brokers.ts'
import type { Run } from './compare.ts'
import { standingOf } from './compare.ts'
import { report, withFigures } from './report.ts'
import { ROWS } from './scenarios/rows.ts'
import type { Row } from './scenarios/scenario.ts'

const rows = ROWS.filter(({ scenario, qos }) => scenario === 's1' && qos === 0)
const row = rows[0] as Row

function run(broker: BrokerName, round: number, figure: number): Run {
  const latency = { p50: 1, p99: 2, maximum: 3, publishedPerSecond: 100 }
  const acknowledgement = { p50: 1, p99: 2, maximum: 3 }
  const result = {
    kind: 'flow',
    seconds: 1,
    published: 10,
    deliveries: 1_234,
    brokerCpuNs: 5e8,
    generatorCpuNs: 1,
    latency,
    acknowledgement,
  } as const
  return { row: row.title, broker, round, outcome: { ok: true, figure, result, sync: undefined } }
}

const runs: readonly Run[] = [
  run('fieldgate-service', 0, 4),
  run('mosquitto', 0, 10),
  run('fieldgate-service', 1, 14),
  run('mosquitto', 1, 20),
  run('fieldgate-service', 2, 5),
  run('mosquitto', 2, 10),
  { row: row.title, broker: 'aedes', round: 0, outcome: { ok: false, fault: 'lost: 3' } },
]

test('a standing is the median of the ratios of each round, held against the bound', () => {
  assert.deepEqual(standingOf(runs, row, 'fieldgate-service'), {
    text: '0.50 × mosquitto',
    bound: '≤ 0.60',
    isMet: true,
  })
  assert.equal(standingOf(runs, row, 'fieldgate')?.isMet, undefined)
})

test('the report has the medians, the bound, the throughput, and each fault with its counts', () => {
  const text = report(runs, { rows, brokers: BROKERS, seconds: 1, date: new Date(0) })
  assert.match(text, /S1 fan-in 100 → 1, QoS 0 +\| µs\/delivery +\| – +\| 5\.00 +\| – +\| 10\.0 +\| – +\| – /)
  assert.match(text, /0\.50 × mosquitto \(≤ 0\.60\) ✓/)
  assert.match(text, /1,234/)
  assert.match(text, /aedes, round 1: lost: 3/)
})

test('figures go between the markers of a document, again and again', () => {
  const document = 'a\n<!-- figures: npm run bench -- --write -->\nold\n<!-- end of figures -->\nb\n'
  const once = withFigures(document, 'new\n')
  assert.ok(once.includes('new') && !once.includes('old') && once.startsWith('a\n') && once.endsWith('\nb\n'))
  assert.equal(withFigures(once, 'new\n'), once)
  assert.throws(() => withFigures('no markers', 'new'), /lacks/)
})
