import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { commandLine, json, succeed } from '../command-line.testing.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-codec-'))
after(() => rm(scratch, { recursive: true }))
const file = (name: string): string => join(scratch, name)

const DECODER = `function decodeUplink(input) {
\tconsole.log('port', input.fPort)
  const offset = Number(input.variables?.offset ?? 0)
  return { data: { value: input.bytes[0] + offset, port: input.fPort }, warnings: input.bytes.length > 1 ? ['long'] : [] }
}
`
const BROKEN = `function decodeUplink(input) {
  const first = input.bytes[0]
  throw new Error('no value in ' + first)
}
`

before(async () => {
  await writeFile(file('decoder.js'), DECODER)
  await writeFile(file('broken.js'), BROKEN)
  await writeFile(
    file('encoder.js'),
    `function encodeDownlink(input) { return { bytes: [input.data.level], fPort: 7 } }`,
  )
})

describe('fieldgate codec test, without a deployment', () => {
  const shell = commandLine(file('nothing'))

  it('prints the object to standard output, console and warnings to standard error', async () => {
    const ran = await shell(`codec test --decoder-file ${file('decoder.js')} --hex 0A:FF --f-port 2`)
    assert.deepEqual(ran, {
      code: 0,
      out: '{\n  "value": 10,\n  "port": 2\n}\n',
      error: 'console: port 2\nwarning: long\n',
    })
    const data = await succeed(shell, `codec test --decoder-file ${file('decoder.js')} --data Cg== --variable offset=5`)
    assert.deepEqual(JSON.parse(data), { value: 15, port: 1 })
  })

  it('names the line of the script that failed, and ends with 1', async () => {
    const { code, out, error } = await shell(`codec test --decoder-file ${file('broken.js')} --hex 00`)
    assert.deepEqual([code, out], [1, ''])
    assert.match(error, /^fieldgate: \S+broken\.js, line 3: Error: no value in 0\n$/)
    const asked = await shell(`codec test --decoder-file ${file('broken.js')} --hex 00 --json`)
    assert.equal(asked.code, 1)
    const { decoded } = JSON.parse(asked.out) as { decoded: { object: unknown; error: { line: number } } }
    assert.deepEqual([decoded.object, decoded.error.line], [null, 3])
  })

  it('encodes an object, by a script or by Cayenne LPP', async () => {
    const line = `codec test --encoder-file ${file('encoder.js')} --object {"level":5}`
    assert.equal(await succeed(shell, line), 'fPort   7\nhex     05\nbase64  BQ==\n')
    const lpp = await succeed(shell, 'codec test --codec CAYENNE_LPP --hex 016700FA')
    assert.deepEqual(JSON.parse(lpp), { temperatureSensor: { 1: 25 } })
  })

  it('says what is missing or wrong in a call, with 2', async () => {
    const decoder = `--decoder-file ${file('decoder.js')}`
    const wrong: readonly (readonly [string, RegExp])[] = [
      [`codec test ${decoder}`, /--hex or --data to decode/],
      ['codec test --hex 00', /Name the codec/],
      [`codec test ${decoder} --hex 00 --data AA==`, /not both/],
      [`codec test ${decoder} --hex 0`, /pairs of hexadecimal digits/],
      [`codec test ${decoder} --data x`, /base64/],
      [`codec test ${decoder} --hex 00 --f-port 256`, /from 1 to 255/],
      [`codec test ${decoder} --object {`, /must be JSON/],
    ]
    for (const [line, message] of wrong) {
      const { code, error } = await shell(line)
      assert.equal(code, 2, line)
      assert.match(error, message)
    }
  })
})

describe('the scripts of an application', () => {
  const shell = commandLine(file('deployment'))
  const devEui = '0101010101010101'

  before(async () => {
    await succeed(shell, 'init')
    await succeed(shell, 'organization create alpine')
    const create = 'application create water --organization alpine --codec CUSTOM_JS'
    await succeed(shell, `${create} --decoder-file ${file('decoder.js')}`)
    await succeed(shell, `device create ${devEui} --application water --variable offset=100`)
  })

  it('are tried as they are saved, with the variables of a device', async () => {
    assert.match(await succeed(shell, 'codec test --application water --hex 01'), /"value": 1,/)
    assert.match(await succeed(shell, `codec test --device ${devEui} --hex 01`), /"value": 101,/)
    const draft = await shell(`codec test --device ${devEui} --decoder-file ${file('broken.js')} --hex 01`)
    assert.match(draft.error, /broken\.js, line 3/)
  })

  it('are printed as lines, and to programs as JSON', async () => {
    const out = await succeed(shell, 'application get water')
    assert.match(out, /^payloadCodec +CUSTOM_JS$/m)
    assert.ok(out.endsWith(`\n\npayloadDecoderScript\n${DECODER.trimEnd().replaceAll(/^/gm, '  ')}\n`), out)
    const { application } = (await json(shell, 'application get water')) as { application: Record<string, unknown> }
    assert.equal(application['payloadDecoderScript'], DECODER)
  })
})
