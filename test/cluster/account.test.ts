/** The account of the acceptance run finds each broken promise. */
import assert from 'node:assert/strict'
import { beforeEach, describe, test } from 'node:test'
import { Account } from './account.ts'
import type { Arrival, Received } from './account.ts'
import { CommandAccount } from './command-account.ts'
import { FaultsFound } from './faults-found.ts'

const DEVICE = '0102030405060708'

let faults: FaultsFound
beforeEach(() => {
  faults = new FaultsFound()
})

/** One fault, of the kind that these words begin with, and no other. */
function assertOne(words: RegExp): void {
  const found = faults.takeWords()
  assert.equal(faults.total, 1, found.join('; '))
  assert.match(found.join(), words)
}

describe('the account of messages', () => {
  let account: Account
  let one: Received
  let other: Received
  const publishers = { once: 0, least: 0 }
  beforeEach(() => {
    account = new Account(faults)
    publishers.once = account.addPublisher('once', 2)
    publishers.least = account.addPublisher('least', 1)
    one = account.addReader('one', 2)
    other = account.addReader('other', 1)
  })

  const publish = (publisher: number): number => {
    const sequence = account.sends(publisher)
    account.acknowledges({ publisher, sequence })
    return sequence
  }
  const receive = (reader: Received, publisher: number, sequence: number, fields: Partial<Arrival> = {}): void => {
    const id = `0-${publisher * 100 + sequence}`
    account.receives(reader, { publisher, sequence, topicName: 'a', id, isDup: false, ...fields })
  }
  const settle = (): void => account.settle(account.sent)

  test('is in order when each message has come once', () => {
    const { once, least } = publishers
    for (const publisher of [once, least]) {
      const sequence = publish(publisher)
      for (const reader of [one, other]) receive(reader, publisher, sequence)
    }
    account.sends(once)
    settle()
    assert.equal(faults.total, 0, faults.takeWords().join())
    assert.equal(account.acknowledged, 2)
  })

  test('finds a lost message, and counts it once', () => {
    receive(one, publishers.once, publish(publishers.once))
    settle()
    settle()
    assertOne(/^lost: other misses once:0/)
  })

  test('finds a lost one behind a message that was acknowledged late', () => {
    const late = account.sends(publishers.once)
    const lost = publish(publishers.once)
    for (const reader of [one, other]) receive(reader, publishers.once, late)
    receive(one, publishers.once, lost)
    assert.equal(account.missing(account.sent).length, 1)
    account.acknowledges({ publisher: publishers.once, sequence: late })
    settle()
    assertOne(/^lost: other misses once:1/)
  })

  test('finds a message of QoS 2 that came twice', () => {
    const sequence = publish(publishers.once)
    receive(one, publishers.once, sequence)
    receive(one, publishers.once, sequence, { isDup: true })
    assertOne(/^QoS 2 twice: one got once:0 again/)
  })

  test('finds one publisher’s messages out of order', () => {
    const [first, second] = [publish(publishers.once), publish(publishers.once)]
    receive(one, publishers.once, second)
    receive(one, publishers.once, first)
    assertOne(/^out of order: one got once:0 after 1/)
  })

  test('finds two orders of two publishers’ messages, also for a reader without ids', () => {
    const [a, b] = [account.addPublisher('a', 1), account.addPublisher('b', 1)]
    const [first, second] = [publish(a), publish(b)]
    receive(one, a, first)
    receive(one, b, second)
    receive(other, b, second, { id: undefined })
    receive(other, a, first, { id: undefined })
    settle()
    assertOne(/^out of order: other got a:0 \(0-200\) after 0-300/)
  })

  test('finds two ids of one event', () => {
    const sequence = publish(publishers.once)
    receive(one, publishers.once, sequence)
    receive(other, publishers.once, sequence, { id: '0-77' })
    assertOne(/^unequal ids: other got once:0 as 0-77, others as 0-0/)
  })

  test('finds a repeat of QoS 1 that its reader takes for another message', () => {
    const sequence = publish(publishers.once)
    receive(other, publishers.once, sequence)
    receive(other, publishers.once, sequence)
    receive(other, publishers.once, sequence, { isDup: true, id: '0-77' })
    assert.equal(faults.total, 0)
    receive(other, publishers.once, sequence, { id: '0-77' })
    assertOne(/^bare repeats: other got once:0 again, as 0-77/)
  })

  test('allows a second event of a message that its publisher has repeated at QoS 1', () => {
    const sequence = publish(publishers.least)
    receive(other, publishers.least, sequence)
    account.sendsAgain({ publisher: publishers.least, sequence })
    receive(other, publishers.least, sequence, { id: '0-177' })
    assert.equal(faults.total, 0)
    assert.equal(account.repeats, 1)
  })

  test('finds a message of nobody', () => {
    receive(one, 17, 0)
    assertOne(/^foreign events: one got/)
  })
})

describe('the account of commands', () => {
  let commands: CommandAccount
  let sender: number
  beforeEach(() => {
    commands = new CommandAccount(faults)
    sender = commands.addSender('sender')
  })

  const send = (): { readonly sender: number; readonly sequence: number } => {
    const key = { sender, sequence: commands.sends(sender) }
    commands.accepts(key)
    return key
  }

  test('is in order when each command has come once, or again after a fault', () => {
    const key = send()
    commands.arrives(DEVICE, key)
    commands.taken(DEVICE)
    commands.confirmed(key)
    commands.arrives(DEVICE, key)
    commands.taken(DEVICE)
    commands.confirmed(key)
    commands.settle(commands.owed)
    assert.equal(faults.total, 0)
    assert.equal(commands.repeated, 1)
  })

  test('is in order when acknowledgements ended with their connections, however often', () => {
    const key = send()
    for (let times = 0; times < 5; times += 1) {
      commands.arrives(DEVICE, key)
      commands.taken(DEVICE)
      commands.disconnected()
    }
    commands.settle(commands.owed)
    assert.equal(faults.total, 0)
  })

  test('tells when the commands of a moment have come, though further ones are on their way', () => {
    const [first, second] = [send(), send()]
    const { owed } = commands
    commands.arrives(DEVICE, first)
    commands.taken(DEVICE)
    assert.equal(commands.areOwed(owed), true)
    send()
    commands.arrives(DEVICE, second)
    assert.equal(commands.areOwed(owed), false)
    assert.equal(commands.owed.length, 1)
  })

  test('finds a lost command', () => {
    send()
    commands.settle(commands.owed)
    assertOne(/^commands lost: sender:0/)
  })

  test('finds two commands of a device in flight, on one connection', () => {
    const [first, second] = [send(), send()]
    commands.arrives(DEVICE, first)
    commands.disconnected()
    commands.arrives(DEVICE, first)
    assert.equal(faults.total, 0)
    commands.arrives(DEVICE, second)
    assertOne(/^two commands in flight/)
  })

  test('finds commands out of order', () => {
    const [first, second] = [send(), send()]
    for (const key of [second, first]) {
      commands.arrives(DEVICE, key)
      commands.taken(DEVICE)
      commands.confirmed(key)
    }
    assertOne(/^commands out of order: 0:0 came after 1/)
  })

  test('finds a command that comes again and again', () => {
    const key = send()
    for (let times = 0; times < 3; times += 1) {
      commands.arrives(DEVICE, key)
      commands.taken(DEVICE)
      commands.confirmed(key)
    }
    assertOne(/^commands too often: 0:0/)
  })
})
