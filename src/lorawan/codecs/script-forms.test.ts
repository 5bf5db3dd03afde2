/** The forms in which device makers write their scripts. Each runs as its maker wrote it. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callOf, load, openEngine, run } from './sandbox.testing.ts'
import { Sandbox } from './sandbox.ts'
import type { ScriptOperation } from './sandbox.ts'
import type { ScriptOutcome } from './script-outcome.ts'

const BODY = '{ return { data: input.bytes.length } }'

/** Each has a decoder that gives the number of bytes, which is 3. */
const DECODERS: readonly (readonly [title: string, script: string])[] = [
  ['Decoder(bytes, port)', 'function Decoder(bytes, port) { return bytes.length + port - 2 }'],
  ['exports.decodeUplink', `exports.decodeUplink = function (input) ${BODY}`],
  ['exports.driver', `exports.driver = { decodeUplink: function (input) ${BODY} }`],
  ['module.exports as an object', `module.exports = { decodeUplink: (input) => (${BODY.slice(9, -2)}) }`],
  ['module.exports with a member', `module.exports.decodeUplink = function (input) ${BODY}`],
  ['a global driver', `var driver = { decodeUplink(input) ${BODY} }`],
  ['a constant driver', `const driver = { Decoder: (bytes) => bytes.length }`],
  [
    'a bundle for any loader',
    `!function (root, make) {
      if (typeof exports === 'object' && typeof module === 'object') module.exports = make()
      else root.driver = make()
    }(this, function () { return { driver: { decodeUplink(input) ${BODY} } } })`,
  ],
  ['a bundle that compilers of modules make', `exports.default = { decodeUplink(input) ${BODY} }`],
  ['export function', `export function decodeUplink(input) ${BODY}`],
  ['export with a list', `const a = (input) => (${BODY.slice(9, -2)})\nexport { a as decodeUplink }`],
  ['export default', `export default { decodeUplink(input) ${BODY} }`],
  ['export with the word in a comment', `// export\nfunction decodeUplink(input) ${BODY}`],
  [
    'with methods that use each other',
    `exports.decodeUplink = function (i) { return this.f(i) }; exports.f = (input) => (${BODY.slice(9, -2)})`,
  ],
]

const ENCODERS: readonly (readonly [title: string, script: string, result: object])[] = [
  ['Encoder(object, port)', 'function Encoder(object, port) { return [object.level, port] }', { bytes: [5, 7] }],
  [
    'encodeDownlink, with the port of the command',
    'function encodeDownlink(input) { return { bytes: [input.data.level], fPort: input.fPort } }',
    { bytes: [5], fPort: 7 },
  ],
  [
    'driver.encodeDownlink',
    'var driver = { encodeDownlink: (input) => ({ bytes: [input.data.level], fPort: 9 }) }',
    { bytes: [5], fPort: 9 },
  ],
]

async function valueOf(script: string, operation: ScriptOperation = 'decodeUplink', given = {}): Promise<unknown> {
  const outcome = await run(script, operation, given)
  assert.ok(outcome.ok, JSON.stringify(outcome))
  return JSON.parse(outcome.json)
}

describe('a device maker’s decoder', () => {
  for (const [title, script] of DECODERS) {
    it(`is found as ${title}`, async () => assert.equal(await valueOf(script), 3))
  }

  it('that is a module and does not parse tells its own line', async () => {
    const outcome = await run('export function decodeUplink(input) {\n  return {{ } }\n}')
    assert.ok(!outcome.ok)
    assert.deepEqual([outcome.code, outcome.line], ['script_exception', 2])
  })

  it('that is a module passes the check of its text', async () => {
    const loaded = await load('')
    assert.ok(loaded.ok)
    const check = (input: string) => loaded.sandbox.call({ operation: 'parse', input }).ok
    assert.deepEqual(['export const a = 1', 'export const = 1', 'const a = 1', 'const = 1'].map(check), [
      true,
      false,
      true,
      false,
    ])
  })

  it('whose exports throw or never end is stopped', async () => {
    const throws = await run('module.exports = { get decodeUplink() { throw new Error("no") } }')
    assert.deepEqual([throws.ok, !throws.ok && throws.code], [false, 'script_exception'])
    let nowMs = 0
    const look = (): number => (nowMs += 0.01)
    const clock = { elapsedMs: look, processorMs: look }
    for (const script of [
      'exports.driver = new Proxy({}, { get() { for (;;); } })',
      'export const a = (() => { for (;;); })()',
      'Object.defineProperty(globalThis, "driver", { get() { for (;;); } })',
    ]) {
      const loaded = await load(script, clock)
      assert.deepEqual([loaded.ok, !loaded.ok && loaded.code], [false, 'time_exceeded'], script)
    }
  })

  it('finds nothing of what another one exported, and no Buffer of another one', async () => {
    const engine = await openEngine()
    const texts = [
      'exports.decodeUplink = () => ({ data: (Buffer.left = 1) }); globalThis.driver = exports',
      'function Decode() { return [typeof exports, typeof driver, typeof module, typeof this["Buf" + "fer"]] } // module',
      'function Decode() { return typeof Buffer.left }',
    ]
    const sandboxes = texts.map((text) => {
      const loaded = Sandbox.load(engine, text)
      assert.ok(loaded.ok)
      return loaded.sandbox
    })
    for (let round = 0; round < 2; round += 1) {
      const results = sandboxes.map((one) => {
        const outcome: ScriptOutcome = one.call(callOf('decodeUplink'))
        return outcome.ok ? JSON.parse(outcome.json) : outcome.code
      })
      assert.deepEqual(results, [1, ['object', 'undefined', 'object', 'undefined'], 'undefined'])
    }
  })
})

describe('a device maker’s encoder', () => {
  for (const [title, script, result] of ENCODERS) {
    it(`is found as ${title}`, async () => {
      assert.deepEqual(await valueOf(script, 'encodeDownlink', { fPort: 7, object: { level: 5 } }), result)
    })
  }

  it('is given no port where the command names none', async () => {
    const script = 'function encodeDownlink(input) { return { bytes: ["fPort" in input ? 1 : 0] } }'
    assert.deepEqual(await valueOf(script, 'encodeDownlink', { fPort: 0 }), { bytes: [0] })
  })
})

describe('normalizeUplink', () => {
  const decoder = 'function decodeUplink() { return { data: { t: 1 }, warnings: ["a"] } }\n'

  it('gives the normalized object beside the decoded one, with its warnings', async () => {
    const script = `${decoder}function normalizeUplink({ data, fPort }) {
      data.changed = true
      return { data: [{ air: { temperature: data.t } }, fPort], warnings: ['b'] }
    }`
    assert.deepEqual(await run(script), {
      ok: true,
      json: '{"t":1}',
      normalizedJson: '[{"air":{"temperature":1}},2]',
      warnings: ['a', 'b'],
      console: [],
    })
  })

  for (const [title, body, warning] of [
    ['throws', 'throw new Error("no")', 'normalizeUplink: Error: no'],
    ['gives errors', 'return { data: {}, errors: ["no", "never"] }', 'normalizeUplink: no; never'],
    ['gives nothing', '', 'normalizeUplink: it gave no data, or too much'],
    ['gives too much', 'return { data: "x".repeat(40000) }', 'normalizeUplink: it gave no data, or too much'],
  ] as const) {
    it(`that ${title} costs the decoded object nothing, and warns`, async () => {
      const outcome = await run(`${decoder}function normalizeUplink() { ${body} }`)
      assert.deepEqual(outcome, { ok: true, json: '{"t":1}', warnings: ['a', warning], console: [] })
    })
  }

  it('is not called for downlinks', async () => {
    const script = 'function decodeDownlink() { return { data: 1 } } function normalizeUplink() { return { data: 2 } }'
    const outcome = await run(script, 'decodeDownlink')
    assert.ok(outcome.ok && outcome.normalizedJson === undefined)
  })
})
