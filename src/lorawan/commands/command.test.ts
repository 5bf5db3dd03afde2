import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { objectFault, parseCommand } from './command.ts'
import type { CommandResult } from './command.ts'
import { VALID, WRONG_COMMANDS, WRONG_PAYLOADS } from './invalid-commands.testing.ts'

const ID = '8b3c0f7e-3b1a-4f57-9a3e-0a0d8c1b2f4d'

describe('an invalid command is refused with the member and the fault', () => {
  for (const [title, payload, member, code, message] of [...WRONG_PAYLOADS, ...WRONG_COMMANDS]) {
    it(`${title} is ${code}`, () => {
      const result = parse(payload)
      assert.ok(!result.ok)
      assert.deepEqual([result.member, result.code], [member, code])
      assert.ok(result.message.includes(message), result.message)
      if (member !== undefined) assert.ok(result.message.startsWith(`${member}: `), result.message)
    })
  }

  it('in words that repeat no text of the payload', () => {
    for (const payload of ['secret', '{"data": secret}', withObject({ 'secret\u202e': 'secret' })]) {
      const result = parse(payload)
      assert.ok(!result.ok && !result.message.includes('secret'))
    }
  })
})

describe('a valid command', () => {
  it('is read with its bytes', () => {
    assert.deepEqual(parse(VALID), {
      ok: true,
      command: {
        confirmed: false,
        fPort: 10,
        data: Buffer.from([1, 2, 3]),
        object: undefined,
        id: undefined,
        expiresAtMs: undefined,
        devEui: undefined,
        priority: 0,
        replace: false,
      },
    })
  })

  it('may have any port from 1 to 255, written as any JSON number of that value', () => {
    for (const fPort of ['1', '223', '224', '255', '5.0', '1e2']) {
      const result = parse(`{"confirmed":true,"fPort":${fPort},"data":"AQ=="}`)
      assert.ok(result.ok && result.command.fPort === Number(fPort), fPort)
    }
  })

  it('may leave out the padding of its data, and have none or 242 bytes of it', () => {
    for (const data of ['', 'AQ', 'AQ==', 'AQI', 'AQI=', '+/+/', bytes(242)]) {
      const result = parse({ ...VALID, data })
      assert.ok(result.ok, data)
      assert.deepEqual(result.command.data, Buffer.from(data, 'base64'))
    }
  })

  it('may have an object in the place of data, or both', () => {
    const object = { temperatureSensor: { 1: 25.5, 255: -4 }, led: { 0: 0 } }
    const alone = parse(withObject(object))
    assert.ok(alone.ok)
    assert.deepEqual([alone.command.object, alone.command.data], [object, undefined])
    const both = parse({ ...VALID, object })
    assert.ok(both.ok)
    assert.deepEqual([both.command.object, both.command.data], [object, Buffer.from([1, 2, 3])])
  })

  it('may carry an id as its sender wrote it, a time to expire and its DevEUI', () => {
    const result = parse({
      ...VALID,
      id: ID.toUpperCase(),
      expiresAt: '2026-01-02T03:04:05.678+01:00',
      devEui: '70B3D57ED0050A1F',
    })
    assert.ok(result.ok)
    assert.equal(result.command.id, ID.toUpperCase())
    assert.equal(result.command.expiresAtMs, Date.UTC(2026, 0, 2, 2, 4, 5, 678))
    assert.equal(result.command.devEui, '70b3d57ed0050a1f')
  })

  it('may be of a priority, and take the place of others', () => {
    const result = parse({ ...VALID, priority: -1000, replace: true })
    assert.ok(result.ok)
    assert.deepEqual([result.command.priority, result.command.replace], [-1000, true])
  })

  it('has an object of any shape for a script, and one with axes for Cayenne LPP', () => {
    assert.equal(objectFault({ led: true, text: ['a'] }, 'CUSTOM_JS'), undefined)
    assert.equal(objectFault({ accelerometer: { 1: { x: 0, y: 0.5, z: -1 } } }, 'CAYENNE_LPP'), undefined)
    assert.equal(objectFault({ accelerometer: { 1: { x: 0 } } }, '')?.member, 'object.accelerometer.1')
    assert.equal(objectFault({ accelerometer: { 1: { x: '0' } } }, 'CAYENNE_LPP')?.member, 'object.accelerometer.1.x')
  })

  it('has its id in the fault of another member', () => {
    const result = parse({ ...VALID, id: 'valve-7', fPort: 0 })
    assert.ok(!result.ok)
    assert.equal(result.id, 'valve-7')
  })

  it('may have unknown members, also __proto__, which change nothing', () => {
    const text = `{"__proto__":{"polluted":1},"constructor":1,"x":[{}],"confirmed":true,"fPort":1,"data":""}`
    const result = parse(text)
    assert.ok(result.ok)
    assert.equal(({} as Record<string, unknown>)['polluted'], undefined)
    assert.equal((result.command as unknown as Record<string, unknown>)['polluted'], undefined)
  })

  it('is read back as it was written, whatever its bytes', () => {
    fc.assert(
      fc.property(
        fc.boolean(),
        fc.integer({ min: 1, max: 255 }),
        fc.uint8Array({ maxLength: 242 }),
        (confirmed, fPort, data) => {
          const result = parse({ confirmed, fPort, data: Buffer.from(data).toString('base64') })
          assert.ok(result.ok)
          assert.deepEqual(
            [result.command.confirmed, result.command.fPort, result.command.data],
            [confirmed, fPort, Buffer.from(data)],
          )
        },
      ),
    )
  })
})

describe('any payload', () => {
  it('is answered without an exception', () => {
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array(), fc.json(), fc.string()), (payload) => {
        assert.equal(typeof parse(typeof payload === 'string' ? payload : Buffer.from(payload)).ok, 'boolean')
      }),
      { numRuns: 1000 },
    )
  })
})

/** The command, and its object as an application without a codec takes it. */
function parse(payload: string | Buffer | object): CommandResult {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const result = parseCommand(Buffer.isBuffer(payload) ? payload : Buffer.from(text))
  if (!result.ok || result.command.object === undefined) return result
  return objectFault(result.command.object, '') ?? result
}

function withObject(object: unknown): object {
  return { confirmed: true, fPort: 1, object }
}

function bytes(count: number): string {
  return Buffer.alloc(count, 7).toString('base64')
}
