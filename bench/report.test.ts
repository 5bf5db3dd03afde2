import assert from 'node:assert/strict'
import test from 'node:test'
import { BROKERS } from './brokers.ts'
import type { BrokerKind, BrokerName } from './brokers/broker.ts'
import type { Run } from './compare.ts'
import { report, withFigures } from './report.ts'
import { ROWS } from './scenarios/rows.ts'
import type { Row } from './scenarios/scenario.ts'
import { standingOf } from './standings.ts'

const rows = ROWS.filter(({ scenario, qos }) => (scenario === 's1' && qos === 0) || (scenario === 's3' && qos === 1))
const [fanIn, pairs] = rows as [Row, Row]
const latency = { p50: 1, p99: 2, maximum: 3 }
const timing = { warmUpMs: 3000, measureMs: 1000, latencyMs: 1000 }

function run(broker: BrokerName, round: number, figure: number, row = fanIn): Run {
  const result = {
    kind: 'flow',
    seconds: 1,
    published: 10,
    deliveries: 1_234,
    brokerCpuNs: 5e8,
    generatorCpuNs: 1,
    latency: { ...latency, publishedPerSecond: 100 },
    acknowledgement: latency,
  } as const
  return { row: row.title, broker, round, outcome: { ok: true, figure, result, sync: undefined } }
}

const runs: readonly Run[] = [
  run('fieldgate-service', 0, 4),
  run('mosquitto', 0, 10),
  run('bare-bun', 0, 3.2),
  run('fieldgate-service', 1, 14),
  run('mosquitto', 1, 20),
  run('fieldgate-service', 2, 5),
  run('mosquitto', 2, 10),
  run('fieldgate', 2, 5),
  run('fieldgate-service-node', 2, 8),
  run('bare-node', 2, 4),
  { row: fanIn.title, broker: 'aedes', round: 0, outcome: { ok: false, fault: 'lost: 3' } },
  run('fieldgate-durable', 0, 12, pairs),
  run('mosquitto', 0, 10, pairs),
  run('mosquitto-persistent', 0, 16, pairs),
]

function kind(name: BrokerName): BrokerKind {
  return BROKERS.find((broker) => broker.name === name) as BrokerKind
}

const text = report(runs, { rows, brokers: BROKERS, timing, date: new Date(0) })

/** The cells of the line of the table of standings. */
function standings({ title }: Row, name: BrokerName): string[] {
  const start = `| ${title}`
  const found = text.split('\n').find((line) => line.startsWith(start) && line.includes(`| ${kind(name).title} `))
  return (found ?? '')
    .split('|')
    .map((cell) => cell.trim())
    .slice(3, -1)
}

test('a standing is the median of the ratios of each round, held against the bound', () => {
  const expected = { text: '0.50 × mosquitto (≤ 0.55)', isMet: true }
  assert.deepEqual(standingOf(runs, fanIn, kind('fieldgate-service')), expected)
  assert.deepEqual(standingOf(runs, pairs, kind('fieldgate-durable')), {
    text: '1.20 × mosquitto (≤ 1)',
    isMet: false,
  })
  assert.deepEqual(standingOf(runs, fanIn, kind('fieldgate-durable')), { text: '', isMet: undefined })
})

test('the bounds are those of the release, for each engine', () => {
  const found = ROWS.flatMap((row) => {
    const { bound, durableBound = bound, scenario, qos } = row
    return bound === undefined || durableBound === undefined
      ? []
      : [[scenario, qos, bound.kind, bound.maximum, durableBound.maximum]]
  })
  assert.deepEqual(found, [
    ['s1', 0, 'ratio', 0.55, 0.65],
    ['s1', 1, 'ratio', 0.5, 0.7],
    ['s2', 0, 'ratio', 0.06, 0.06],
    ['s2', 1, 'ratio', 0.12, 0.14],
    ['s3', 0, 'ratio', 1, 1.1],
    ['s3', 1, 'ratio', 0.85, 1],
    ['s4', undefined, 'ratio', 0.9, 0.9],
    ['s5', undefined, 'absolute', 10, 10],
    ['s5', undefined, 'absolute', 12, 12],
    ['s6', undefined, 'row', 1.3, 1.3],
    ['s7', 0, 'ratio', 0.9, 1],
    ['s7', 1, 'ratio', 0.8, 0.95],
    ['s10', 0, 'row', 1.1, 1.1],
    ['s10', 1, 'row', 1.1, 1.1],
    ['s10', 0, 'row', 1.1, 1.1],
    ['s10', 1, 'row', 1.1, 1.1],
  ])
})

test('a figure stands beside the bare program of its runtime, the core, and persistent mosquitto', () => {
  assert.deepEqual(standings(fanIn, 'fieldgate-service'), [
    '0.50 × mosquitto (≤ 0.55) ✓',
    '1.25',
    '1.00 (≤ 1.15) ✓',
    '',
  ])
  assert.deepEqual(standings(fanIn, 'fieldgate-service-node'), ['0.80 × mosquitto (≤ 0.55) ✗', '2.00', '', ''])
  assert.deepEqual(standings(pairs, 'fieldgate-durable'), ['1.20 × mosquitto (≤ 1) ✗', '', '', '0.75 (≤ 1) ✓'])
})

test('the report has the medians, the versions, the throughput, and each fault with its counts', () => {
  assert.match(
    text,
    /\| S1 fan-in 100 → 1, QoS 0 +\| µs\/delivery +\| 5\.00 +\| 5\.00 +\| – +\| – +\| 8\.00 +\| – +\| 10\.0 /,
  )
  assert.match(text, /Bun’s TLS alone: \d+\.\d+\.\d+; Bun \d\S+ with BoringSSL \w+; Node \d\S+ with OpenSSL \d/)
  assert.match(text, /1,234/)
  assert.match(text, /aedes, round 1: lost: 3/)
})

test('clients that come back at once have their own table', () => {
  const row = ROWS.find(({ scenario }) => scenario === 's9') as Row
  const result = { kind: 'return', seconds: 4, connections: 10, failedAttempts: 7, brokerCpuNs: 2e9, latency } as const
  const outcome = { ok: true, figure: row.figure(result), result, sync: undefined } as const
  const returned = [{ row: row.title, broker: 'mosquitto', round: 0, outcome }] as const
  const page = report(returned, { rows: [row], brokers: [kind('mosquitto')], timing, date: new Date(0) })
  assert.match(page, /\| S9 .+ \| s until all are back \| 4\.00 +\| 1 /)
  assert.match(page, /\| S9 .+ \| mosquitto \| 4\.00 +\| 7 +\| 2\.00 +\| 1\.00 +\| 2\.00 +\| 3\.00 /)
})

test('figures go between the markers of a document, again and again', () => {
  const document = 'a\n<!-- figures: npm run bench -- --write -->\nold\n<!-- end of figures -->\nb\n'
  const once = withFigures(document, 'new\n')
  assert.ok(once.includes('new') && !once.includes('old') && once.startsWith('a\n') && once.endsWith('\nb\n'))
  assert.equal(withFigures(once, 'new\n'), once)
  assert.throws(() => withFigures('no markers', 'new'), /lacks/)
})
