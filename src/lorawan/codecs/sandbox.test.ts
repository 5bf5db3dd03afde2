import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Sandbox } from './sandbox.ts'
import { callOf, load, openEngine, run } from './sandbox.testing.ts'
import type { ScriptOperation } from './sandbox.ts'
import type { EngineClock } from './script-engine.ts'
import type { ScriptFaultCode, ScriptOutcome } from './script-outcome.ts'

async function valueOf(...given: Parameters<typeof run>): Promise<unknown> {
  const outcome = await run(...given)
  assert.ok(outcome.ok, JSON.stringify(outcome))
  return JSON.parse(outcome.json)
}

/** A clock that reaches the end of a script's time after a few thousand looks, on any machine. */
function createSlowClock(): EngineClock {
  let nowMs = 0
  const look = (): number => (nowMs += 0.01)
  return { elapsedMs: look, processorMs: look }
}

describe('a script', () => {
  it('with Decode is given the port, the bytes and the variables', async () => {
    const given = { fPort: 7, bytes: [1, 255], variables: { offset: '3' } }
    const script = 'function Decode(fPort, bytes, variables) { return { fPort, bytes, variables } }'
    assert.deepEqual(await valueOf(script, 'decodeUplink', given), given)
  })

  it('with Encode is given the port, the object and the variables', async () => {
    const script = 'function Encode(fPort, obj, variables) { return [fPort, obj.level, Number(variables.offset)] }'
    const given = { fPort: 7, object: { level: 5 }, variables: { offset: '3' } }
    assert.deepEqual(await valueOf(script, 'encodeDownlink', given), { bytes: [7, 5, 3] })
  })

  it('by TS013 is given one input, with the time as a Date', async () => {
    const script = `function decodeUplink(input) {
      return { data: { ...input, year: input.recvTime.getUTCFullYear() }, warnings: ['low battery'] }
    }`
    const outcome = await run(script, 'decodeUplink', { variables: { a: 'b' } })
    assert.ok(outcome.ok)
    assert.deepEqual(JSON.parse(outcome.json), {
      bytes: [1, 2, 255],
      fPort: 2,
      recvTime: '2023-11-14T22:13:20.000Z',
      variables: { a: 'b' },
      year: 2023,
    })
    assert.deepEqual(outcome.warnings, ['low battery'])
  })

  it('by TS013 may choose the port of a downlink', async () => {
    const script = 'const encodeDownlink = ({ data }) => ({ bytes: new Uint8Array([data.a]), fPort: 9, warnings: [] })'
    assert.deepEqual(await valueOf(script, 'encodeDownlink', { object: { a: 4 } }), { bytes: [4], fPort: 9 })
  })

  it('by TS013 decodes downlinks', async () => {
    const script = 'function decodeDownlink({ bytes, fPort }) { return { data: { first: bytes[0], fPort } } }'
    assert.deepEqual(await valueOf(script, 'decodeDownlink'), { first: 1, fPort: 2 })
  })

  it('with both signatures is called by the newer one', async () => {
    const script = 'function Decode() { return "old" }\nfunction decodeUplink() { return { data: "new" } }'
    assert.equal(await valueOf(script), 'new')
  })

  it('may give anything that JSON has', async () => {
    for (const value of [
      null,
      false,
      0,
      '',
      [],
      [1, { a: null }],
      'ünï \ud83d\ude00',
      { '': 1, nested: { b: [2] } },
      1e21,
    ]) {
      assert.deepEqual(await valueOf(`function Decode() { return ${JSON.stringify(value)} }`), value)
    }
  })

  it('that makers ship as a module for Node works as well', async () => {
    const script = `function decodeUplink(i) { return { data: i.fPort } }
      if (typeof module !== 'undefined') module.exports = { decodeUplink }`
    assert.equal(await valueOf(script), 2)
  })

  it('writes to a console of its own, within bounds', async () => {
    const script = `function Decode() {
      console.log('a', 1, { b: [2] }); console.error(undefined); console.warn('x'.repeat(10000))
      for (let i = 0; i < 1000; i++) console.info(i)
      return 1
    }`
    const outcome = await run(script)
    assert.deepEqual(outcome.console.slice(0, 2), ['a 1 {"b":[2]}', 'undefined'])
    assert.equal(outcome.console[2]?.length, 501)
    assert.equal(outcome.console.length, 100)
  })

  it('tells what it wrote before it failed', async () => {
    const outcome = await run('function Decode() { console.log("here"); throw new Error("no") }')
    assert.deepEqual(outcome.console, ['here'])
  })
})

describe('a script fails', () => {
  const failures: readonly (readonly [
    title: string,
    script: string,
    code: ScriptFaultCode,
    message: RegExp,
    line?: number | undefined,
    operation?: ScriptOperation,
  ])[] = [
    [
      'with its exception and line',
      'function Decode() {\n\n  throw new TypeError("boo") }',
      'script_exception',
      /^TypeError: boo$/,
      3,
    ],
    ['that is no JavaScript, with the line', 'var a\nfunction (', 'script_exception', /^SyntaxError: /, 2],
    ['while it is loaded', '\n\nnotThere()', 'script_exception', /^ReferenceError: notThere is not defined$/, 3],
    ['with a string that it throws', 'function Decode() { throw "plain" }', 'script_exception', /^plain$/],
    ['with an object that it throws', 'function Decode() { throw { a: 1 } }', 'script_exception', /^\{"a":1\}$/],
    [
      'with the errors of TS013',
      'function decodeUplink() { return { errors: ["bad", "worse"] } }',
      'script_errors',
      /^bad; worse$/,
    ],
    ['without a function to decode', 'var x = 1', 'function_missing', /decodeUplink or Decode or Decoder$/],
    [
      'without a function to encode',
      'function Decode() {}',
      'function_missing',
      /encodeDownlink or Encode or Encoder$/,
      undefined,
      'encodeDownlink',
    ],
    ['that gives nothing', 'function Decode() {}', 'result_invalid', /JSON/],
    ['that gives a function', 'function Decode() { return Decode }', 'result_invalid', /JSON/],
    [
      'by TS013 that gives no data',
      'function decodeUplink() { return {} }',
      'result_invalid',
      /neither data nor errors/,
    ],
    ['by TS013 that gives no object', 'function decodeUplink() { return 5 }', 'result_invalid', /must give an object/],
    [
      'with an object that contains itself',
      'function Decode() { var a = {}; a.a = a; return a }',
      'script_exception',
      /circular/,
    ],
    ['that is asynchronous', 'async function Decode() { return 1 }', 'promise_returned', /promise/],
    [
      'that encodes to text',
      'function Encode() { return "AQ==" }',
      'result_invalid',
      /array of bytes/,
      undefined,
      'encodeDownlink',
    ],
    [
      'that encodes to a byte of 300',
      'function Encode() { return [1, 300] }',
      'result_invalid',
      /^byte 1: 300 /,
      undefined,
      'encodeDownlink',
    ],
    [
      'that encodes to half a byte',
      'function Encode() { return [0.5] }',
      'result_invalid',
      /^byte 0: 0\.5 /,
      undefined,
      'encodeDownlink',
    ],
    [
      'that encodes to a hole',
      'function Encode() { return [1, , 2] }',
      'result_invalid',
      /^byte 1: undefined /,
      undefined,
      'encodeDownlink',
    ],
  ]
  for (const [title, script, code, message, line, operation] of failures) {
    it(title, async () => {
      const outcome = await run(script, operation)
      assert.ok(!outcome.ok)
      assert.equal(outcome.code, code)
      assert.match(outcome.message, message)
      if (line !== undefined) assert.equal(outcome.line, line)
    })
  }
})

describe('a hostile script', () => {
  const attacks: readonly (readonly [title: string, script: string, code: ScriptFaultCode])[] = [
    ['that never ends', 'function Decode() { for (;;); }', 'time_exceeded'],
    ['that never ends while it is loaded', 'for (;;);', 'time_exceeded'],
    [
      'that catches its own end',
      'function Decode() { for (;;) { try { for (;;); } catch {} finally { for (;;); } } }',
      'time_exceeded',
    ],
    ['that makes an array of 1 GB', 'function Decode() { return new Array(1e9).fill(7).length }', 'memory_exceeded'],
    ['that makes a buffer of 1 GB', 'function Decode() { return new Uint8Array(1e9).length }', 'memory_exceeded'],
    ['that makes a text of 500 MB', 'function Decode() { return "x".repeat(5e8).length }', 'memory_exceeded'],
    [
      'that keeps what it makes',
      'function Decode() { var a = []; for (;;) a.push(new Array(99).fill({})) }',
      'memory_exceeded',
    ],
    ['that keeps 5 MB once loaded', 'var a = new Uint8Array(5e6); function Decode() { return 1 }', 'memory_exceeded'],
    ['that calls itself without end', 'function Decode() { return Decode() }', 'stack_exceeded'],
    [
      'that asks a proxy of itself',
      'function Decode() { var p = new Proxy({}, { get: (t, k) => p[k] }); return p.x }',
      'stack_exceeded',
    ],
    ['that parses 100,000 levels', 'function Decode() { return JSON.parse("[".repeat(1e5)) }', 'stack_exceeded'],
    ['that evaluates 30,000 parentheses', 'function Decode() { return eval("(".repeat(3e4)) }', 'stack_exceeded'],
    [
      'that gives 50 levels',
      'function Decode() { var o = {}; for (var i = 0; i < 50; i++) o = { o }; return o }',
      'output_too_deep',
    ],
    ['that gives 1 MB', 'function Decode() { return "x".repeat(1e6) }', 'output_too_large'],
    [
      'whose regular expression tracks back',
      'function Decode() { return /^(a+)+$/.test("a".repeat(40) + "b") }',
      'time_exceeded',
    ],
    ['whose getter throws', 'function Decode() { return { get a() { throw new Error("g") } } }', 'script_exception'],
    ['whose getter never ends', 'function Decode() { return { get a() { for (;;); } } }', 'time_exceeded'],
    ['whose toJSON never ends', 'function Decode() { return { toJSON() { for (;;); } } }', 'time_exceeded'],
    [
      'whose exception has getters that never end',
      'function Decode() { throw { get message() { for (;;); } } }',
      'time_exceeded',
    ],
    [
      'whose exception has getters that throw',
      'function Decode() { throw { get message() { throw this } } }',
      'script_exception',
    ],
    [
      'that asks for process by a constructor',
      'function Decode() { return constructor.constructor("return process")() }',
      'script_exception',
    ],
    [
      'that imports',
      'async function f() { await import("node:fs") }\nfunction Decode() { return f() }',
      'promise_returned',
    ],
    [
      'that replaces what its result is written with',
      'JSON.stringify = () => "{"; Promise = 0\nfunction Decode() { return 1 }',
      'script_exception',
    ],
  ]
  for (const [title, script, code] of attacks) {
    it(`${title} is stopped: ${code}`, async () => {
      // A script that is stopped for another reason may take longer than its time on a slow
      // machine.
      const loaded = code === 'time_exceeded' ? await load(script) : await load(script, createSlowClock())
      const outcome = loaded.ok ? loaded.sandbox.call(callOf('decodeUplink')) : loaded
      assert.ok(!outcome.ok, JSON.stringify(outcome).slice(0, 200))
      assert.equal(outcome.code, code, outcome.message)
    })
  }

  it('finds nothing of the host among its globals', async () => {
    const script = `function Decode() {
      const all = Function('return this')()
      return ['process', 'require', 'mod' + 'ule', 'fetch', 'Worker', 'WebAssembly', 'Buf' + 'fer', 'setTimeout', 'std', 'os', 'print']
        .filter((name) => typeof all[name] !== 'undefined')
    }`
    assert.deepEqual(await valueOf(script), [])
  })

  it('changes nothing for its next call, neither globals nor built-in objects nor buffers', async () => {
    const script = `var calls = 0, kept = new Uint8Array(1_000_000), closure = (() => { let n = 0; return () => ++n })()
      function Decode() {
        calls++; kept[500_000]++
        Object.prototype.polluted = (Object.prototype.polluted ?? 0) + 1
        Array.prototype.map = () => 'evil'
        const seen = [calls, kept[500_000], {}.polluted, closure(), typeof Decode]
        Decode = undefined; delete globalThis.console; JSON.parse = undefined
        return seen
      }`
    const loaded = await load(script)
    assert.ok(loaded.ok)
    for (let call = 0; call < 5; call += 1) {
      const outcome: ScriptOutcome = loaded.sandbox.call(callOf('decodeUplink'))
      assert.ok(outcome.ok)
      assert.equal(outcome.json, '[1,1,1,1,"function"]')
    }
  })

  it('changes nothing for its next call by failing in any way', async () => {
    const script = `var n = 0
      function Decode(how) {
        n++
        if (how === 1) for (;;);
        if (how === 2) { var a = []; for (;;) a.push(new Array(99).fill({})) }
        if (how === 3) return Decode(3)
        if (how === 4) throw new Error('x'.repeat(1e6))
        if (how === 5) return /^(a+)+$/.test('a'.repeat(40) + 'b')
        return n
      }`
    const loaded = await load(script)
    assert.ok(loaded.ok)
    for (const fPort of [1, 2, 3, 4, 5]) {
      assert.ok(!loaded.sandbox.call(callOf('decodeUplink', { fPort })).ok)
      assert.equal(loaded.engine.isBroken, false)
      const after = loaded.sandbox.call(callOf('decodeUplink', { fPort: 9 }))
      assert.ok(after.ok)
      assert.equal(after.json, '1')
    }
  })

  it('is given its time on the processor, not the time for which its process had to wait', async () => {
    let elapsedMs = 0
    let processorMs = 0
    // Each look at the clock finds 50 ms gone; the process was on a processor for 2 of them.
    const waiting = { elapsedMs: () => (elapsedMs += 50), processorMs: () => (processorMs += 2) }
    const busy = 'function Decode(rounds) { for (let i = 0; i < rounds * 1000; i++); return 1 }'
    const loaded = await load(busy, waiting)
    assert.ok(loaded.ok)
    elapsedMs = 0
    assert.ok(loaded.sandbox.call(callOf('decodeUplink', { fPort: 20 })).ok)
    assert.ok(elapsedMs > 100 && processorMs < 100, `${elapsedMs} ms passed, ${processorMs} ms were its own`)
    elapsedMs = 0
    assert.ok(!loaded.sandbox.call(callOf('decodeUplink', { fPort: 255 })).ok)
    assert.ok(elapsedMs >= 400 && elapsedMs <= 600, `it is stopped after ${elapsedMs} ms all the same`)
  })
})

async function loadBoth(one: string, other: string) {
  const engine = await openEngine()
  const first = Sandbox.load(engine, one)
  const second = Sandbox.load(engine, other)
  assert.ok(first.ok && second.ok)
  return { engine, first: first.sandbox, second: second.sandbox }
}

function resultOf(outcome: ScriptOutcome): unknown {
  return outcome.ok ? JSON.parse(outcome.json) : outcome.code
}

describe('scripts of different tenants in one engine', () => {
  it('see nothing of each other: no globals, no changed built-in objects, no functions', async () => {
    const writes = `var secret = 'of one'
      Object.prototype.polluted = secret; Array.prototype.map = () => secret; JSON.parse = () => secret
      function Decode() { globalThis.left = secret; Array.prototype.left = secret; return secret }`
    const reads = `function Decode() {
      return [typeof secret, typeof left, {}.polluted ?? null, [].left ?? null, [1].map((n) => n + 1), JSON.parse('1')]
    }`
    const { first, second } = await loadBoth(writes, reads)
    for (let round = 0; round < 3; round += 1) {
      assert.equal(resultOf(first.call(callOf('decodeUplink'))), 'of one')
      assert.deepEqual(resultOf(second.call(callOf('decodeUplink'))), ['undefined', 'undefined', null, null, [2], 1])
    }
  })

  it('find no byte of each other in memory that they have not written', async () => {
    const writes = `function Decode() { var all = []; for (var i = 0; i < 60; i++) all.push(new Uint8Array(100_000).fill(77)); return all.length }`
    const reads = `function Decode() {
      var found = 0
      for (var i = 0; i < 60; i++) { var bytes = new Uint8Array(100_000); for (var j = 0; j < bytes.length; j += 997) found += bytes[j] }
      return found
    }`
    const { first, second } = await loadBoth(writes, reads)
    assert.equal(resultOf(first.call(callOf('decodeUplink'))), 60)
    assert.equal(resultOf(second.call(callOf('decodeUplink'))), 0)
  })

  it('are not charged for what another has left in the memory', async () => {
    const engine = await openEngine()
    const small = 'function Decode() { return 1 }'
    const before = Sandbox.load(engine, small)
    // A last byte far behind everything else, with zeros before it.
    const leaves = Sandbox.load(engine, 'function Decode() { new Uint8Array(7_000_000)[6_999_999] = 1; return 1 }')
    assert.ok(before.ok && leaves.ok)
    assert.equal(resultOf(leaves.sandbox.call(callOf('decodeUplink'))), 1)
    const after = Sandbox.load(engine, small)
    assert.ok(after.ok)
    assert.equal(after.sandbox.size, before.sandbox.size)
  })

  it('stay loaded when one of them uses up the stack of the process', async () => {
    const deep = `function Decode(how) { if (how === 1) return JSON.parse('['.repeat(1e6)); if (how === 2) return Decode(2); return eval('('.repeat(1e5)) }`
    const { engine, first, second } = await loadBoth(deep, 'var n = 0; function Decode() { return ++n }')
    for (let round = 0; round < 200; round += 1) {
      assert.equal(first.call(callOf('decodeUplink', { fPort: (round % 3) + 1 })).ok, false)
      assert.equal(engine.isBroken, false)
      assert.equal(resultOf(second.call(callOf('decodeUplink'))), 1)
    }
  })

  it('take some ten or hundred KB each, not an engine', async () => {
    const loaded = await load('function Decode(fPort, bytes) { return bytes.length }')
    assert.ok(loaded.ok)
    assert.ok(loaded.sandbox.size < 200_000, `${loaded.sandbox.size} bytes`)
  })
})
