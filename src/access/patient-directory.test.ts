import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RegistryUnavailableError } from '../identity/store/registry-unavailable.ts'
import { patientDirectory } from './patient-directory.ts'

const PLACE = { applicationId: '1', organizationId: '2', isDisabled: false, hasTags: false }

/** A directory that gives these answers to questions for devices, one after the other. */
function directoryOf(...answers: readonly (() => unknown)[]) {
  const left = [...answers]
  const waits: number[] = []
  const asked = {
    applicationsOf: () => new Set<string>(),
    organizationOf: () => undefined,
    device: () => left.shift()?.() as typeof PLACE,
    devicesVersion: {},
  }
  const directory = patientDirectory(asked, (ms) => Promise.resolve(waits.push(ms)))
  return { directory, left, waits }
}

const away = (): Promise<never> => Promise.reject(new RegistryUnavailableError('away'))

test('an answer at hand is given at once', () => {
  assert.equal(directoryOf(() => PLACE).directory.device('a'), PLACE)
})

test('a question is asked again while the database is away', async () => {
  const { directory, waits } = directoryOf(away, away, () => Promise.resolve(PLACE))
  assert.equal(await directory.device('a'), PLACE)
  assert.deepEqual(waits, [250, 250])
})

test('a question is given up after 20 seconds', async () => {
  const { directory, waits } = directoryOf(...Array.from({ length: 1_000 }, () => away))
  await assert.rejects(Promise.resolve(directory.device('a')), { code: 'registry_unavailable' })
  assert.equal(
    waits.reduce((sum, ms) => sum + ms, 0),
    19_750,
  )
})

test('another fault is told at once', async () => {
  const { directory, left } = directoryOf(
    () => Promise.reject(new Error('disk')),
    () => PLACE,
  )
  await assert.rejects(Promise.resolve(directory.device('a')), /disk/)
  assert.equal(left.length, 1)
})
