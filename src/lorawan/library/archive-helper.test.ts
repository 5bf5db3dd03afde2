import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { ArchiveHelper } from './archive-helper.ts'
import { chirpStackFiles } from './collections.testing.ts'
import { readLibrary } from './read-library.ts'
import { openZip } from './zip-tree.ts'
import { zipOf } from './zip.testing.ts'

const archive = zipOf(Object.entries(chirpStackFiles).map(([path, content]) => ({ path, content })))

test('an archive that comes in pieces gives its profiles one by one', async () => {
  const helper = await ArchiveHelper.start()
  try {
    for (let at = 0; at < archive.length; at += 100) await helper.take(archive.subarray(at, at + 100))
    const { layout, profiles, problems } = await helper.open()
    assert.equal(layout, 'ChirpStack device profiles')
    assert.deepEqual(problems, readLibrary(openZip(archive)).problems)
    for (let number = 0; number < profiles; number += 1) assert.notEqual((await helper.next())?.vendor, undefined)
    assert.ok(profiles > 0)
    assert.equal(await helper.next(), undefined)
  } finally {
    await helper.close()
  }
})

test('an archive that can’t be read is a fault of the collection, and so is a reader that ends', async () => {
  const helper = await ArchiveHelper.start()
  await helper.take(Buffer.from('no archive'))
  await assert.rejects(helper.open(), { code: 'collection_unreadable', message: 'The file is no zip archive.' })
  await helper.close()
  await assert.rejects(helper.next(), { code: 'collection_unreadable' })
})

test('a reader that takes a minute for one answer is given up, and is gone when it is closed', async (context) => {
  const helper = await ArchiveHelper.start()
  await helper.take(archive)
  context.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  // No turn of the event loop brings the answer before the clock has been set.
  const opening = helper.open()
  let isGivenUp = false
  opening.catch(() => {
    isGivenUp = true
  })
  context.mock.timers.tick(59_999)
  await Promise.resolve()
  assert.equal(isGivenUp, false)
  context.mock.timers.tick(1)
  const message = 'The archive takes too long to read.'
  await assert.rejects(opening, { code: 'collection_unreadable', message })
  await helper.close()
  await assert.rejects(helper.next(), { message: 'The archive could not be read: its reader ended.' })
})

const hasProc = existsSync('/proc/self/status')
test('an archive is refused whose reader grows beyond its memory', { skip: !hasProc }, async (context) => {
  const helper = await ArchiveHelper.start(1)
  await helper.take(archive)
  context.mock.timers.enable({ apis: ['setInterval'] })
  const opening = helper.open()
  context.mock.timers.tick(1_000)
  const message = 'The archive takes more than 1 MiB of memory to read.'
  await assert.rejects(opening, { code: 'collection_unreadable', message })
  await helper.close()
})
