/** The Buffer of scripts does what Node's Buffer does. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import vm from 'node:vm'
import * as fc from 'fast-check'
import { guestBuffer } from './guest-buffer.ts'
import { run } from './sandbox.testing.ts'

/** The text of the function in a realm of its own, as it is in the engine. */
const realm = vm.createContext({})
const nodeRealm = vm.createContext({ Buffer })
vm.runInContext(`(${guestBuffer.toString()})()`, realm)

/** The value of an expression, or the name of what it throws, with either Buffer. */
function both(expression: string): readonly [ours: unknown, node: unknown] {
  const source = `(() => { try { return JSON.stringify(${expression}, (k, v) => typeof v === 'bigint' ? v + 'n' : v) } catch (e) { return e.name } })()`
  return [vm.runInContext(source, realm), vm.runInContext(source, nodeRealm)]
}

function same(expression: string): void {
  const [ours, node] = both(expression)
  assert.equal(ours, node, expression)
}

const ENCODINGS = [
  'utf8',
  'UTF-8',
  'hex',
  'base64',
  'base64url',
  'latin1',
  'binary',
  'ascii',
  'ucs2',
  'utf16le',
] as const

const EXPRESSIONS = [
  'Buffer.from([1, 2, 300, -1, 1.9, "7", null])',
  'Buffer.from(new Uint8Array([1, 2, 3]).buffer, 1, 2)',
  'Buffer.from({ length: 2, 0: 5, 1: 6 })',
  'Buffer.from(JSON.parse(JSON.stringify(Buffer.from("ab"))))',
  'Buffer.from(5)',
  'Buffer.from("0a0bzz0c", "hex")',
  'Buffer.from("abc", "hex")',
  'Buffer.from("AQID+/8", "base64")',
  'Buffer.from("a", "koi8")',
  'new Buffer("ab", "hex")',
  'new Buffer([1, 2]) instanceof Buffer',
  'Buffer("ab").length',
  'Buffer.alloc(3, "ab")',
  'Buffer.alloc(2, 7)',
  'Buffer.isBuffer(Buffer.alloc(1)) && !Buffer.isBuffer(new Uint8Array(1))',
  'Buffer.concat([Buffer.from("a"), new Uint8Array([1, 2])], 2)',
  'Buffer.byteLength("€")',
  'Buffer.isEncoding("hex") && !Buffer.isEncoding("x")',
  '[Buffer.compare(Buffer.from("a"), Buffer.from("b")), Buffer.from("b").compare(Buffer.from("a"))]',
  'Buffer.from("abcdef").slice(1, -1).toString()',
  'Buffer.from("abcdef").subarray(2).readUInt8(0)',
  'Buffer.from("abcdef").toString("utf8", 1, 3)',
  '(() => { const b = Buffer.from("abc"); b.slice(1)[0] = 65; return b.toString() })()',
  'Buffer.from("abcabc").indexOf("c", 3)',
  'Buffer.from("abcabc").indexOf(98)',
  'Buffer.from("abcabc").includes("ca")',
  'Buffer.from([1, 2, 3, 4]).swap16()',
  'Buffer.from([1, 2, 3, 4]).swap32()',
  'Buffer.from([1, 2, 3]).swap16()',
  'Buffer.from([1, 2, 3]).reverse()',
  'Buffer.from([1, 2, 3]).map((n) => n * 100)',
  '(() => { const b = Buffer.alloc(4); return [b.write("é", 1), b] })()',
  '(() => { const b = Buffer.alloc(4); return [b.write("0102", 1, "hex"), b] })()',
  '(() => { const b = Buffer.alloc(2); return [Buffer.from("abc").copy(b, 1, 1), b] })()',
  '[...Buffer.from("ab").entries()]',
  'Buffer.from("ab").equals(Buffer.from([97, 98]))',
  'Buffer.from([1]).readUInt16BE(0)',
  'Buffer.from([1]).readUInt8(1.5)',
  'Buffer.from([1]).readUInt8("0")',
  'Buffer.from([1]).readUInt8(-1)',
  'Buffer.from([1, 2, 3]).readUIntBE(0, 7)',
  'Buffer.alloc(1).writeUInt8(256)',
  'Buffer.alloc(1).writeInt8(-129)',
  'Buffer.alloc(8).writeBigUInt64BE(2n ** 63n)',
]

describe('the Buffer of scripts is as Node’s', () => {
  for (const expression of EXPRESSIONS) it(expression, () => same(expression))

  it('for all numbers in all bytes', () => {
    const reads = [
      'UInt8',
      'Int8',
      ...['UInt16', 'Int16', 'UInt32', 'Int32', 'Float', 'Double', 'BigUInt64', 'BigInt64'].flatMap((one) => [
        `${one}LE`,
        `${one}BE`,
      ]),
    ]
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 12 }), fc.integer({ min: 0, max: 5 }), (bytes, offset) => {
        const list = JSON.stringify([...bytes])
        same(
          `[${reads.map((one) => `(() => { try { return [Buffer.from(${list}).read${one}(${offset})] } catch (e) { return e.name } })()`).join()}]`,
        )
        same(
          `[1, 2, 3, 4, 5, 6].map((n) => { try { const b = Buffer.from(${list}); return [b.readIntLE(${offset}, n), b.readUintBE(${offset}, n)] } catch (e) { return e.name } })`,
        )
      }),
      { numRuns: 50 },
    )
  })

  it('for all numbers that are written', () => {
    const number = fc.oneof(
      fc.integer(),
      fc.integer({ min: -200, max: 300 }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
    )
    fc.assert(
      fc.property(number, (value) => {
        for (const kind of ['UInt8', 'Int8', 'UInt16LE', 'Int16BE', 'UInt32BE', 'Int32LE', 'FloatBE', 'DoubleLE']) {
          same(`(() => { const b = Buffer.alloc(9); return [b.write${kind}(${value}, 1), b] })()`)
        }
        if (Number.isInteger(value))
          same(`(() => { const b = Buffer.alloc(9); return [b.writeIntBE(${value}, 1, 6), b] })()`)
      }),
      { numRuns: 50 },
    )
  })

  it('for all texts and bytes in all encodings', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 12 }), fc.uint8Array({ maxLength: 12 }), (text, bytes) => {
        for (const encoding of ENCODINGS) {
          // The runtimes take the low byte of other characters for a digit.
          const given = /64|hex/.test(encoding) ? text.replaceAll(/\P{ASCII}/gu, '') : text
          same(`Buffer.from(${JSON.stringify(given)}, '${encoding}')`)
          same(`Buffer.from(${JSON.stringify([...bytes])}).toString('${encoding}')`)
        }
      }),
      { numRuns: 200 },
    )
  })

  it('in the engine as well', async () => {
    const script = `function decodeUplink({ bytes }) {
      const all = Buffer.from(bytes)
      return { data: [all.readInt16BE(0), all.toString('hex'), all.slice(1).length, new Buffer('QQ==', 'base64').toString()] }
    }`
    const outcome = await run(script)
    assert.ok(outcome.ok, JSON.stringify(outcome))
    assert.equal(outcome.json, '[258,"0102ff",2,"A"]')
  })
})
