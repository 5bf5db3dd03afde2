import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import type { DiskFile } from '../ports/disk.ts'
import { SimulatedDisk } from '../ports/simulated-disk.testing.ts'
import { Accounts } from './accounts.ts'
import { encodeBranches, readBranch, readBranchPlaces } from './branch-entries.ts'
import { HOLE, SegmentIndex } from './segment-index.ts'

const START_MS = Date.UTC(2026, 0, 1)
const PARTITIONS = 3
const BEFORE = Buffer.from('the rest of the index')

interface Entry {
  readonly partition: number
  readonly branch: number
  readonly isHole: boolean
}

/** An index in which message `n` stands at position `100 * n`, with the time `n` ms. */
function indexOf(entries: readonly Entry[]): SegmentIndex {
  const index = new SegmentIndex(PARTITIONS, START_MS, new Accounts())
  const nextOffset = [7, 2 ** 40, 0]
  for (const [number, { partition, branch, isHole }] of entries.entries()) {
    const offset = nextOffset[partition] as number
    nextOffset[partition] = offset + 1
    index.add(partition, offset, isHole ? HOLE : 100 * number, START_MS + number, branch, 0)
  }
  return index
}

async function fileOf(index: SegmentIndex) {
  const disk = new SimulatedDisk()
  const file = await disk.create('/index')
  await file.write([BEFORE, ...(await encodeBranches(index, async () => {}))], 0)
  return file
}

async function read(file: DiskFile, partition: number, branch: number) {
  const places = await readBranchPlaces(file, BEFORE.length)
  return places && readBranch(file, places, partition, branch)
}

test('whatever an index holds, the entries of each branch are read as they stand in the index', async () => {
  const branch = fc.oneof(fc.constantFrom(0, 1, 2 ** 31, 2 ** 32 - 1), fc.nat(0xffff_ffff))
  const entry = fc.record({ partition: fc.nat(1), branch, isHole: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 100 }), branch, async (entries, other) => {
      const index = indexOf(entries)
      const file = await fileOf(index)
      for (const wanted of new Set([...entries.map((one) => one.branch), other])) {
        for (let partition = 0; partition < PARTITIONS; partition += 1) {
          const nextOffset = [7, 2 ** 40, 0]
          const expected = entries.flatMap((one, number) => {
            const offset = nextOffset[one.partition] as number
            nextOffset[one.partition] = offset + 1
            const isWanted = one.partition === partition && one.branch === wanted && !one.isHole
            return isWanted ? [{ offset, position: 100 * number, ownedAtMs: START_MS + number, account: 0 }] : []
          })
          assert.deepEqual(await read(file, partition, wanted), expected)
        }
      }
    }),
  )
})

test('the event loop turns while a large index is encoded, in the middle of one partition as well', async () => {
  const entries = Array.from({ length: 20_000 }, (_, number) => ({ partition: 0, branch: number, isHole: false }))
  let turns = 0
  const pieces = await encodeBranches(indexOf(entries), async () => void (turns += 1))
  // Three digits of the sort, and five times 4,096 entries.
  assert.equal(turns, 3 + 5)
  assert.equal(pieces.length, 2)
})

test('damaged and missing bytes are told, and never read as other entries', async () => {
  const entries = Array.from({ length: 40 }, (_, number) => ({
    partition: number % 2,
    branch: number % 5,
    isHole: false,
  }))
  const file = await fileOf(indexOf(entries))
  const whole = await read(file, 1, 3)
  assert.equal(whole?.length, 4)
  const size = await file.size()
  let told = 0
  for (let at = BEFORE.length; at < size; at += 1) {
    const byte = Buffer.alloc(1)
    await file.read([byte], at)
    await file.write([Buffer.from([byte[0]! ^ 0x41])], at)
    const found = await read(file, 1, 3)
    if (found === undefined) told += 1
    else assert.deepEqual(found, whole, `byte ${at}`)
    await file.write([byte], at)
  }
  assert.ok(told >= 80, `${told}`)
  await file.truncate(size - 1)
  assert.equal(await read(file, 1, 4), undefined)
  await file.truncate(BEFORE.length)
  assert.equal(await read(file, 1, 3), undefined)
})
