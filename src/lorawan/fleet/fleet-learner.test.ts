import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FleetLearner } from './fleet-learner.ts'

const [ONE, TWO, THREE] = ['0101010101010101', '0202020202020202', '0303030303030303']

function hear(learner: FleetLearner, devEui: string, fCnt: number) {
  const lastSeenAtMs = 1_767_225_600_000 + fCnt * 600_000
  return learner.learn(devEui, 'up', Buffer.from(JSON.stringify({ fCnt })), { lastSeenAtMs })
}

function hearAll(learner: FleetLearner, devEui: string, from: number, to: number) {
  for (let fCnt = from; fCnt < to; fCnt += 1) hear(learner, devEui, fCnt)
  return hear(learner, devEui, to)
}

test('a battery is low below 20 percent, until it has 25, or external power', () => {
  const learner = new FleetLearner()
  const of = (batteryLevel?: number, externalPowerSource?: boolean) => {
    const told = {
      lastSeenAtMs: 1,
      ...(batteryLevel === undefined ? {} : { batteryLevel }),
      ...(externalPowerSource === undefined ? {} : { externalPowerSource }),
    }
    return learner.learn(ONE, 'status', Buffer.alloc(0), told).lowBattery
  }
  assert.deepEqual(
    [of(19.9), of(20), of(24), of(25), of(), of(undefined, true)],
    [true, undefined, undefined, false, undefined, false],
  )
})

test('nothing is learned of a payload that is no object, or larger than any uplink', () => {
  const learner = new FleetLearner()
  const state = { lastSeenAtMs: 1 }
  assert.deepEqual(learner.learn(ONE, 'up', Buffer.from('[1'), state), {})
  const large = Buffer.from(JSON.stringify({ rxInfo: [{ rssi: -1 }], data: 'A'.repeat(70_000) }))
  assert.deepEqual(learner.learn(ONE, 'up', large, state), {})
})

test('the device that was heard least lately is forgotten at the bound', () => {
  const learner = new FleetLearner(2)
  hearAll(learner, ONE, 0, 10)
  hearAll(learner, TWO, 0, 10)
  hear(learner, ONE, 11)
  hear(learner, THREE, 0)
  assert.equal(hear(learner, ONE, 12).intervalSeconds, 600)
  assert.equal(hear(learner, TWO, 11).intervalSeconds, undefined)
})

test('a device that was removed has taught nothing', () => {
  const learner = new FleetLearner()
  assert.equal(hearAll(learner, ONE, 0, 25).lossPercent, 0)
  learner.forget(ONE)
  assert.deepEqual(hear(learner, ONE, 26), {})
})

test('a join begins the frame counter anew', () => {
  const learner = new FleetLearner()
  hearAll(learner, ONE, 0, 25)
  learner.learn(ONE, 'join', Buffer.from('{}'), { lastSeenAtMs: 1 })
  assert.equal(hearAll(learner, ONE, 40, 50).lossPercent, 0)
})
