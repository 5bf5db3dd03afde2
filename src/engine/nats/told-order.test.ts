import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import { NatsRequest } from './nats-request.ts'
import { ToldOrder } from './told-order.ts'

const FAILURE = { reasonCode: ReasonCodes.quotaExceeded, reason: 'no room' }

/** Requests that note what they are told. */
class Requests {
  readonly told: string[] = []
  /** The names of the requests about which the engine was told. */
  readonly counted: number[] = []
  readonly order = new ToldOrder(({ number }) => this.counted.push(number))
  #made = 0

  add(name: string, owner?: string): NatsRequest {
    this.#made += 1
    const request = new NatsRequest(this.#made, 1, {
      changes: [],
      owner,
      committed: () => this.told.push(name),
      failed: () => this.told.push(`${name} failed`),
    })
    this.order.add(request)
    return request
  }
}

describe('the order in which callers are told', () => {
  test('is that of the calls for one owner, though streams own its requests in another one', () => {
    const requests = new Requests()
    const first = requests.add('first', 'x')
    const second = requests.add('second', 'x')
    const third = requests.add('third', 'x')
    requests.order.owned(third)
    requests.order.owned(second)
    assert.deepEqual(requests.told, [])
    requests.order.owned(first)
    assert.deepEqual(requests.told, ['first', 'second', 'third'])
    assert.deepEqual(requests.counted, [1, 2, 3])
  })

  test('lets no owner wait for another', () => {
    const requests = new Requests()
    requests.add('of x', 'x')
    requests.order.owned(requests.add('of y', 'y'))
    assert.deepEqual(requests.told, ['of y'])
  })

  test('puts a request of the service before the later ones of all owners, and not behind earlier ones', () => {
    const requests = new Requests()
    requests.add('earlier of x', 'x')
    const ofService = requests.add('of the service')
    const later = requests.add('of y', 'y')
    requests.order.owned(later)
    assert.deepEqual(requests.told, [])
    requests.order.owned(ofService)
    assert.deepEqual(requests.told, ['of the service', 'of y'])
  })

  test('tells a failure at once, and lets the later ones go on', () => {
    const requests = new Requests()
    const first = requests.add('first', 'x')
    const second = requests.add('second', 'x')
    const third = requests.add('third', 'x')
    requests.order.owned(third)
    requests.order.failed(second, FAILURE)
    assert.deepEqual(requests.told, ['second failed'])
    requests.order.owned(first)
    assert.deepEqual(requests.told, ['second failed', 'first', 'third'])
  })

  test('tells nobody twice', () => {
    const requests = new Requests()
    const first = requests.add('first', 'x')
    requests.order.failed(first, FAILURE)
    requests.order.failed(first, FAILURE)
    assert.deepEqual(requests.told, ['first failed'])
    requests.order.owned(requests.add('next', 'x'))
    assert.deepEqual(requests.told, ['first failed', 'next'])
  })
})
