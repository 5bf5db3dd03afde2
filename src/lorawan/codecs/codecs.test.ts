import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, describe, it } from 'node:test'
import type { SteadyMs } from '../../clock.ts'
import { silentLogger } from '../../logger.ts'
import { openTestCodecs } from './codecs.testing.ts'
import type { DecodeRequest, EncodeRequest } from './codecs.ts'
import { HARD_TIME_MS } from './script-limits.ts'

const codecs = openTestCodecs()
after(() => codecs.close())

const request = { applicationId: '5', codec: 'CUSTOM_JS', script: '', fPort: 2, variables: {} } as const

const decode = (given: Partial<DecodeRequest>) =>
  codecs.decodeUplink({ ...request, bytes: Buffer.from([1]), recvTimeMs: 0, ...given })

const encode = (given: Partial<EncodeRequest>) => codecs.encodeDownlink({ ...request, object: {}, ...given })

/**
 * In the style of the makers of sensors: a header with the battery, then values that depend on the
 * port.
 */
const HEADER_STYLE = `
function Decode(fPort, bytes, variables) {
  var value = (bytes[0] << 8 | bytes[1]) & 0x3FFF;
  var batV = value / 1000;
  value = bytes[2] << 8 | bytes[3];
  if (bytes[2] & 0x80) { value |= 0xFFFF0000; }
  var temperature = parseFloat((value / 100).toFixed(2));
  var humidity = parseFloat((((bytes[4] << 8 | bytes[5]) & 0xFFF) / 10).toFixed(1));
  switch (fPort) {
    case 2: return { BatV: batV, TempC: temperature, Hum: humidity, Status: (bytes[0] >> 6) };
    default: return { errors: ["unknown FPort"] };
  }
}`

/**
 * In the style of the makers of sensors: channel, type, value, with helper functions; one decoder
 * with both signatures.
 */
const CHANNEL_STYLE = `
function decodeUplink(input) { var res = Decoder(input.bytes, input.fPort); if (res.error) { return { errors: [res.error] }; } return { data: res }; }
function Decode(fPort, bytes) { return Decoder(bytes, fPort); }
function Decoder(bytes, port) {
  var decoded = {};
  for (var i = 0; i < bytes.length; ) {
    var channel_id = bytes[i++]; var channel_type = bytes[i++];
    if (channel_id === 0x01 && channel_type === 0x75) { decoded.battery = bytes[i]; i += 1; }
    else if (channel_id === 0x03 && channel_type === 0x67) { decoded.temperature = readInt16LE(bytes.slice(i, i + 2)) / 10; i += 2; }
    else if (channel_id === 0x04 && channel_type === 0x68) { decoded.humidity = bytes[i] / 2; i += 1; }
    else { return { error: "unknown channel " + channel_id }; }
  }
  return decoded;
}
function readUInt16LE(bytes) { var value = (bytes[1] << 8) + bytes[0]; return value & 0xffff; }
function readInt16LE(bytes) { var ref = readUInt16LE(bytes); return ref > 0x7fff ? ref - 0x10000 : ref; }
if (!Object.assign) { Object.defineProperty(Object, "assign", { value: function (t) { return t; } }); }`

describe('codecs', () => {
  it('decode as makers’ scripts do', async () => {
    const header = await decode({ script: HEADER_STYLE, bytes: Buffer.from('cbf60b0d03760100', 'hex') })
    assert.ok(header.ok)
    assert.deepEqual(JSON.parse(header.json), { BatV: 3.062, TempC: 28.29, Hum: 88.6, Status: 3 })
    const channels = await decode({ script: CHANNEL_STYLE, bytes: Buffer.from('01755c03673401046865', 'hex') })
    assert.ok(channels.ok)
    assert.deepEqual(JSON.parse(channels.json), { battery: 92, temperature: 30.8, humidity: 50.5 })
    const unknown = await decode({ script: CHANNEL_STYLE, bytes: Buffer.from('ff00', 'hex') })
    assert.ok(!unknown.ok)
    assert.deepEqual([unknown.reason, unknown.message], ['script_errors', 'unknown channel 255'])
  })

  it('decode and encode Cayenne LPP without a script', async () => {
    const decoded = await decode({ codec: 'CAYENNE_LPP', bytes: Buffer.from('AWcA+gFoQA==', 'base64') })
    assert.ok(decoded.ok)
    const object = { temperatureSensor: { '1': 25 }, humiditySensor: { '1': 32 } }
    assert.deepEqual(JSON.parse(decoded.json), object)
    const encoded = await encode({ codec: 'CAYENNE_LPP', object })
    assert.ok(encoded.ok)
    assert.equal(encoded.data.toString('base64'), 'AWcA+gFoQA==')
  })

  it('encode by a script, with the port that it chose', async () => {
    const older = await encode({ script: 'function Encode(p, o) { return [p, o.a] }', object: { a: 7 } })
    assert.ok(older.ok)
    assert.deepEqual([older.data.toString('hex'), older.fPort], ['0207', undefined])
    const newer = await encode({
      script: 'function encodeDownlink({ data }) { return { bytes: [data.a], fPort: 85, warnings: ["w"] } }',
      object: { a: 7 },
    })
    assert.ok(newer.ok)
    assert.deepEqual([newer.data.toString('hex'), newer.fPort, newer.warnings], ['07', 85, ['w']])
  })

  it('decode downlinks, where the encoder script can tell', async () => {
    const script = 'function decodeDownlink({ bytes }) { return { data: bytes } }'
    const decoded = await codecs.decodeDownlink({ ...request, script, bytes: Buffer.from([9]), recvTimeMs: 0 })
    assert.ok(decoded.ok)
    assert.equal(decoded.json, '[9]')
  })

  it('fail with the type of the error event, the reason and the line', async () => {
    const decoded = await decode({ script: 'function Decode() {\n  throw new RangeError("boo") }' })
    assert.ok(!decoded.ok)
    assert.deepEqual(
      [decoded.code, decoded.reason, decoded.message, decoded.line],
      ['UPLINK_CODEC', 'script_exception', 'RangeError: boo', 2],
    )
    const encoded = await encode({ codec: 'CAYENNE_LPP', object: { temperatureSensor: { '1': 4000 } } })
    assert.ok(!encoded.ok)
    assert.deepEqual(
      [encoded.code, encoded.reason, encoded.message],
      ['DOWNLINK_CODEC', 'out_of_range', 'temperatureSensor.1: 4000 is above 3276.7'],
    )
  })

  const refusals: readonly (readonly [title: string, given: Partial<EncodeRequest>, reason: string])[] = [
    ['no codec', { codec: '' }, 'codec_missing'],
    ['no script', { script: ' \n' }, 'script_missing'],
    ['a script of 524,289 characters', { script: 'x'.repeat(524_289) }, 'script_too_long'],
    ['an object of 100 KB', { script: 'x', object: 'x'.repeat(100_000) }, 'input_too_large'],
    ['a script that gives 243 bytes', { script: 'function Encode() { return new Uint8Array(243) }' }, 'data_too_long'],
    [
      'Cayenne LPP of 300 bytes',
      { codec: 'CAYENNE_LPP', object: { switch: Object.fromEntries(Array.from({ length: 100 }, (_, n) => [n, 1])) } },
      'data_too_long',
    ],
    [
      'a script that chooses port 300',
      { script: 'function encodeDownlink() { return { bytes: [1], fPort: 300 } }' },
      'result_invalid',
    ],
    [
      'a script whose bytes are written as something else',
      { script: 'Array.prototype.toJSON = () => ["x"]\nfunction Encode() { return [1] }' },
      'result_invalid',
    ],
  ]
  for (const [title, given, reason] of refusals) {
    it(`refuse ${title}: ${reason}`, async () => {
      const encoded = await encode(given)
      assert.ok(!encoded.ok)
      assert.equal(encoded.reason, reason, encoded.message)
    })
  }

  it('refuse an object too deep for the engine, and go on', async () => {
    const script = 'function Encode() { return [1] }'
    const object: unknown = JSON.parse('['.repeat(30_000) + ']'.repeat(30_000))
    const encoded = await encode({ script, object })
    assert.ok(!encoded.ok)
    assert.equal(encoded.reason, 'stack_exceeded')
    assert.ok((await encode({ script })).ok)
  })

  it('keep a trial apart from what is in use', async () => {
    const slow = 'function Decode() { for (;;); }'
    for (let n = 0; n < 3; n += 1) await decode({ applicationId: '9', script: slow, isTrial: true })
    const held = await decode({ applicationId: '9', script: slow, isTrial: true })
    assert.ok(!held.ok)
    assert.equal(held.reason, 'script_quarantined')
    const used = await decode({ applicationId: '9', script: slow })
    assert.ok(!used.ok)
    assert.equal(used.reason, 'time_exceeded')
  })

  it('count a script against the organization that the application belongs to now', async () => {
    const killed: unknown[] = []
    let organizationId: string | undefined = 'first'
    let isOverdue = false
    const ours = openTestCodecs({
      organizationOf: async () => organizationId,
      clock: {
        steady: () => 0 as SteadyMs,
        after: (ms, run) => {
          if (isOverdue && ms === HARD_TIME_MS) queueMicrotask(run)
          return () => {}
        },
      },
      log: { ...silentLogger, warn: (fields) => killed.push(fields) },
      workers: 1,
    })
    const script = 'function Decode() { return 1 }'
    const run = () => ours.decodeUplink({ ...request, script, bytes: Buffer.alloc(1), recvTimeMs: 0 })
    assert.ok((await run()).ok)
    // The application is removed, and made anew under the same id by another organization.
    organizationId = 'second'
    isOverdue = true
    const late = await run()
    assert.ok(!late.ok)
    assert.equal(late.reason, 'time_exceeded')
    await ours.close()
    assert.deepEqual(killed, [{ organizationId: 'second', codec: '5 decoder', durationMs: HARD_TIME_MS }])
  })

  it('tell the processor time of each organization, and refuse what is beyond its bound', async () => {
    const ours = openTestCodecs({ msPerSecondOf: (organizationId) => (organizationId.endsWith('6') ? 1 : 500) })
    const run = (applicationId: string, script: string) =>
      ours.decodeUplink({ ...request, applicationId, script, bytes: Buffer.alloc(1), recvTimeMs: 0 })
    for (const applicationId of ['5', '6']) await run(applicationId, 'function Decode() { for (;;); }')
    const refused = await run('6', 'function Decode() { return 1 }')
    assert.ok(!refused.ok)
    assert.deepEqual(
      [refused.reason, refused.message],
      [
        'codec_time_used',
        'the payload codecs of the organization have used their time: 1 ms of a processor in a second (codecMsPerSecond)',
      ],
    )
    assert.ok((await run('5', 'function Decode() { return 1 }')).ok)
    assert.deepEqual([...ours.organizations()], ['organization of 5', 'organization of 6'])
    const { codecMsPerSecond = 0 } = ours.usageOf('organization of 5')
    // On a busy processor the time that passes ends the script before its processor time does.
    assert.ok(codecMsPerSecond >= 2 && codecMsPerSecond <= 40, `${codecMsPerSecond}`)
    assert.deepEqual([ours.hasTime('organization of 5'), ours.hasTime('organization of 6')], [true, false])
    assert.deepEqual(ours.usageOf('unknown'), { codecMsPerSecond: 0 })
    await ours.close()
  })

  it('decode for an application that is gone', async () => {
    const ours = openTestCodecs({ organizationOf: async () => undefined })
    const script = 'function Decode() { return 1 }'
    assert.ok((await ours.decodeUplink({ ...request, script, bytes: Buffer.alloc(1), recvTimeMs: 0 })).ok)
    await ours.close()
  })
})

describe('every reason of a codec', () => {
  it('has its paragraph in docs/errors.md, and every paragraph its reason', () => {
    const source = ['codecs', 'script-outcome', 'cayenne-lpp'].map((name) =>
      readFileSync(new URL(`./${name}.ts`, import.meta.url), 'utf8'),
    )
    const unions = source.flatMap((text) =>
      Array.from(text.matchAll(/type \w+FaultCode =([^]*?)\n\n/g), ([, union = '']) => union),
    )
    const reasons = new Set(
      unions.flatMap((union) => Array.from(union.matchAll(/'([a-z_]+)'/g), ([, code = '']) => code)),
    )
    assert.ok(reasons.size > 20)
    const docs = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
    const part = (docs.split(/^## Codecs$/m)[1] ?? '').split(/^## /m)[0] ?? ''
    const heads = Array.from(part.matchAll(/^- (`[^]*?):(?:\s|$)/gm), ([, head = '']) => head)
    const documented = new Set(
      heads.flatMap((head) => Array.from(head.matchAll(/`([a-z_]+)`/g), ([, code = '']) => code)),
    )
    assert.deepEqual(documented, reasons)
  })
})
