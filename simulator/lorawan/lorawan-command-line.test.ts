import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { region } from '../region.ts'
import { LORAWAN_HELP, parseLorawanCommandLine } from './lorawan-command-line.ts'
import type { LorawanOptions } from './lorawan-command-line.ts'

const NEEDED = ['--url', 'mqtt://127.0.0.1:1883', '--devices', 'devices.csv']
const FLAGS = new Set(['print-devices', 'verbose', 'help'])

describe('the command line of --lorawan', () => {
  it('needs an address and devices, and has a default for the rest', () => {
    assert.deepEqual(optionsOf(NEEDED), {
      url: 'mqtt://127.0.0.1:1883',
      certificateAuthorityFile: undefined,
      userName: undefined,
      password: undefined,
      protocol: 'v4',
      topicPrefix: 'eu868',
      region: region('EU868'),
      gatewayIds: ['0200000000ff0001'],
      devices: { from: 'file', path: 'devices.csv' },
      intervalMs: 60_000,
      startWindowMs: 5000,
      confirmedShare: 0.05,
      seed: 1,
      provisioning: undefined,
      isVerbose: false,
    })
  })

  it('has the topics of the version and the region', () => {
    assert.equal(optionsOf([...NEEDED, '--chirpstack', '3']).topicPrefix, '')
    assert.equal(optionsOf([...NEEDED, '--region', 'US915']).topicPrefix, 'us915')
    assert.equal(optionsOf([...NEEDED, '--topic-prefix', 'site/north']).topicPrefix, 'site/north')
    for (const prefix of ['a/#', '+', '/a', 'a/']) {
      assert.match(faultsOf([...NEEDED, '--topic-prefix', prefix]), /--topic-prefix must be/)
    }
  })

  it('plays several gateways, whose ids follow each other', () => {
    const args = [...NEEDED, '--gateways', '3', '--first-gateway-id', '00000000000000FF']
    assert.deepEqual(optionsOf(args).gatewayIds, ['00000000000000ff', '0000000000000100', '0000000000000101'])
    assert.match(faultsOf([...NEEDED, '--gateways', '17']), /from 1 to 16/)
  })

  it('generates devices, and prints them without a broker', () => {
    const generated = ['--generate', '2', '--join-eui', '00000000000000AA', '--class-c', '0.5', '--seed', '7']
    const devices = {
      from: 'generated',
      count: 2,
      firstDevEui: '0200000000000001',
      joinEui: '00000000000000aa',
      classCShare: 0.5,
      seed: 7,
    }
    assert.deepEqual(optionsOf([...NEEDED.slice(0, 2), ...generated]).devices, devices)
    assert.deepEqual(parseLorawanCommandLine(['--print-devices', ...generated], {}), {
      action: 'print-devices',
      devices,
    })
    assert.match(faultsOf([...NEEDED, ...generated]), /exclude each other/)
    assert.match(faultsOf([...NEEDED.slice(0, 2), '--generate', '10001']), /from 1 to 10000/)
  })

  it('provisions a ChirpStack v4 with a key, and no v3', () => {
    const args = [...NEEDED, '--provision', 'http://chirpstack:8080', '--tenant', 't']
    const provisioning = { target: 'chirpstack:8080', isEncrypted: false, apiKey: 'key', tenantId: 't' }
    assert.deepEqual(optionsOf(args, { SIMULATOR_API_KEY: 'key' }).provisioning, provisioning)
    const encrypted = optionsOf([...NEEDED, '--provision', 'https://chirpstack', '--api-key', 'key'])
    assert.deepEqual([encrypted.provisioning?.target, encrypted.provisioning?.isEncrypted], ['chirpstack:443', true])
    assert.match(faultsOf(args), /--provision needs --api-key/)
    assert.match(faultsOf([...args, '--api-key', 'k', '--chirpstack', '3']), /--provision is for version 4/)
    assert.match(faultsOf([...NEEDED, '--api-key', 'k', '--provision', 'chirpstack:8080']), /--provision must be/)
  })

  it('tells all faults at once, and no secret', () => {
    const args = ['--url', 'http://name:secret@x', '--chirpstack', '5', '--interval', '0s', '--confirmed', '2']
    const faults = faultsOf(args)
    assert.equal(faults.split('\n').length, 5, faults)
    assert.ok(!faults.includes('secret'))
    assert.match(faultsOf([...NEEDED, '--colour']), /Unknown option/)
  })

  it('has a line of help for each option, no wider than 130 characters', () => {
    const names = [...LORAWAN_HELP.matchAll(/^  --([a-z0-9-]+)/gm)].map(([, name]) => name ?? '')
    assert.ok(names.length > 20)
    for (const name of names) {
      const result = parseLorawanCommandLine([`--${name}`, ...(FLAGS.has(name) ? [] : ['x'])], {})
      const isUnknown = result.action === 'refuse' && result.faults.some((fault) => fault.includes('Unknown option'))
      assert.ok(!isUnknown, name)
    }
    for (const line of LORAWAN_HELP.split('\n')) assert.ok(line.length <= 130, line)
    assert.deepEqual(parseLorawanCommandLine(['--help', '--chirpstack', '9'], {}), { action: 'help' })
  })
})

function faultsOf(args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  const result = parseLorawanCommandLine(args, environment)
  assert.ok(result.action === 'refuse', JSON.stringify(result))
  return result.faults.join('\n')
}

function optionsOf(args: readonly string[], environment: NodeJS.ProcessEnv = {}): LorawanOptions {
  const result = parseLorawanCommandLine(args, environment)
  assert.ok(result.action === 'run', JSON.stringify(result))
  return result.options
}
