import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ArchiveHelper } from './archive-helper.ts'
import { chirpStackFiles } from './collections.testing.ts'
import { readLibrary } from './read-library.ts'
import { openZip } from './zip-tree.ts'
import { zipOf } from './zip.testing.ts'

test('an archive that comes in pieces gives its profiles one by one', async () => {
  const archive = zipOf(Object.entries(chirpStackFiles).map(([path, content]) => ({ path, content })))
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
