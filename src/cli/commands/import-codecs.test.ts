import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { chirpStackFiles, deviceRepositoryFiles } from '../../lorawan/library/collections.testing.ts'
import type { Files } from '../../lorawan/library/collections.testing.ts'
import { commandLine, json, succeed } from '../command-line.testing.ts'

const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-import-codecs-'))
after(() => rmSync(scratch, { recursive: true }))
const shell = commandLine(join(scratch, 'data'))

const SCRIPT = 'vendors/pond/codecs/frog.js'
const DECODED = 'vendors/pond/codecs/test_decode_frog.json'
/** The same models with a codec that triples, as a later version of the collection. */
const laterFiles: Files = {
  ...chirpStackFiles,
  [SCRIPT]: (chirpStackFiles[SCRIPT] ?? '').replace('bytes[0] * 2', 'bytes[0] * 3'),
  [DECODED]:
    '[{ "name": "full", "input": { "bytes": [16], "fPort": 3 }, "expected": { "data": { "level": 48, "fPort": 3 } } }]',
}

/** Writes a collection to a folder of its own. */
function collection(name: string, files: Files): string {
  const folder = join(scratch, name)
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), content)
  }
  return folder
}

interface Row {
  readonly name: string
  readonly outcome: string
  readonly members?: readonly string[]
  readonly breaks?: readonly string[]
  readonly reason?: string
}

async function outcomes(line: string): Promise<readonly Row[]> {
  const { out } = await shell(`codecs import ${line} --json`)
  return (JSON.parse(out) as { readonly profiles: readonly Row[] }).profiles
}

async function profile(name: string, organization: string): Promise<Readonly<Record<string, unknown>>> {
  const id = await idOf(name, organization)
  const { deviceProfile } = await json(shell, `profile show ${id} --organization ${organization}`)
  return deviceProfile as Readonly<Record<string, unknown>>
}

/** Names have spaces, which a command line of these tests can't quote. */
async function idOf(name: string, organization: string): Promise<string> {
  const { result } = await json(shell, `profile list --organization ${organization}`)
  const found = (result as readonly Readonly<Record<string, string>>[]).find((one) => one['name'] === name)
  assert.ok(found, name)
  return found['id'] ?? ''
}

describe('fieldgate codecs import', () => {
  const first = collection('first', chirpStackFiles)
  const later = collection('later', laterFiles)
  before(async () => {
    await succeed(shell, 'init')
    for (const name of ['alpine', 'coast', 'delta', 'island']) await succeed(shell, `organization create ${name}`)
  })

  it('makes device profiles of the chosen models, once, and nothing by --look', async () => {
    const looked = await shell(`codecs import ${first} --organization alpine --look`)
    assert.equal(looked.code, 0, looked.error)
    assert.match(looked.error, /^2 profiles: nothing is changed; it would be: 2 created\.\n/)
    assert.deepEqual((await json(shell, 'profile list --organization alpine'))['result'], [])
    const ran = await shell(`codecs import ${first} --organization alpine --search FROG --region US915`)
    assert.deepEqual([ran.code, ran.out], [0, 'OUTCOME  NAME           DETAILS\ncreated  Pond Frog 1.2\n'])
    const made = await profile('Pond Frog 1.2', 'alpine')
    assert.deepEqual(
      [made['vendor'], made['model'], made['firmwareVersion'], made['region'], made['deviceClass']],
      ['Pond', 'Frog', '1.2', 'US915', 'B'],
    )
    assert.equal(made['payloadDecoderScript'], chirpStackFiles[SCRIPT])
    assert.deepEqual(made['source'], {
      name: 'ChirpStack device profiles',
      licence: 'The Licence of Tests',
      url: 'https://pond.example/frog',
      version: '',
    })
    assert.equal((made['testVectors'] as readonly unknown[]).length, 3)
    assert.deepEqual(
      (await outcomes(`${first} --organization alpine`)).map(({ name, outcome }) => [name, outcome]),
      [
        ['Pond Frog 1.2', 'unchanged'],
        ['Pond Frog 2.0', 'created'],
      ],
    )
  })

  it('leaves an existing device profile alone without --update, and shows what an update breaks', async () => {
    await succeed(shell, `codecs import ${first} --organization coast`)
    const id = await idOf('Pond Frog 1.2', 'coast')
    const own = { name: 'own', fPort: 3, bytes: '01', expected: { data: { level: 2, fPort: 3 } } }
    const vectors = join(scratch, 'own.json')
    writeFileSync(vectors, JSON.stringify([own]))
    await succeed(
      shell,
      `profile update ${id} --organization coast --name Frog --interval 60 --vectors-file ${vectors}`,
    )
    const members = ['payloadDecoderScript', 'payloadEncoderScript', 'testVectors']
    const looked = await outcomes(`${later} --organization coast --look`)
    assert.deepEqual(
      looked.map(({ name, outcome, members: changed, breaks }) => ({ name, outcome, changed, breaks })),
      [
        { name: 'Frog', outcome: 'changed', changed: members, breaks: ['own'] },
        { name: 'Pond Frog 2.0', outcome: 'unchanged', changed: undefined, breaks: undefined },
      ],
    )
    const kept = await shell(`codecs import ${later} --organization coast`)
    assert.equal(kept.code, 0)
    assert.match(kept.out, /^left as it is  Frog  payloadDecoderScript, payloadEncoderScript, testVectors$/m)
    assert.match(kept.error, /: --update takes them\.$/m)
    const refused = await shell(`codecs import ${later} --organization coast --update`)
    assert.equal(refused.code, 1)
    assert.match(refused.out, /^refused  Frog  deviceProfile\.testVectors: the codec breaks the test vector own: /m)
    assert.equal((await profile('Frog', 'coast'))['payloadDecoderScript'], chirpStackFiles[SCRIPT])
    await succeed(shell, `codecs import ${later} --organization coast --update --force`)
    const changed = await profile('Frog', 'coast')
    assert.equal(changed['payloadDecoderScript'], laterFiles[SCRIPT])
    assert.equal(changed['expectedIntervalSeconds'], 60)
    assert.deepEqual(
      (changed['testVectors'] as readonly { readonly name: string }[]).map(({ name }) => name),
      ['full', 'up', 'own'],
    )
    assert.deepEqual(
      (await outcomes(`${later} --organization coast`)).map(({ outcome }) => outcome),
      ['unchanged', 'unchanged'],
    )
  })

  it('leaves out a profile whose own examples do not hold, unless --force', async () => {
    const repository = collection('repository', deviceRepositoryFiles)
    const ran = await shell(`codecs import ${repository} --organization delta`)
    assert.equal(ran.code, 1)
    assert.match(ran.out, /^refused  Pond Inc\. Frog 1\.5  .* breaks the test vector wrong: /m)
    assert.match(ran.error, /^fieldgate: 1 of 2 profiles refused\.$/m)
    await succeed(shell, `codecs import ${repository} --organization delta --force`)
    assert.equal((await profile('Pond Inc. Frog 1.5', 'delta'))['payloadDecoderScript'], chirpStackFiles[SCRIPT])
  })

  it('says before anything is made that the organization would have too many device profiles', async () => {
    const models = Array.from({ length: 1_001 }, (_, index) => `frog${index}`)
    const large = collection('large', {
      'vendors/pond/vendor.toml': `[vendor]\nname = "Pond"\ndevices = ${JSON.stringify(models.map((name) => `${name}.toml`))}\n`,
      ...Object.fromEntries(
        models.map((name) => [
          `vendors/pond/devices/${name}.toml`,
          `[device]\nname = "${name}"\n[[device.firmware]]\nversion = "1"\nprofiles = []\n`,
        ]),
      ),
    })
    const ran = await shell(`codecs import ${large} --organization island`)
    assert.deepEqual(ran, {
      code: 1,
      out: '',
      error:
        'fieldgate: The organization has 0 device profiles, and 1001 would be added; 1000 are the most. Choose fewer by --search or --region.\n',
    })
    assert.deepEqual((await json(shell, 'profile list --organization island'))['result'], [])
  })

  it('says what is missing', async () => {
    for (const [line, message] of [
      [`codecs import ${first} --organization nobody`, 'There is no organization nobody.'],
      [
        `codecs import ${first} --organization alpine --search toad`,
        'The collection has no such profile; see fieldgate codecs list.',
      ],
    ] as const) {
      assert.deepEqual(await shell(line), { code: 1, out: '', error: `fieldgate: ${message}\n` })
    }
  })
})
