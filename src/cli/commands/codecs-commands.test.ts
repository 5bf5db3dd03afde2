import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, it } from 'node:test'
import { chirpStackFiles, deviceRepositoryFiles } from '../../lorawan/library/collections.testing.ts'
import type { Files } from '../../lorawan/library/collections.testing.ts'
import { zipOf } from '../../lorawan/library/zip.testing.ts'
import { commandLine, succeed } from '../command-line.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-codecs-'))
after(() => rmSync(scratch, { recursive: true }))
const chirpStack = join(scratch, 'chirpstack')
const repository = join(scratch, 'repository')
write(chirpStack, chirpStackFiles)
write(repository, deviceRepositoryFiles)
const archive = join(scratch, 'main.zip')
const packed = Object.entries(chirpStackFiles).map(([path, content]) => ({ path: `profiles-main/${path}`, content }))
writeFileSync(archive, zipOf(packed))

function write(folder: string, files: Files): void {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
}

describe('fieldgate codecs, without a deployment', () => {
  const shell = commandLine(join(scratch, 'nothing'))

  it('lists the profiles of a folder and of a zip archive alike', async () => {
    const ran = await shell(`codecs list ${chirpStack}`)
    assert.deepEqual(ran, {
      code: 0,
      out:
        'VENDOR  MODEL  FIRMWARE  REGIONS      CODEC      EXAMPLES\n' +
        'Pond    Frog   1.2       EU868 US915  CUSTOM_JS  3\n' +
        'Pond    Frog   2.0       EU868                   0\n',
      error:
        '2 profiles of 2, ChirpStack device profiles, licence: The Licence of Tests.\n' +
        'vendors/pond/codecs/test_decode_frog.json has 1 examples that can’t be used.\n' +
        'vendors/pond/devices/gone.toml is missing.\n',
    })
    assert.deepEqual(await shell(`codecs list ${archive}`), ran)
    const listed = JSON.parse(await succeed(shell, `codecs list ${archive} --search FROG --region US915 --json`)) as {
      readonly profiles: readonly { readonly firmwareVersion: string }[]
    }
    assert.deepEqual(
      listed.profiles.map(({ firmwareVersion }) => firmwareVersion),
      ['1.2'],
    )
  })

  it('runs the examples, and ends with 1 when one of them differs', async () => {
    const good = await shell(`codecs check ${archive}`)
    assert.deepEqual([good.code, good.out], [0, ''])
    assert.match(good.error, /^2 profiles, 1 without examples; 3 examples: 3 equal, 0 that differ\.\n/)
    const bad = await shell(`codecs check ${repository}`)
    assert.equal(bad.code, 1)
    assert.equal(
      bad.out,
      'VENDOR     MODEL  FIRMWARE  EQUAL  DIFFERS  FIRST DIFFERENCE\n' +
        'Pond Inc.  Frog   1.5       2      1        wrong: {"data":{"level":2,"fPort":3}}\n',
    )
    assert.match(bad.error, /1 example did not give the published result\.\n$/)
  })

  it('shows a profile, and prints it as a device profile', async () => {
    const shown = await succeed(shell, `codecs show ${chirpStack} Pond Frog --firmware 1.2`)
    assert.match(shown, /^licence +The Licence of Tests$/m)
    assert.match(shown, /^url +https:\/\/pond\.example\/frog$/m)
    const profile = JSON.parse(
      await succeed(shell, `codecs show ${chirpStack} Pond Frog --firmware 1.2 --region US915 --json`),
    ) as Readonly<Record<string, unknown>>
    const { payloadDecoderScript, payloadEncoderScript, testVectors, ...members } = profile
    assert.equal(payloadDecoderScript, chirpStackFiles['vendors/pond/codecs/frog.js'])
    assert.equal(payloadEncoderScript, payloadDecoderScript)
    assert.deepEqual(members, {
      name: 'Pond Frog 1.2',
      description: 'Level of a pond',
      vendor: 'Pond',
      model: 'Frog',
      firmwareVersion: '1.2',
      region: 'US915',
      deviceClass: 'B',
      payloadCodec: 'CUSTOM_JS',
      source: {
        name: 'ChirpStack device profiles',
        licence: 'The Licence of Tests',
        url: 'https://pond.example/frog',
        version: '',
      },
    })
    assert.deepEqual((testVectors as readonly unknown[])[2], {
      name: 'up',
      fPort: 1,
      object: { level: 8 },
      expectedBytes: '04',
      expectedFPort: 7,
    })
  })

  it('says what to choose, and why a collection can’t be read', async () => {
    for (const [line, message] of [
      [`codecs show ${chirpStack} Pond Frog`, 'Choose a firmware by --firmware: 1.2, 2.0.'],
      [`codecs show ${chirpStack} Pond Toad`, 'The collection has no model Toad of Pond; see fieldgate codecs list.'],
      [`codecs show ${repository} Pond Frog`, 'The collection has no model Frog of Pond; see fieldgate codecs list.'],
      [`codecs show ${chirpStack} Pond Frog --region XX`, 'There is no profile for XX, only for EU868 US915, EU868.'],
      [
        `codecs list ${join(scratch, 'gone')}`,
        `The file ${join(scratch, 'gone')} can’t be read: there is no such file.`,
      ],
      [`codecs list ${join(chirpStack, 'LICENSE')}`, `${join(chirpStack, 'LICENSE')}: The file is no zip archive.`],
    ] as const) {
      assert.deepEqual(await shell(line), { code: 1, out: '', error: `fieldgate: ${message}\n` })
    }
  })
})
