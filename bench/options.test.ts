import assert from 'node:assert/strict'
import test from 'node:test'
import { participants } from './brokers.ts'
import { parseOptions } from './options.ts'
import { ROWS } from './scenarios/rows.ts'

test('without arguments the service is compared in every scenario', () => {
  const options = parseOptions([])
  assert.ok(options !== undefined && !('fault' in options))
  assert.deepEqual(options.scenarios, ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8', 's9', 's10'])
  assert.deepEqual(options.brokers, { named: [], withDefaults: true })
  assert.deepEqual(options.qos, [0, 1])
  assert.equal(options.timing.warmUpMs, 3000)
})

test('names are taken in any case and order, each once', () => {
  const options = parseOptions([
    '--scenarios',
    'S3,s1,s3',
    '--brokers',
    'mosquitto',
    '--seconds',
    '2',
    '--warm-up',
    '12',
    '--qos',
    '1',
  ])
  assert.ok(options !== undefined && !('fault' in options))
  assert.deepEqual(options.scenarios, ['s1', 's3'])
  assert.deepEqual(options.brokers, { named: ['mosquitto'], withDefaults: false })
  assert.equal(options.timing.measureMs, 2000)
  assert.equal(options.timing.warmUpMs, 12_000)
  assert.deepEqual(options.qos, [1])
})

test('brokers are chosen beside those that take part by default, some of them in one row', () => {
  const options = parseOptions(['--brokers', 'default,fieldgate'])
  assert.ok(options !== undefined && !('fault' in options))
  assert.deepEqual(options.brokers, { named: ['fieldgate'], withDefaults: true })
  const usual = ['fieldgate', 'fieldgate-service', 'fieldgate-durable', 'mosquitto', 'aedes', 'bare-node', 'bare-bun']
  for (const row of ROWS) {
    const isBesidePersistence = row.scenario === 's3' && row.qos === 1
    const expected = isBesidePersistence ? usual.toSpliced(4, 0, 'mosquitto-persistent') : usual
    assert.deepEqual(
      participants(row, options.brokers).map(({ name }) => name),
      expected,
      row.title,
    )
  }
})

test('a wrong argument is named', () => {
  for (const [args, named] of [
    [['--scenarios', 's11'], 's11'],
    [['--brokers', 'emqx'], 'emqx'],
    [['--qos', '2'], '2'],
    [['--runs', '0'], '--runs'],
    [['--runs', '1.5'], '--runs'],
    [['--seconds', 'x'], '--seconds'],
    [['--warm-up', '0'], '--warm-up'],
    [['--fast'], '--fast'],
  ] as const) {
    const options = parseOptions(args)
    assert.ok(options !== undefined && 'fault' in options && options.fault.includes(named), args.join(' '))
  }
})

test('help is asked for', () => {
  assert.equal(parseOptions(['--help']), undefined)
})
