import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { FrameLoss } from './frame-loss.ts'

/** An uplink with this counter, or a join, or an uplink after a join that is not stored. */
type Told = number | 'join' | { readonly fCnt: number; readonly devAddr: string }

/** The lost uplinks that count at each event. The events are told the oldest first. */
function lossAt(told: readonly Told[]): number[] {
  const loss = new FrameLoss<{ lost: number }>()
  const counts = told.map(() => ({ lost: 0 }))
  for (let index = told.length - 1; index >= 0; index -= 1) {
    const one = told[index] as Told
    const count = counts[index] as { lost: number }
    if (one === 'join') loss.join()
    else if (typeof one === 'number') loss.uplink(one, '', count)
    else loss.uplink(one.fCnt, one.devAddr, count)
  }
  return counts.map(({ lost }) => lost)
}

const sum = (told: readonly Told[]) => lossAt(told).reduce((all, one) => all + one, 0)

test('frames that are missing count at the uplink behind the gap', () => {
  assert.deepEqual(lossAt([1, 2, 5, 6, 16]), [0, 0, 2, 0, 9])
})

test('any frames left out of a row are counted, and no others', () => {
  const row = fc.uniqueArray(fc.nat(3_000), { minLength: 2, maxLength: 300 })
  fc.assert(
    fc.property(row, (counters) => {
      const heard = counters.toSorted((one, other) => one - other)
      const expected = (heard.at(-1) ?? 0) - (heard[0] ?? 0) + 1 - heard.length
      assert.equal(sum(heard), expected)
    }),
  )
})

test('a counter that begins again is no loss: after a join, with another address, or without either', () => {
  assert.equal(sum([400, 401, 'join', 0, 1]), 0)
  assert.equal(sum([10, 11, 'join', 20, 21]), 0)
  assert.equal(
    sum([
      { fCnt: 10, devAddr: '01020304' },
      { fCnt: 20, devAddr: '01020305' },
    ]),
    0,
  )
  assert.equal(
    sum([
      { fCnt: 10, devAddr: '01020304' },
      { fCnt: 20, devAddr: '01020304' },
    ]),
    9,
  )
  assert.equal(sum([400, 401, 0, 1]), 0)
  assert.equal(sum([65_534, 65_535, 0, 1]), 0)
  assert.equal(sum([3, 40_000]), 0)
})

test('a device that begins again at low counters, without a join, soon has its losses counted', () => {
  const row = Array.from({ length: 30 }, (_, fCnt) => fCnt)
  assert.equal(sum([...row, ...row]), 0)
  const withGap = row.filter((fCnt) => fCnt !== 5 && fCnt !== 6)
  assert.equal(sum([...withGap, ...row]), 2)
})

test('repeated uplinks, and uplinks out of order, are no loss', () => {
  assert.equal(sum([5, 6, 7, 5, 6, 7, 8]), 0)
  assert.equal(sum([5, 5, 5, 6]), 0)
  assert.equal(sum([5, 7, 6, 8]), 0)
  assert.equal(sum([5, 9, 6, 8, 7, 12]), 2)
  const late = fc.array(fc.nat(3), { minLength: 2, maxLength: 60 })
  fc.assert(
    fc.property(late, (delays) => {
      const arrived = delays.map((delay, fCnt) => ({ fCnt, at: fCnt + delay }))
      const order = arrived.toSorted((one, other) => one.at - other.at || one.fCnt - other.fCnt)
      assert.equal(sum(order.map(({ fCnt }) => fCnt)), 0)
    }),
  )
})
