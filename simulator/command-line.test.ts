import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { HELP, parseCommandLine } from './command-line.ts'
import type { SimulatorOptions } from './command-line.ts'
import { region } from './region.ts'

const FLAGS = new Set(['carry-ids', 'clean-session', 'print-import', 'verbose', 'help'])

const NEEDED = ['--url', 'mqtts://127.0.0.1:8883', '--devices', 'devices.json']

describe('the command line', () => {
  it('needs an address and a device file, and has a default for the rest', () => {
    assert.deepEqual(optionsOf(NEEDED), {
      url: 'mqtts://127.0.0.1:8883',
      certificateAuthorityFile: undefined,
      userName: undefined,
      password: undefined,
      family: 'A',
      protocolVersion: 4,
      devices: { from: 'file', path: 'devices.json' },
      intervalMs: 10_000,
      ratePerSecond: undefined,
      startWindowMs: 5000,
      radio: {
        region: region('EU868'),
        uplinkLossRate: 0.02,
        downlinkLossRate: 0.02,
        repeatRate: 0.01,
        confirmedRate: 0.05,
        codecErrorRate: 0.005,
        withoutObjectShare: 0,
        classCShare: 0,
        resumedShare: 0,
        rejoinRate: 0.001,
        powerCutEveryMs: undefined,
        frameCounterBits: 32,
        downlinkRetries: 2,
      },
      carriesIds: false,
      seed: 1,
      qos: 1,
      commandQos: 1,
      clientId: 'fieldgate-simulator-a',
      cleanSession: false,
      sessionExpirySeconds: 3600,
      stateFile: undefined,
      isVerbose: false,
    })
  })

  it('speaks MQTT 5 in family B, which cannot do without', () => {
    const { protocolVersion, clientId } = optionsOf([...NEEDED, '--family', 'B'])
    assert.deepEqual([protocolVersion, clientId], [5, 'fieldgate-simulator-b'])
    assert.match(faultsOf([...NEEDED, '--family', 'B', '--mqtt', '3.1.1']), /needs --mqtt 5/)
    assert.equal(optionsOf([...NEEDED, '--mqtt', '5']).protocolVersion, 5)
  })

  it('takes each option from the environment, where no argument has it', () => {
    const environment = { SIMULATOR_FAMILY: 'B', SIMULATOR_LOSS: '0.5', SIMULATOR_CLEAN_SESSION: 'true' }
    const { family, radio, cleanSession } = optionsOf([...NEEDED, '--loss', '0.1'], environment)
    assert.deepEqual([family, radio.uplinkLossRate, radio.downlinkLossRate, cleanSession], ['B', 0.1, 0.1, true])
    assert.match(faultsOf(NEEDED, { SIMULATOR_VERBOSE: 'maybe' }), /--verbose is true or false/)
  })

  it('generates devices in the place of a file', () => {
    const url = NEEDED.slice(0, 2)
    assert.deepEqual(optionsOf([...url, '--generate', '10', '--application', '7']).devices, {
      from: 'generated',
      count: 10,
      applicationId: '7',
      applicationName: 'simulated',
      firstDevEui: '0200000000000001',
    })
    assert.match(faultsOf([...NEEDED, '--generate', '10', '--application', '7']), /exclude each other/)
    assert.match(faultsOf([...url, '--generate', '10']), /--application must be/)
    assert.match(faultsOf([...url, '--generate', '0', '--application', '7']), /--generate must be/)
    const last = ['--first-dev-eui', 'ffffffffffffffff']
    assert.match(faultsOf([...url, '--generate', '2', '--application', '7', ...last]), /--first-dev-eui must be/)
  })

  it('prints what generated devices are registered with, without a broker', () => {
    const result = parseCommandLine(['--print-import', '--generate', '2', '--application', '7'], {})
    assert.ok(result.action === 'print-import' && result.devices.from === 'generated')
    assert.match(faultsOf(['--print-import', '--devices', 'x']), /goes with --generate/)
  })

  it('takes the credential from the environment, where no argument has it', () => {
    const environment = { SIMULATOR_USER_NAME: 'env-name', SIMULATOR_PASSWORD: 'env-secret' }
    const { userName, password } = optionsOf(NEEDED, environment)
    assert.deepEqual([userName, password], ['env-name', 'env-secret'])
    const given = optionsOf([...NEEDED, '--user-name', 'name', '--password', 'secret'], environment)
    assert.deepEqual([given.userName, given.password], ['name', 'secret'])
  })

  it('reads times and rates', () => {
    for (const [text, ms] of [
      ['500ms', 500],
      ['1.5s', 1500],
      ['5m', 300_000],
      ['1h', 3_600_000],
    ] as const) {
      assert.equal(optionsOf([...NEEDED, '--interval', text]).intervalMs, ms)
    }
    const rated = optionsOf([...NEEDED, '--rate', '250.5'])
    assert.deepEqual([rated.ratePerSecond, rated.intervalMs], [250.5, undefined])
  })

  it('tells all faults at once', () => {
    const args = [
      '--url',
      'http://x',
      '--qos',
      '3',
      '--seed',
      'minus',
      '--loss',
      '2',
      '--interval',
      '1s',
      '--rate',
      '0',
    ]
    const result = parseCommandLine(args, {})
    assert.ok(result.action === 'refuse')
    assert.equal(result.faults.length, 8, result.faults.join('\n'))
  })

  it('refuses a credential in the address and options that it does not know', () => {
    for (const args of [
      ['--url', 'mqtts://name:secret@host:8883', '--devices', 'x'],
      [...NEEDED, '--colour'],
      [...NEEDED, 'more'],
      [...NEEDED, '--qos'],
    ]) {
      const result = parseCommandLine(args, {})
      assert.ok(result.action === 'refuse', args.join(' '))
      assert.ok(!result.faults.join().includes('secret'))
    }
  })

  it('has a line of help for each option, no wider than 130 characters', () => {
    const names = [...HELP.matchAll(/^  --([a-z0-9-]+)/gm)].map(([, name]) => name ?? '')
    assert.ok(names.length > 30)
    for (const name of names) {
      const result = parseCommandLine([`--${name}`, ...(FLAGS.has(name) ? [] : ['x'])], {})
      const isUnknown = result.action === 'refuse' && result.faults.some((fault) => fault.includes('Unknown option'))
      assert.ok(!isUnknown, name)
    }
    for (const line of HELP.split('\n')) assert.ok(line.length <= 130, line)
  })

  it('gives help before it looks at anything else', () => {
    assert.deepEqual(parseCommandLine(['--help', '--qos', '9'], {}), { action: 'help' })
  })
})

function faultsOf(args: readonly string[], environment: NodeJS.ProcessEnv = {}): string {
  const result = parseCommandLine(args, environment)
  assert.ok(result.action === 'refuse', JSON.stringify(result))
  return result.faults.join('\n')
}

function optionsOf(args: readonly string[], environment: NodeJS.ProcessEnv = {}): SimulatorOptions {
  const result = parseCommandLine(args, environment)
  assert.ok(result.action === 'run', JSON.stringify(result))
  return result.options
}
