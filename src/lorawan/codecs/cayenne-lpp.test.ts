import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { CAYENNE_SENSORS, decodeCayenneLpp, encodeCayenneLpp } from './cayenne-lpp.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(' ', ''), 'hex')

function encoded(object: unknown): Buffer {
  const result = encodeCayenneLpp(object)
  assert.ok(result.ok, result.ok ? '' : result.message)
  return result.data
}

function decoded(bytes: Buffer): unknown {
  const result = decodeCayenneLpp(bytes)
  assert.ok(result.ok, result.ok ? '' : result.message)
  return result.object
}

/** A sensor's object with payloads by hand, lowest and highest values among them. */
const VECTORS: readonly (readonly [object: object, bytes: string])[] = [
  [{ temperatureSensor: { '1': 25 }, humiditySensor: { '1': 32 } }, '01 67 00FA 01 68 40'],
  [{ digitalInput: { '0': 255 } }, '00 00 FF'],
  [{ digitalOutput: { '3': 1 } }, '03 01 01'],
  [{ analogInput: { '3': -327.68 } }, '03 02 8000'],
  [{ analogOutput: { '3': 327.67 } }, '03 03 7FFF'],
  [{ genericSensor: { '3': 4294967295 } }, '03 64 FFFFFFFF'],
  [{ illuminanceSensor: { '3': 65535 } }, '03 65 FFFF'],
  [{ presenceSensor: { '255': 1 } }, 'FF 66 01'],
  [{ temperatureSensor: { '5': -4.1 } }, '05 67 FFD7'],
  [{ humiditySensor: { '5': 127.5 } }, '05 68 FF'],
  [{ accelerometer: { '6': { x: 1.234, y: -1.234, z: 0 } } }, '06 71 04D2 FB2E 0000'],
  [{ barometer: { '6': 1073.5 } }, '06 73 29EF'],
  [{ voltage: { '6': 655.35 } }, '06 74 FFFF'],
  [{ current: { '6': 0.001 } }, '06 75 0001'],
  [{ frequency: { '6': 868100000 } }, '06 76 33BE27A0'],
  [{ percentage: { '6': 100 } }, '06 78 64'],
  [{ altitude: { '6': -32768 } }, '06 79 8000'],
  [{ concentration: { '6': 412 } }, '06 7D 019C'],
  [{ power: { '6': 2300 } }, '06 80 08FC'],
  [{ distance: { '6': 4294967.295 } }, '06 82 FFFFFFFF'],
  [{ energy: { '6': 1.5 } }, '06 83 000005DC'],
  [{ direction: { '6': 359 } }, '06 84 0167'],
  [{ unixTime: { '6': 1700000000 } }, '06 85 6553F100'],
  [{ gyrometer: { '6': { x: 0.01, y: -0.01, z: 327.67 } } }, '06 86 0001 FFFF 7FFF'],
  [{ colour: { '6': { r: 255, g: 128, b: 0 } } }, '06 87 FF8000'],
  [{ gpsLocation: { '1': { latitude: 42.3519, longitude: -87.9094, altitude: 10 } } }, '01 88 06765F F2960A 0003E8'],
  [{ switch: { '6': 1 } }, '06 8E 01'],
  [{}, ''],
]

describe('Cayenne LPP', () => {
  for (const [object, bytes] of VECTORS) {
    it(`${JSON.stringify(object)} is ${bytes || 'no bytes'}, and back`, () => {
      assert.equal(encoded(object).toString('hex'), hex(bytes).toString('hex'))
      assert.deepEqual(decoded(hex(bytes)), object)
    })
  }

  it('has a vector for each sensor', () => {
    const covered = new Set(VECTORS.flatMap(([object]) => Object.keys(object)))
    assert.deepEqual(
      CAYENNE_SENSORS.map(({ name }) => name).filter((name) => !covered.has(name)),
      [],
    )
    assert.equal(CAYENNE_SENSORS.length, 26)
  })

  it('the payload in base64 is the one that clients of the family send', () => {
    const object = { humiditySensor: { '1': 32 }, temperatureSensor: { '1': 25 } }
    assert.equal(encoded(object).toString('base64'), 'AWcA+gFoQA==')
  })

  it('sensors are in the order of the table and channels ascending, whatever the order of the object', () => {
    const object = { switch: { '1': 1 }, digitalInput: { '10': 1, '9': 2, '0': 3 } }
    assert.equal(encoded(object).toString('hex'), '0000030900020a0001018e01')
  })

  it('an object to be encoded may have the names that ChirpStack v4 gives', () => {
    assert.equal(encoded({ unix_time: { '6': 1700000000 } }).toString('hex'), '06856553f100')
    assert.equal(
      encoded({ color: { '6': { r: 255, g: 128, b: 0 } }, colour: { '1': { r: 1, g: 2, b: 3 } } }).toString('hex'),
      '01870102030687ff8000',
    )
    assert.deepEqual(encodeCayenneLpp({ color: { '6': 1 } }), {
      ok: false,
      code: 'wrong_type',
      message: 'color.6: must be an object with r, g, b',
    })
  })

  it('values are rounded to the nearest step, halves away from zero', () => {
    for (const [value, steps] of [
      [4.35, 435],
      [1.1, 110],
      [-4.35, -435],
      [0.004, 0],
      [0.005, 1],
      [-0.005, -1],
      [327.674, 32767],
    ] as const) {
      assert.equal(encoded({ analogInput: { '1': value } }).readInt16BE(2), steps, String(value))
    }
  })

  it('a sensor that is there twice on one channel counts as its last value', () => {
    assert.deepEqual(decoded(hex('01 66 01 01 66 02')), { presenceSensor: { '1': 2 } })
  })
})

describe('Cayenne LPP refuses', () => {
  const wrong: readonly (readonly [object: unknown, code: string, message: string])[] = [
    [null, 'not_an_object', 'the object must be a map of sensor names'],
    [[], 'not_an_object', 'the object must be a map of sensor names'],
    ['x', 'not_an_object', 'the object must be a map of sensor names'],
    [{ thermometer: { '1': 1 } }, 'unknown_sensor', 'thermometer: is no known sensor'],
    [{ 'a b\u0007': { '1': 1 } }, 'unknown_sensor', 'the object: is no known sensor'],
    [{ toString: { '1': 1 } }, 'unknown_sensor', 'toString: is no known sensor'],
    [JSON.parse('{"__proto__": {"switch": {"1": 1}}}'), 'unknown_sensor', '__proto__: is no known sensor'],
    [{ switch: 1 }, 'wrong_type', 'switch: must be a map of channels'],
    [{ switch: [1] }, 'wrong_type', 'switch: must be a map of channels'],
    [{ switch: { '256': 1 } }, 'invalid_channel', 'switch.256: a channel is a whole number from 0 to 255'],
    [{ switch: { '01': 1 } }, 'invalid_channel', 'switch.01: a channel is a whole number from 0 to 255'],
    [{ switch: { '-1': 1 } }, 'invalid_channel', 'switch.-1: a channel is a whole number from 0 to 255'],
    [{ switch: { '': 1 } }, 'invalid_channel', 'switch: a channel is a whole number from 0 to 255'],
    [{ switch: { '1': '1' } }, 'wrong_type', 'switch.1: must be a number'],
    [{ switch: { '1': null } }, 'wrong_type', 'switch.1: must be a number'],
    [{ switch: { '1': true } }, 'wrong_type', 'switch.1: must be a number'],
    [{ switch: { '1': Number.NaN } }, 'wrong_type', 'switch.1: must be a number'],
    [{ switch: { '1': 256 } }, 'out_of_range', 'switch.1: 256 is above 255'],
    [{ switch: { '1': -1 } }, 'out_of_range', 'switch.1: -1 is below 0'],
    [{ temperatureSensor: { '1': 4000 } }, 'out_of_range', 'temperatureSensor.1: 4000 is above 3276.7'],
    [{ temperatureSensor: { '1': -4000 } }, 'out_of_range', 'temperatureSensor.1: -4000 is below -3276.8'],
    [{ genericSensor: { '1': 4294967296 } }, 'out_of_range', 'genericSensor.1: 4294967296 is above 4294967295'],
    [{ energy: { '1': Infinity } }, 'out_of_range', 'energy.1: Infinity is above 4294967.295'],
    [{ gyrometer: { '2': 1 } }, 'wrong_type', 'gyrometer.2: must be an object with x, y, z'],
    [{ gyrometer: { '2': { x: 1, y: 1 } } }, 'member_missing', 'gyrometer.2.z: is missing'],
    [{ colour: { '2': { r: 1, g: 1, b: 1, a: 1 } } }, 'unknown_member', 'colour.2.a: is not one of r, g, b'],
    [
      { gpsLocation: { '1': { latitude: 900, longitude: 0, altitude: 0 } } },
      'out_of_range',
      'gpsLocation.1.latitude: 900 is above 838.8607',
    ],
  ]
  for (const [object, code, message] of wrong) {
    it(`${JSON.stringify(object)}: ${message}`, () => {
      assert.deepEqual(encodeCayenneLpp(object), { ok: false, code, message })
    })
  }

  const wrongBytes: readonly (readonly [bytes: string, code: string, message: string])[] = [
    ['01', 'trailing_bytes', 'byte 0: a channel without a type'],
    ['01 67 00', 'trailing_bytes', 'temperatureSensor.1: needs 2 bytes, 1 are left'],
    ['01 67 00FA 01', 'trailing_bytes', 'byte 4: a channel without a type'],
    ['01 68 40 02 88 0000', 'trailing_bytes', 'gpsLocation.2: needs 9 bytes, 2 are left'],
    ['07 FF 00', 'unknown_type', 'byte 1: 255 is no sensor type (channel 7)'],
  ]
  for (const [bytes, code, message] of wrongBytes) {
    it(`${bytes}: ${message}`, () => {
      assert.deepEqual(decodeCayenneLpp(hex(bytes)), { ok: false, code, message })
    })
  }
})

describe('Cayenne LPP, for all objects and bytes', () => {
  const channels = fc.uniqueArray(fc.integer({ min: 0, max: 255 }), { minLength: 1, maxLength: 4 })
  const sensors = fc.record(
    Object.fromEntries(
      CAYENNE_SENSORS.map((one) => [
        one.name,
        channels.chain((indexes) =>
          fc.record(Object.fromEntries(indexes.map((index) => [index, valueOf(one)])), { noNullPrototype: true }),
        ),
      ]),
    ),
    { requiredKeys: [], noNullPrototype: true },
  )

  it('decoding what was encoded gives the same object', () => {
    fc.assert(fc.property(sensors, (object) => assert.deepEqual(decoded(encoded(object)), object)))
  })

  it('encoding what was decoded gives the same bytes', () => {
    fc.assert(
      fc.property(sensors, (object) => {
        const bytes = encoded(object)
        assert.deepEqual(encoded(decoded(bytes)), bytes)
      }),
    )
  })

  it('a value is never off by more than half a step', () => {
    const temperature = fc.double({ min: -3276.8, max: 3276.7, noNaN: true })
    fc.assert(
      fc.property(temperature, (given) => {
        const taken = encoded({ temperatureSensor: { '1': given } }).readInt16BE(2) / 10
        assert.ok(Math.abs(taken - given) <= 0.05 + 1e-9, `${given} became ${taken}`)
      }),
    )
  })

  it('any bytes are decoded or refused, never thrown over', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        const result = decodeCayenneLpp(Buffer.from(bytes))
        if (result.ok) assert.ok(encodeCayenneLpp(result.object).ok)
        else assert.ok(result.message.length > 10)
      }),
    )
  })

  it('any JSON is encoded or refused, never thrown over', () => {
    fc.assert(fc.property(fc.jsonValue(), (any) => assert.equal(typeof encodeCayenneLpp(any).ok, 'boolean')))
  })
})

/** Any value that the sensor can carry without rounding. */
function valueOf(one: (typeof CAYENNE_SENSORS)[number]) {
  const [first] = one.fields
  if (first?.member === '') return numberOf(first)
  const members = Object.fromEntries(one.fields.map((field) => [field.member, numberOf(field)]))
  return fc.record(members, { noNullPrototype: true })
}

function numberOf({ bytes, isSigned, factor }: (typeof CAYENNE_SENSORS)[number]['fields'][number]) {
  const span = 2 ** (8 * bytes)
  const lowest = isSigned ? -span / 2 : 0
  return fc
    .integer({ min: 0, max: 2 ** 31 - 1 })
    .chain((high) => fc.integer({ min: 0, max: 1 }).map((low) => (lowest + ((high * 2 + low) % span)) / factor))
}
