import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { endAfterEach } from '../serve/child-processes.testing.ts'
import { quoted } from './demonstration-greeting.ts'

// A folder whose name a shell would take apart: the lines that are printed must survive it.
const scratch = await mkdtemp(join(tmpdir(), 'fieldgate demo’s "$HOME" '))
const children = endAfterEach()
after(() => rm(scratch, { recursive: true }))
const main = fileURLToPath(new URL('../../main.ts', import.meta.url))
const execute = promisify(execFile)
const isMissing = (program: string) => spawnSync('which', [program]).status !== 0

/** Starts the demonstration in the scratch folder; resolves once it has printed everything. */
async function startDemo(environment: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [main, 'demo'], {
    cwd: scratch,
    env: { PATH: process.env['PATH'], FIELDGATE_HTTPS_PORT: '0', FIELDGATE_MQTTS_PORT: '0', ...environment },
  })
  children.add(child)
  const output = { out: '', error: '' }
  const { promise, resolve } = Promise.withResolvers<void>()
  child.stdout.on('data', (chunk: Buffer) => {
    output.out += chunk.toString()
    if (/^mosquitto_pub .*\n/m.test(output.out)) resolve()
  })
  child.stderr.on('data', (chunk: Buffer) => {
    output.error += chunk.toString()
  })
  const ended = once(child, 'close').then(([code]) => code as unknown)
  await Promise.race([promise, ended])
  return { child, output, ended }
}

/** The printed line that starts with this word. */
function lineOf(text: string, word: string): string {
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${word} `))
  assert.ok(line, `${word} in: ${text}`)
  return line
}

/** Pastes a line into a shell of another directory. */
async function paste(line: string, more = '') {
  return execute('/bin/sh', ['-c', `${line} ${more}`], { cwd: '/', timeout: 60_000 })
}

describe('fieldgate demo', () => {
  const skip = isMissing('mosquitto_sub') || isMissing('curl') ? 'mosquitto-clients or curl is not installed' : false

  it('prints lines that work when they are pasted, and ends in order', { skip }, async () => {
    const { child, output, ended } = await startDemo()
    assert.match(output.out, /Events are flowing\./)
    const login = await paste(lineOf(output.out, 'curl'))
    assert.equal((JSON.parse(login.stdout) as { is2faRequired: boolean }).is2faRequired, false)
    const acknowledgement = paste(lineOf(output.out, 'mosquitto_sub'), '-C 400 -W 40 | grep -m 1 event/ack')
    const published = await paste(lineOf(output.out, 'mosquitto_pub'), '-d')
    assert.match(published.stdout, /PUBACK \(Mid: 1, RC:0\)/)
    assert.match(
      (await acknowledgement).stdout,
      /^application\/\d+\/device\/[0-9a-f]{16}\/event\/ack \{.*"acknowledged":true/,
    )
    child.kill('SIGINT')
    assert.equal(await ended, 0)
    assert.doesNotMatch(output.error, /ERROR/)
  })

  it('uses the same deployment at the next start, with a fresh token', { skip }, async () => {
    const file = join(scratch, '.fieldgate', 'demo', 'demonstration.json')
    const before = await readFile(file, 'utf8')
    assert.equal((await stat(file)).mode & 0o777, 0o600)
    const { child, output, ended } = await startDemo()
    assert.match(output.out, /Events are flowing\./)
    assert.match(output.out, /anna +fieldgate-demo/)
    child.kill('SIGTERM')
    assert.equal(await ended, 0)
    assert.equal(await readFile(file, 'utf8'), before)
  })

  it('listens on loopback alone, for its passwords are known to all', async () => {
    const { output, ended } = await startDemo({ FIELDGATE_HOST: '0.0.0.0' })
    assert.equal(await ended, 2)
    assert.match(output.error, /listens on loopback alone, not on FIELDGATE_HOST=0\.0\.0\.0/)
  })
})

describe('a text as a word of a shell', () => {
  for (const text of [`it's`, '$HOME `id` "x" \\', '', 'a\nb', '-n']) {
    it(`is ${JSON.stringify(text)} again`, () => {
      const { stdout } = spawnSync('/bin/sh', ['-c', `printf %s ${quoted(text)}`], { encoding: 'utf8' })
      assert.equal(stdout, text === '-n' ? '-n' : text)
    })
  }
})
