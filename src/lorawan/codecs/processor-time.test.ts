import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { ProcessorTime } from './processor-time.ts'

let processorMs = 0
let time: ProcessorTime

beforeEach(() => {
  processorMs = 1_000
  time = new ProcessorTime(() => processorMs)
})

describe('the processor time of a job', () => {
  it('is the time that passed, where the thread had a processor', () => {
    processorMs += 30
    assert.equal(time.charge(30), 30)
  })

  it('leaves out the time that the thread waited for a processor', () => {
    processorMs += 10
    assert.equal(time.charge(80), 10)
  })

  it('is shared out between short jobs, though the kernel tells it late', () => {
    let sum = 0
    for (let n = 0; n < 100; n += 1) {
      if (n % 10 === 9) processorMs += 4
      sum += time.charge(0.4)
    }
    assert.ok(sum > 35 && sum <= 40, `${sum} ms`)
  })

  it('charges no job for more than the time that passed, whatever the thread did before', () => {
    processorMs += 500
    assert.equal(time.charge(1), 1)
    let sum = 0
    for (let n = 0; n < 100; n += 1) sum += time.charge(1)
    assert.equal(sum, 20)
  })
})
