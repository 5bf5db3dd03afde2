import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTestClock, openTestRegistry } from '../../identity/registry.testing.ts'
import { LIBRARY_PROFILE } from '../../identity/devices/library-profile.testing.ts'
import type { CodecFault, Decoded } from '../../lorawan/codecs/codecs.ts'
import { LibraryImport } from './library-import.ts'
import type { LibraryImportOptions } from './library-import.ts'
import { LibraryImports } from './library-imports.ts'
import type { ImportedCollection } from './library-imports.ts'

const BUSY: CodecFault = {
  ok: false,
  code: 'UPLINK_CODEC',
  reason: 'codec_time_used',
  message: 'the time is used',
  line: undefined,
  console: [],
  durationMs: 0,
}
const RIGHT: Decoded = { ok: true, json: '{"a":5}', warnings: [], console: [], durationMs: 0 }

/** Codecs that are busy for the first calls, and then give the published result. */
function codecsAfter(busyCalls: number): NonNullable<LibraryImportOptions['codecs']> {
  let calls = 0
  return {
    decodeUplink: () => {
      calls += 1
      return Promise.resolve(calls > busyCalls ? RIGHT : BUSY)
    },
    encodeDownlink: () => Promise.resolve(BUSY),
  }
}

async function importWith(busyCalls: number) {
  await using opened = await openTestRegistry()
  let rests = 0
  const running = new LibraryImport({
    library: opened.registry.deviceLibrary,
    codecs: codecsAfter(busyCalls),
    clock: createTestClock(),
    actor: { userId: '1', isAdmin: true },
    dryRun: false,
    update: false,
    force: false,
    inTurn: (slice) => slice(),
    rest: () => {
      rests += 1
      return Promise.resolve()
    },
  })
  return { result: await running.take(LIBRARY_PROFILE), rests }
}

test('an import rests while the time of its codecs is used, and then takes the profile', async () => {
  const { result, rests } = await importWith(3)
  assert.deepEqual([result.outcome, rests], ['created', 3])
})

test('an import does not rest for ever: the profile is refused with what the codecs said', async () => {
  const { result, rests } = await importWith(Infinity)
  assert.deepEqual([result.outcome, result.reason, rests], ['refused', 'codec_test_failed', 60])
  assert.match(result.message ?? '', /codec_time_used: the time is used$/)
})

test('one import runs at a time, the next one is told to come again, and a failed one leaves the seat', async () => {
  await using opened = await openTestRegistry()
  const tests = { codecs: undefined, clock: createTestClock() }
  const imports = new LibraryImports(opened.registry, tests, { run: (_payer, slice) => slice() })
  const wishes = { actor: { userId: '1', isAdmin: true }, payer: '', dryRun: false, update: false, force: false }
  const nothing: ImportedCollection = { imported: [], layout: '', problems: [] }
  const work = Promise.withResolvers<ImportedCollection>()
  const first = imports.run(wishes, () => work.promise)
  const busy = { reason: 'library_import_busy', headers: { 'retry-after': '10' } }
  await assert.rejects(
    imports.run(wishes, () => Promise.resolve(nothing)),
    busy,
  )
  work.reject(new Error('it broke off'))
  await assert.rejects(first, { message: 'it broke off' })
  const taken = await imports.run(wishes, async (running) => {
    return { ...nothing, imported: [await running.take(LIBRARY_PROFILE)] }
  })
  assert.equal(taken.createdCount, 1)
  const { items } = await opened.registry.audit.list({ userId: '1', isAdmin: true }, { limit: 10, offset: 0 })
  assert.deepEqual(
    items.flatMap(({ action, detail }) => (action.startsWith('device_library') ? [[action, detail]] : [])),
    [['device_library.imported', { created: 1, changed: 0 }]],
  )
})
