import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { chirpStackFiles, deviceRepositoryFiles } from '../../lorawan/library/collections.testing.ts'
import type { Files } from '../../lorawan/library/collections.testing.ts'
import { zipOf } from '../../lorawan/library/zip.testing.ts'
import { commandLine, json, succeed } from '../command-line.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-import-library-'))
after(() => rmSync(scratch, { recursive: true }))
const shell = commandLine(join(scratch, 'data'))

const SCRIPT = 'vendors/pond/codecs/frog.js'

/** Writes a collection to a folder of its own. */
function collection(name: string, files: Files): string {
  const folder = join(scratch, name)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

type Row = Readonly<Record<string, unknown>>

async function profiles(): Promise<readonly Row[]> {
  return (await json(shell, 'codecs library list'))['result'] as readonly Row[]
}

describe('fieldgate codecs import without an organization', () => {
  const first = collection('first', chirpStackFiles)
  before(async () => {
    await succeed(shell, 'init')
    await succeed(shell, 'organization create alpine')
  })

  it('fills the library from a folder, once, and nothing by --look, and finds the same in an archive', async () => {
    const looked = await shell(`codecs import ${first} --look`)
    assert.equal(looked.code, 0, looked.error)
    assert.match(looked.error, /^2 profiles: nothing is changed; it would be: 2 created\.\n/)
    assert.deepEqual(await profiles(), [])
    const ran = await shell(`codecs import ${first}`)
    assert.deepEqual(
      [ran.code, ran.out],
      [0, 'OUTCOME  NAME           DETAILS\ncreated  Pond Frog 1.2\ncreated  Pond Frog 2.0\n'],
    )
    const archive = join(scratch, 'first.zip')
    writeFileSync(archive, zipOf(Object.entries(chirpStackFiles).map(([path, content]) => ({ path, content }))))
    const again = await shell(`codecs import ${archive}`)
    assert.match(again.error, /^2 profiles: 2 unchanged\.\n/)
    assert.deepEqual(
      (await profiles()).map(({ vendor, model, firmwareVersion }) => [vendor, model, firmwareVersion]),
      [
        ['Pond', 'Frog', '1.2'],
        ['Pond', 'Frog', '2.0'],
      ],
    )
    assert.match(
      await succeed(shell, 'codecs library sources'),
      /^ChirpStack device profiles +The Licence of Tests +2$/m,
    )
  })

  it('makes a device profile of the library, and brings a later version of the collection to it', async () => {
    const [frog] = await profiles()
    const id = String(frog?.['id'])
    assert.match(await succeed(shell, `codecs library show ${id}`), /^licence +The Licence of Tests$/m)
    const profile = `--organization alpine`
    await succeed(shell, `profile create frog ${profile} --library-profile ${id} --region US915`)
    assert.match((await shell(`profile library-update frog ${profile}`)).error, /nothing newer/)
    const later = collection('later', {
      ...chirpStackFiles,
      [SCRIPT]: `${chirpStackFiles[SCRIPT] ?? ''}\n// later`,
    })
    const kept = await shell(`codecs import ${later}`)
    assert.match(kept.out, /^left as it is  Pond Frog 1\.2  payloadDecoderScript, payloadEncoderScript$/m)
    assert.match((await shell(`codecs import ${later} --update`)).out, /^changed +Pond Frog 1\.2 /m)
    const looked = await shell(`profile library-update frog ${profile} --look`)
    assert.match(looked.error, /^Would change: payloadDecoderScript, payloadEncoderScript\.$/m)
    await succeed(shell, `profile library-update frog ${profile}`)
    const { deviceProfile } = await json(shell, `profile show frog ${profile}`)
    assert.partialDeepStrictEqual(deviceProfile, { region: 'US915', libraryRevision: 2, hasLibraryUpdate: false })
    assert.match(String((deviceProfile as Row)['payloadDecoderScript']), /\/\/ later$/)
  })

  it('leaves out a profile whose own examples do not hold, unless --force, and removes a source', async () => {
    const repository = collection('repository', deviceRepositoryFiles)
    const ran = await shell(`codecs import ${repository}`)
    assert.equal(ran.code, 1)
    assert.match(ran.out, /^refused  Pond Inc\. Frog 1\.5  its own example wrong does not hold: /m)
    assert.match(ran.error, /^fieldgate: 1 of 2 profiles refused\.$/m)
    const forced = await shell(`codecs import ${repository} --force`)
    assert.equal(forced.code, 0, forced.error)
    const { sources } = await json(shell, 'codecs library sources')
    assert.deepEqual((sources as readonly Row[]).length, 2)
    const missing = await shell('codecs library remove nothing --yes')
    assert.deepEqual([missing.code, missing.error], [1, 'fieldgate: The library has no source nothing.\n'])
  })
})
