import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { openDataDirectory, openNewDataDirectory } from './data-directory.ts'
import type { DataDirectory } from './data-directory.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-data-'))
after(() => rm(scratch, { recursive: true }))
let count = 0
const freshPath = () => join(scratch, String((count += 1)))

const clock = { now: () => Date.UTC(2026, 0, 31, 12) }
const options = { purpose: 'serve', clock }

async function take(path: string): Promise<DataDirectory> {
  const opened = await openDataDirectory(path, options)
  assert.ok(opened.ok, JSON.stringify(opened))
  return opened.dataDirectory
}

/**
 * A process that tries to take the directory once its standard input says so, tells `taken` or the
 * refusal's code, and stays.
 */
function startRival(path: string): ChildProcess & { answer: Promise<string> } {
  const script = `
    import { openDataDirectory } from ${JSON.stringify(new URL('data-directory.ts', import.meta.url).href)}
    process.stdout.write('ready\\n')
    process.stdin.once('data', async () => {
      const opened = await openDataDirectory(${JSON.stringify(path)}, { purpose: 'serve', clock: { now: () => Date.now() } })
      process.stdout.write((opened.ok ? 'taken' : opened.code + ' ' + opened.holder?.pid) + '\\n')
      setInterval(() => {}, 1000)
    })`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  let text = ''
  const { promise, resolve } = Promise.withResolvers<string>()
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    const answer = /^ready\n(.+)\n/.exec(text)?.[1]
    if (answer !== undefined) resolve(answer)
  })
  return Object.assign(child, { answer: promise })
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL')
  await once(child, 'exit')
}

describe('the data directory', () => {
  it('is made for its owner alone and carries its format', async () => {
    const path = join(freshPath(), 'deep')
    const directory = await take(path)
    assert.equal((await stat(path)).mode & 0o777, 0o700)
    assert.equal(await readFile(join(path, 'format-version'), 'utf8'), '1\n')
    await directory.release()
    assert.deepEqual((await readdir(path)).toSorted(), ['format-version', 'lock'])
  })

  it('can be taken again after it was released', async () => {
    const path = freshPath()
    const first = await take(path)
    await first.release()
    await first.release()
    await (await take(path)).release()
  })

  it('is refused to a second taker, with who has it, since when and where that one answers', async () => {
    const path = freshPath()
    const directory = await take(path)
    await directory.announce({ host: '0.0.0.0', port: 8443, certFile: '/x/server.pem' })
    const second = await openDataDirectory(path, options)
    assert.ok(!second.ok && second.code === 'in_use')
    assert.equal(second.holder?.certFile, '/x/server.pem')
    assert.match(second.message, new RegExp(`in use by process ${process.pid} on \\S+ \\(\`fieldgate serve\`\\)`))
    assert.match(second.message, /since 2026-01-31T12:00:00\.000Z, which answers at https:\/\/127\.0\.0\.1:8443/)
    await directory.release()
  })

  it('goes to exactly one of several processes that start at the same moment', async () => {
    const path = freshPath()
    const rivals = Array.from({ length: 4 }, () => startRival(path))
    await Promise.all(rivals.map(({ stdout }) => once(stdout ?? process.stdin, 'data')))
    for (const { stdin } of rivals) stdin?.write('go\n')
    const answers = await Promise.all(rivals.map(({ answer }) => answer))
    const winner = rivals[answers.indexOf('taken')]
    assert.deepEqual(answers.toSorted(), [...Array<string>(3).fill(`in_use ${winner?.pid}`), 'taken'])
    await Promise.all(rivals.map(stop))
  })

  it('is free again once its holder was killed, even though that one left its introduction behind', async () => {
    const path = freshPath()
    const holder = startRival(path)
    holder.stdin?.write('go\n')
    assert.equal(await holder.answer, 'taken')
    const meanwhile = await openDataDirectory(path, options)
    assert.ok(!meanwhile.ok && meanwhile.code === 'in_use' && meanwhile.holder?.pid === holder.pid)
    await stop(holder)
    assert.ok((await readdir(path)).includes('instance.json'))
    await (await take(path)).release()
  })

  it('is refused when a later version made it, and left untouched', async () => {
    const path = freshPath()
    await (await take(path)).release()
    await writeFile(join(path, 'format-version'), '2\n')
    const opened = await openDataDirectory(path, options)
    assert.ok(!opened.ok && opened.code === 'newer_format')
    assert.match(opened.message, /format 2, made by a later version/)
    assert.equal(await readFile(join(path, 'format-version'), 'utf8'), '2\n')
    await writeFile(join(path, 'format-version'), '1\n')
    await (await take(path)).release()
  })

  it('is refused when its format can’t be read', async () => {
    const path = freshPath()
    await (await take(path)).release()
    await writeFile(join(path, 'format-version'), 'x')
    const opened = await openDataDirectory(path, options)
    assert.ok(!opened.ok && opened.code === 'unusable')
  })

  it('is not made by a command that needs one', async () => {
    const path = freshPath()
    const opened = await openDataDirectory(path, { ...options, mustExist: true })
    assert.ok(!opened.ok && opened.code === 'missing')
    await assert.rejects(stat(path))
  })

  it('is refused with the system’s reason when it can’t be made', async () => {
    const file = freshPath()
    await writeFile(file, '')
    const opened = await openDataDirectory(join(file, 'x'), options)
    assert.ok(!opened.ok && opened.code === 'unusable')
    assert.match(opened.message, /ENOTDIR/)
  })

  it('is made out of a backup in a new or an empty directory, and is one when the restore was finished', async () => {
    const path = freshPath()
    const opened = await openNewDataDirectory(path, { purpose: 'restore', clock })
    assert.ok(opened.ok)
    assert.equal((await stat(path)).mode & 0o777, 0o700)
    const rival = await openNewDataDirectory(path, { purpose: 'restore', clock })
    assert.ok(!rival.ok && rival.code === 'not_empty')
    await writeFile(join(path, 'registry.db'), '')
    await opened.dataDirectory.release()
    const early = await openDataDirectory(path, options)
    assert.ok(!early.ok && early.code === 'unusable')
    assert.match(early.message, /restore was not finished/)
    const other = freshPath()
    const whole = await openNewDataDirectory(other, { purpose: 'restore', clock })
    assert.ok(whole.ok)
    await whole.dataDirectory.finish()
    await whole.dataDirectory.release()
    await (await take(other)).release()
  })

  it('is empty again when a restore gives up', async () => {
    const path = freshPath()
    const opened = await openNewDataDirectory(path, { purpose: 'restore', clock })
    assert.ok(opened.ok)
    await writeFile(join(path, 'registry.db'), 'half of it')
    await opened.dataDirectory.discard()
    await opened.dataDirectory.release()
    assert.deepEqual(await readdir(path), ['lock'])
    const again = await openNewDataDirectory(path, { purpose: 'restore', clock })
    assert.ok(again.ok)
    await again.dataDirectory.release()
  })
})
