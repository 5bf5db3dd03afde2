import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { demonstrationDeployment, deviceRecords } from './demonstration-deployment.ts'

const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
/** Nothing listens on port 1. */
const NOBODY = 'mqtt://127.0.0.1:1'

describe('the simulator as a program', () => {
  let directory: string
  let devicesFile: string

  before(() => {
    directory = mkdtempSync(join(tmpdir(), 'simulator-'))
    devicesFile = join(directory, 'devices.json')
    writeFileSync(devicesFile, JSON.stringify(deviceRecords(demonstrationDeployment(1), () => '5')))
  })
  after(() => rmSync(directory, { recursive: true }))

  it('shows its help', async () => {
    const { output, ended } = run(['--help'])
    assert.equal(await ended, 0)
    assert.match(output(), /^Usage: .*--seed N/s)
  })

  it('ends with 2 and the reason where an option or a file is wrong', async () => {
    const wrongOption = run(['--url', 'x'])
    assert.equal(await wrongOption.ended, 2)
    assert.match(wrongOption.output(), /--devices is missing.*--url must be /s)
    const noFile = run(['--url', NOBODY, '--devices', join(directory, 'none.json')])
    assert.equal(await noFile.ended, 2)
    assert.match(noFile.output(), /none\.json: ENOENT/)
  })

  it('prints the lines that generated devices are registered with', async () => {
    const { output, ended } = run(['--print-import', '--generate', '3', '--application', '7'])
    assert.equal(await ended, 0)
    const rows = output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { devEUI: string })
    assert.deepEqual(
      rows.map(({ devEUI }) => devEUI),
      ['0200000000000001', '0200000000000002', '0200000000000003'],
    )
  })

  it('ends with 0 and its statistics on SIGTERM, connected or not', async () => {
    const { child, output, ended } = run(['--url', NOBODY, '--devices', devicesFile])
    await once(child.stderr ?? child, 'data')
    assert.match(output(), /^Not connected to mqtt:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/)
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.match(output(), /Published: up 0, .*Commands received: 0/s)
  })

  it('ends when its parent closes the channel', async () => {
    const { child } = run(['--url', NOBODY, '--devices', devicesFile])
    await once(child.stderr ?? child, 'data')
    // Node emits no 'close' to a parent that disconnects by itself.
    const exit = once(child, 'exit')
    child.disconnect()
    assert.deepEqual(await exit, [0, null])
  })
})

interface Run {
  readonly child: ChildProcess
  readonly output: () => string
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>
}

function run(args: readonly string[]): Run {
  const child = spawn(process.execPath, [MAIN, ...args], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return { child, output: () => text, ended: once(child, 'close').then(([exitCode]) => exitCode as number | null) }
}
