import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProfileLimits } from './profile-limits.ts'
import type { StateLimits } from './profile-limits.ts'

const [ONE, TWO] = ['0101010101010101', '0202020202020202']

/** Limits of the profile of device `ONE`; `TWO` has no profile. */
function limitsOf(limits: StateLimits, asked: string[] = []): ProfileLimits {
  return new ProfileLimits({
    profileIdOf: (devEui) => (devEui === ONE ? 'p' : Promise.resolve(undefined)),
    limitsOf: async (profileId) => {
      asked.push(profileId)
      return limits
    },
  })
}

const at = { lastSeenAtMs: 1 }

test("the interval of the profile goes before the learned one, for the profile's devices alone", async () => {
  const limits = limitsOf({ expectedIntervalSeconds: 3_600, batteryLimitPercent: null, marginLimitDb: null })
  assert.equal(await limits.expectedIntervalSecondsOf(ONE), 3_600)
  assert.equal(await limits.expectedIntervalSecondsOf(TWO), undefined)
  const seen = [
    { devEui: ONE, intervalSeconds: 600, batteryLevel: 15, lowBattery: true, ...at },
    { devEui: TWO, intervalSeconds: 600, ...at },
  ]
  assert.deepEqual(await limits.applyTo(seen), [{ ...seen[0], intervalSeconds: 3_600 }, seen[1]])
})

test('a profile that expects no interval leaves the learned one', async () => {
  const limits = limitsOf({ expectedIntervalSeconds: 0, batteryLimitPercent: null, marginLimitDb: null })
  assert.equal(await limits.expectedIntervalSecondsOf(ONE), undefined)
  const seen = [{ devEui: ONE, intervalSeconds: 600, ...at }]
  assert.deepEqual(await limits.applyTo(seen), seen)
})

async function flagsWith(batteryLimitPercent: number, ...levels: readonly number[]) {
  const limits = limitsOf({ expectedIntervalSeconds: 0, batteryLimitPercent, marginLimitDb: null })
  const seen = levels.map((batteryLevel) => ({ devEui: ONE, batteryLevel, lowBattery: batteryLevel < 20 }))
  return (await limits.applyTo(seen)).map(({ lowBattery }) => lowBattery)
}

test('a battery is low below the limit of the profile, until it has 5 percent more', async () => {
  assert.deepEqual(await flagsWith(40, 15, 39.9, 40, 44, 45), [true, true, undefined, undefined, false])
  assert.deepEqual(await flagsWith(5, 4, 15), [true, false])
  assert.deepEqual(await flagsWith(100, 99, 100), [true, false])
  assert.deepEqual(await flagsWith(0, 0), [undefined])
})

test('external power stays as it was told, and a sighting without a level tells no battery', async () => {
  const limits = limitsOf({ expectedIntervalSeconds: 0, batteryLimitPercent: 40, marginLimitDb: null })
  const seen = [
    { devEui: ONE, batteryLevel: 10, externalPowerSource: true, lowBattery: false, ...at },
    { devEui: ONE, ...at },
  ]
  assert.deepEqual(await limits.applyTo(seen), seen)
})

test('a signal is weak below the margin of the profile, until it is 3 dB better', async () => {
  const flagsAt = async (marginLimitDb: number, ...margins: readonly number[]) => {
    const limits = limitsOf({ expectedIntervalSeconds: 0, batteryLimitPercent: null, marginLimitDb })
    const seen = margins.map((marginDb) => ({ devEui: ONE, marginDb, weakSignal: marginDb < 5 }))
    return (await limits.applyTo(seen)).map(({ weakSignal }) => weakSignal)
  }
  assert.deepEqual(await flagsAt(10, 9.9, 10, 12.9, 13), [true, undefined, undefined, false])
  assert.deepEqual(await flagsAt(-3, -4, 2), [true, false])
  const limits = limitsOf({ expectedIntervalSeconds: 0, batteryLimitPercent: null, marginLimitDb: 10 })
  // An uplink without a spreading factor has no margin: nothing is told.
  assert.deepEqual(await limits.applyTo([{ devEui: ONE, snr: 2, ...at }]), [{ devEui: ONE, snr: 2, ...at }])
})

test('a profile is asked for once, until it changes', async () => {
  const asked: string[] = []
  const limits = limitsOf({ expectedIntervalSeconds: 60, batteryLimitPercent: null, marginLimitDb: null }, asked)
  await limits.expectedIntervalSecondsOf(ONE)
  await limits.expectedIntervalSecondsOf(ONE)
  assert.equal(asked.length, 1)
  limits.memory.forget('p')
  await limits.expectedIntervalSecondsOf(ONE)
  assert.equal(asked.length, 2)
})
