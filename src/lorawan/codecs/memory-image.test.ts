import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { BaseImage, unusedStack } from './memory-image.ts'
import { callOf, load } from './sandbox.testing.ts'

const MiB = 1024 * 1024

/**
 * A memory with tables at the bottom, a stack of 5 MiB that is used at its top, and a heap behind
 * it.
 */
function engineLike(): { readonly memory: WebAssembly.Memory; readonly bytes: Uint8Array } {
  const memory = new WebAssembly.Memory({ initial: 256, maximum: 256 })
  const bytes = new Uint8Array(memory.buffer)
  bytes.fill(1, 0, 100_000)
  bytes.fill(2, 5 * MiB - 5_000, 5 * MiB + 50_000)
  return { memory, bytes }
}

describe('the image of an engine’s memory', () => {
  it('puts back all that was there, and zeros behind the tables as well', () => {
    const { memory, bytes } = engineLike()
    const unused = unusedStack(memory)
    const image = new BaseImage(memory, unused).takeScriptImage()
    const before = bytes.slice()
    bytes.fill(9, 0, 150_000)
    bytes.fill(9, 5 * MiB - 4_000, 5 * MiB + 50_000)
    image.restore(false)
    assert.ok(Buffer.from(bytes).equals(before))
  })

  it('holds what is in use, not the stack that never was', () => {
    const { memory } = engineLike()
    const image = new BaseImage(memory, unusedStack(memory))
    assert.ok(image.size > 150_000 && image.size < 300_000, `${image.size} bytes`)
  })

  it('is not misled by a script that makes a larger hole than the stack', () => {
    const { memory, bytes } = engineLike()
    const unused = unusedStack(memory)
    // Six MiB of zeros in the heap, and a byte behind them.
    bytes[12 * MiB] = 7
    const image = new BaseImage(memory, unused).takeScriptImage()
    bytes[8 * MiB] = 9
    image.restore(false)
    assert.equal(bytes[8 * MiB], 0)
  })

  it('is of all memory where there is no such stack', () => {
    const memory = new WebAssembly.Memory({ initial: 16, maximum: 16 })
    const bytes = new Uint8Array(memory.buffer)
    bytes[0] = 1
    bytes[900_000] = 2
    const image = new BaseImage(memory, unusedStack(memory)).takeScriptImage()
    bytes[450_000] = 3
    image.restore(false)
    assert.equal(bytes[450_000], 0)
  })
})

describe('the image of a script', () => {
  it('puts back its own bytes and those of the base image, wherever they lie', () => {
    const { memory, bytes } = engineLike()
    const base = new BaseImage(memory, unusedStack(memory))
    const empty = bytes.slice()
    const states = [
      // At the very beginning and end of the tables, across two blocks, and behind the base image.
      [
        [0, 10],
        [99_990, 100_010],
        [5 * MiB + 4_000, 5 * MiB + 4_200],
        [5 * MiB + 60_000, 5 * MiB + 90_001],
      ],
      [
        [40_000, 60_000],
        [5 * MiB - 4_999, 5 * MiB - 4_000],
        [5 * MiB + 49_999, 5 * MiB + 50_001],
      ],
      [],
    ] as const
    const scripts = states.map((spans, n) => {
      base.restoreAll()
      for (const [start, end] of spans) bytes.fill(10 + n, start, end)
      return { image: base.takeScriptImage(), before: bytes.slice() }
    })
    for (const { image, before } of [...scripts, ...scripts.toReversed()]) {
      image.restore(true)
      assert.ok(Buffer.from(bytes).equals(before))
      for (const at of [0, 50_000, 99_999, 5 * MiB - 4_500, 5 * MiB + 4_100, 5 * MiB + 50_000]) bytes[at] = 99
      image.restore(false)
      assert.ok(Buffer.from(bytes).equals(before))
    }
    base.restoreAll()
    assert.ok(Buffer.from(bytes).equals(empty))
  })

  it('gives its memory back at once when it is released', () => {
    const { memory, bytes } = engineLike()
    const base = new BaseImage(memory, unusedStack(memory))
    bytes.fill(3, 0, 9_000)
    bytes.fill(3, 6 * MiB, 6 * MiB + 10)
    const image = base.takeScriptImage()
    assert.ok(image.size > 9_000)
    image.release()
    assert.equal(image.size, 0)
  })
})

describe('the memory of a real engine', () => {
  it('is the same before each call, and hostile scripts never reach what is left out of the image', async (context) => {
    const memories: WebAssembly.Memory[] = []
    const { Memory } = WebAssembly
    context.mock.method(WebAssembly, 'Memory', function make(size: ConstructorParameters<typeof Memory>[0]) {
      const made = new Memory(size)
      memories.push(made)
      return made
    })
    const script = `var n = 0
      function Decode(how) {
        n++; Array.prototype.mine = n
        if (how === 1) for (;;);
        if (how === 2) { var a = []; for (;;) a.push(new Array(99).fill({})) }
        if (how === 3) return Decode(3)
        if (how === 4) return /^(a+)+$/.test('a'.repeat(40) + 'b')
        if (how === 5) return JSON.stringify(Array.from({ length: 9999 }, (_, i) => [i]).sort((x, y) => y - x))
        return n
      }`
    const loaded = await load(script)
    assert.ok(loaded.ok)
    const [memory] = memories
    assert.ok(memory !== undefined)
    const bytes = Buffer.from(memory.buffer)
    const unused = unusedStack(memory)
    const inUse = bytes.findLastIndex((byte) => byte !== 0)
    const before = Buffer.from(bytes)
    for (const fPort of [1, 2, 3, 4, 5, 6]) {
      loaded.sandbox.call(callOf('decodeUplink', { fPort }))
      // A script may use 256 KiB of the stack, and the engine's own functions some more. Nothing is
      // written below that.
      const lowest = bytes.subarray(unused.start, unused.end - MiB).findIndex((byte) => byte !== 0)
      assert.equal(lowest, -1, `call ${fPort} wrote into the stack that no script may reach`)
    }
    loaded.sandbox.restore()
    assert.ok(bytes.subarray(0, unused.start).equals(before.subarray(0, unused.start)))
    assert.ok(bytes.subarray(unused.end, inUse + 1).equals(before.subarray(unused.end, inUse + 1)))
  })
})
