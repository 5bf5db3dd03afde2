import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommandLine } from './command-line.ts'
import type { SimulatorOptions } from './command-line.ts'

const NEEDED = ['--url', 'mqtts://127.0.0.1:8883', '--devices', 'devices.json']

describe('the command line', () => {
  it('needs an address and a device file, and has a default for the rest', () => {
    assert.deepEqual(optionsOf(NEEDED), {
      url: 'mqtts://127.0.0.1:8883',
      certificateAuthorityFile: undefined,
      userName: undefined,
      password: undefined,
      devicesFile: 'devices.json',
      intervalMs: 10_000,
      ratePerSecond: undefined,
      seed: 1,
      qos: 1,
      clientId: 'fieldgate-simulator',
      sessionExpirySeconds: 3600,
      isVerbose: false,
    })
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
    const args = ['--url', 'http://x', '--qos', '3', '--seed', 'minus', '--interval', '10', '--rate', '0']
    const result = parseCommandLine(args, {})
    assert.ok(result.action === 'refuse')
    assert.equal(result.faults.length, 7, result.faults.join('\n'))
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

  it('gives help before it looks at anything else', () => {
    assert.deepEqual(parseCommandLine(['--help', '--qos', '9'], {}), { action: 'help' })
  })
})

function optionsOf(args: readonly string[], environment: NodeJS.ProcessEnv = {}): SimulatorOptions {
  const result = parseCommandLine(args, environment)
  assert.ok(result.action === 'run', JSON.stringify(result))
  return result.options
}
