import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { natsServerProgram } from '../../engine/nats/nats-server-binary.testing.ts'
import { endAfterEach } from '../serve/child-processes.testing.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { findParts } from './find-parts.ts'

const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-cluster-demo-test-'))
after(() => rmSync(scratch, { recursive: true }))
const children = endAfterEach()
const main = fileURLToPath(new URL('../../main.ts', import.meta.url))

/** A program that tells this version, as nats-server does. */
function serverOf(version: string): string {
  const file = join(scratch, `nats-server-${version}`)
  writeFileSync(file, `#!/bin/sh\necho "nats-server: v${version}"\n`)
  chmodSync(file, 0o755)
  return file
}

describe('the parts of several nodes', () => {
  it('are refused with a sentence for each one that is missing, and how to get it', () => {
    const environment = { PATH: scratch, FIELDGATE_NATS_SERVER: serverOf('2.14.9') }
    assert.throws(
      () => findParts(environment),
      (error) =>
        error instanceof CommandFailure && /nats-server 2\.15 or newer is not here: get one/.test(error.message),
    )
  })

  it('are found on the PATH', () => {
    const natsServer = serverOf('2.15.2')
    for (const name of ['initdb', 'postgres']) writeFileSync(join(scratch, name), '')
    const parts = findParts({ PATH: `/nowhere:${scratch}`, FIELDGATE_NATS_SERVER: natsServer })
    assert.deepEqual(parts, { natsServer, postgreSqlFolder: scratch })
  })
})

/** The reason for which the demonstration can't run here. */
function missing(): string | undefined {
  const found = natsServerProgram()
  if ('missing' in found) return found.missing
  return existsSync('/usr/lib/postgresql') ? undefined : 'PostgreSQL is not here (Debian: apt-get install postgresql)'
}

describe('fieldgate cluster-demo', () => {
  const skip = missing() ?? false
  if (skip !== false) console.error(`SKIPPED: fieldgate cluster-demo: ${skip}`)

  it('tells how to kill each process, counts the events of the load, and leaves nothing behind', { skip }, async () => {
    const found = natsServerProgram()
    assert.ok('program' in found)
    const child = spawn(process.execPath, [main, 'cluster-demo', '--nodes', '1'], {
      cwd: scratch,
      env: {
        PATH: process.env['PATH'],
        FIELDGATE_NATS_SERVER: found.program,
        FIELDGATE_HTTPS_PORT: '0',
        FIELDGATE_MQTTS_PORT: '0',
      },
    })
    children.add(child)
    let out = ''
    let error = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    const { promise: counted, resolve } = Promise.withResolvers<void>()
    child.stderr.on('data', (chunk: Buffer) => {
      error += chunk.toString()
      if (/[1-9]\d* events acknowledged, [1-9]/.test(error)) resolve()
    })
    const ended = once(child, 'close')
    await Promise.race([counted, ended])
    const ids = Array.from(out.matchAll(/^ {2}(\w+) +kill -9 (\d+)$/gm), ([, name, id]) => ({ name, id: Number(id) }))
    const names = ['nats1', 'nats2', 'nats3', 'postgresql', 'node1']
    assert.deepEqual(
      ids.map(({ name }) => name),
      names,
      error,
    )
    const folder = /Data, logs (\S+)/.exec(out)?.[1] ?? ''
    assert.ok(existsSync(folder))
    child.kill('SIGINT')
    const [code] = (await ended) as [number | null]
    assert.equal(code, 0, error)
    for (const { name, id } of ids) assert.throws(() => process.kill(id, 0), `${name} lives on`)
    assert.ok(!existsSync(folder))
  })
})
