import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  airtimeMs,
  dataRateThatCarries,
  fasterDataRate,
  marginOf,
  region,
  requiredSnr,
  slowerDataRate,
} from './region.ts'
import type { RegionId } from './region.ts'

describe('a region', () => {
  it('bounds the application data of each data rate (RP002-1.0.4)', () => {
    assert.deepEqual(sizes('EU868'), [51, 51, 51, 115, 242, 242])
    assert.deepEqual(sizes('US915'), [11, 53, 125, 242])
    assert.deepEqual(sizes('AS923'), [11, 53, 125, 242])
  })

  it('answers in the first window as it was asked, and in US 902-928 by rules of its own', () => {
    const eu = region('EU868')
    const uplink = { frequency: 868_300_000, dataRate: eu.dataRates[0] }
    assert.deepEqual(eu.firstWindow(uplink), uplink)
    const us = region('US915')
    const answer = us.firstWindow({ frequency: 904_100_000, dataRate: us.dataRates[0] })
    assert.deepEqual([answer.frequency, answer.dataRate.dr, answer.dataRate.bandwidth], [923_900_000, 10, 500_000])
    assert.equal(us.secondWindow.dataRate.dr, 8)
  })

  it('needs 2.5 dB more for each spreading factor', () => {
    assert.deepEqual(region('EU868').dataRates.map(requiredSnr), [-20, -17.5, -15, -12.5, -10, -7.5])
  })

  it('is left no faster than the signal allows with 10 dB to spare', () => {
    const eu = region('EU868')
    const [slowest] = eu.dataRates
    assert.equal(fasterDataRate(eu, slowest, -10.1).dr, 0)
    assert.equal(fasterDataRate(eu, slowest, -7).dr, 1)
    assert.equal(fasterDataRate(eu, slowest, 12).dr, 5)
    assert.equal(fasterDataRate(eu, eu.dataRates[5] ?? slowest, -20).dr, 5)
    assert.equal(slowerDataRate(eu, eu.dataRates[5] ?? slowest).dr, 4)
    assert.equal(slowerDataRate(eu, slowest).dr, 0)
  })

  it('has a faster data rate for what does not fit', () => {
    const us = region('US915')
    assert.equal(dataRateThatCarries(us, us.dataRates[0], 11).dr, 0)
    assert.equal(dataRateThatCarries(us, us.dataRates[0], 12).dr, 1)
    assert.equal(dataRateThatCarries(us, us.dataRates[0], 200).dr, 3)
  })

  it('keeps margins within the six bits of a status', () => {
    const [slowest] = region('EU868').dataRates
    assert.deepEqual([marginOf(30, slowest), marginOf(-7, slowest), marginOf(-60, slowest)], [31, 13, -32])
  })

  it('takes the time of the air: 20 bytes at SF7 and SF12 (Semtech’s calculator)', () => {
    const eu = region('EU868')
    assert.ok(Math.abs(airtimeMs(eu.dataRates[5] ?? eu.dataRates[0], 20) - 71.9) < 0.1)
    assert.ok(Math.abs(airtimeMs(eu.dataRates[0], 20) - 1810.4) < 1)
  })
})

function sizes(id: RegionId): number[] {
  return region(id).dataRates.map((each) => each.maximumPayloadBytes)
}
