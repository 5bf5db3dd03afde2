import assert from 'node:assert/strict'
import test from 'node:test'
import { parseOptions } from './options.ts'

test('without arguments the service is compared in every scenario', () => {
  const options = parseOptions([])
  assert.ok(options !== undefined && !('fault' in options))
  assert.deepEqual(options.scenarios, ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8'])
  assert.deepEqual(options.brokers, ['fieldgate-service', 'fieldgate-durable', 'mosquitto', 'aedes', 'bare-node'])
  assert.deepEqual(options.qos, [0, 1])
})

test('names are taken in any case and order, each once', () => {
  const options = parseOptions(['--scenarios', 'S3,s1,s3', '--brokers', 'mosquitto', '--seconds', '2', '--qos', '1'])
  assert.ok(options !== undefined && !('fault' in options))
  assert.deepEqual(options.scenarios, ['s1', 's3'])
  assert.deepEqual(options.brokers, ['mosquitto'])
  assert.equal(options.timing.measureMs, 2000)
  assert.deepEqual(options.qos, [1])
})

test('a wrong argument is named', () => {
  for (const [args, named] of [
    [['--scenarios', 's9'], 's9'],
    [['--brokers', 'emqx'], 'emqx'],
    [['--qos', '2'], '2'],
    [['--runs', '0'], '--runs'],
    [['--runs', '1.5'], '--runs'],
    [['--seconds', 'x'], '--seconds'],
    [['--fast'], '--fast'],
  ] as const) {
    const options = parseOptions(args)
    assert.ok(options !== undefined && 'fault' in options && options.fault.includes(named), args.join(' '))
  }
})

test('help is asked for', () => {
  assert.equal(parseOptions(['--help']), undefined)
})
