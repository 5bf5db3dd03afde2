import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createHarness } from '../../../test/support/broker-harness.ts'
import { MemoryEngine } from '../../engine/memory/memory.ts'
import { History } from './history.ts'
import type { HistoryQuery } from './history.ts'

/** Only two partitions, so that many branches of topics share one. */
async function createDeployment(keepsQoS0 = false) {
  const engine = new MemoryEngine({ partitions: 2, retainedMessages: 1000 })
  const harness = await createHarness({ engine, keepsQoS0: () => keepsQoS0 })
  return { history: new History(engine), publisher: await harness.connect() }
}

function query(topicPrefix: string, more: Partial<HistoryQuery> = {}): HistoryQuery {
  return { topicPrefix, direction: 'oldest first', maximumMessages: 100, ...more }
}

const eventOf = (application: number) => `application/${application}/device/0102030405060708/event/up`

test('what was published is found below its own two levels, wherever the log has put it', async () => {
  const { history, publisher } = await createDeployment()
  const applications = Array.from({ length: 20 }, (_, index) => index + 1)
  for (const application of applications) {
    publisher.publish(eventOf(application), `of ${application}`, { qos: 1 })
    await publisher.next('puback')
  }
  for (const application of applications) {
    const { messages, nextAfterOffset } = await history.page(query(`application/${application}/`))
    assert.deepEqual(
      messages.map(({ payload }) => payload.toString()),
      [`of ${application}`],
    )
    assert.equal(nextAfterOffset, undefined)
  }
})

test('an id stands for a place in its own branch, and for none in a branch of another partition', async () => {
  const { history, publisher } = await createDeployment()
  publisher.publish(eventOf(1), 'x', { qos: 1 })
  await publisher.next('puback')
  const [message] = (await history.page(query('application/1/'))).messages
  const id = message?.id ?? ''
  assert.equal(history.offsetOf('application/1/', id), 0)
  assert.equal(history.offsetOf('application/1/device/0102030405060708/', id), 0)
  assert.equal(history.idOf('application/1/', 0), id)
  assert.equal(history.tail('application/1/'), 1)
  const [partition = '', offset = ''] = id.split('-')
  assert.equal(history.offsetOf('application/1/', `${1 - Number(partition)}-${offset}`), undefined)
  for (const text of ['', '-', '1', 'x-1', '1-x', '99999999-0']) {
    assert.equal(history.offsetOf('application/1/', text), undefined, text)
  }
})

test('a page goes on behind the one before it', async () => {
  const { history, publisher } = await createDeployment()
  for (const payload of ['1', '2', '3', '4', '5']) {
    publisher.publish(eventOf(1), payload, { qos: 1 })
    await publisher.next('puback')
  }
  const seen: string[] = []
  let afterOffset: number | undefined = undefined
  do {
    const page = await history.page(query('application/1/', { afterOffset, maximumMessages: 2 }))
    seen.push(page.messages.map(({ payload }) => payload.toString()).join(' '))
    afterOffset = page.nextAfterOffset
  } while (afterOffset !== undefined)
  assert.deepEqual(seen, ['1 2', '3 4', '5'])
})

test('a QoS 0 message is there when its topic is kept, and not otherwise', async () => {
  for (const isKept of [true, false]) {
    const { history, publisher } = await createDeployment(isKept)
    publisher.publish(eventOf(1), 'x', { qos: 0 })
    await publisher.sync()
    const { messages } = await history.page(query('application/1/'))
    assert.equal(messages.length, isKept ? 1 : 0)
  }
})
