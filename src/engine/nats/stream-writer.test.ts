import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { TestClock } from '../../clock.testing.ts'
import { readEnvelopeHead, writeEnvelope } from './envelope.ts'
import type { Acknowledged, NatsLink } from './nats-link.ts'
import { NatsRequest } from './nats-request.ts'
import { StreamWriter } from './stream-writer.ts'

const OWN = '0123456789abcdef'
const OTHER = 'fedcba9876543210'
const WRONG_LAST_SEQUENCE = 10_071

/** A subject of a stream, as its leader sees it. */
class TestSubject {
  readonly clock = new TestClock()
  readonly acknowledged: number[] = []
  readonly fenced: number[] = []
  /** The sequences that the attempts to publish named. */
  readonly expected: number[] = []
  isInPlace: () => Promise<boolean> = () => Promise.resolve(true)
  /** Answers that get lost, though the servers store what they answer. */
  losesAnswers = 0
  #last: { readonly sequence: number; readonly bytes: Uint8Array } | undefined
  #sequence: number
  readonly writer: StreamWriter

  constructor(lastSequence: number) {
    this.#sequence = lastSequence
    const link: Pick<NatsLink, 'lastOf' | 'maximumEnvelopeBytes' | 'publish'> = {
      maximumEnvelopeBytes: 10_000,
      publish: (_subject, bytes, { lastSequence: named = 0 }) => {
        this.expected.push(named)
        const answer = this.#store(bytes, named)
        this.losesAnswers -= 1
        return Promise.resolve(this.losesAnswers < 0 ? answer : { code: undefined, reason: 'no answer' })
      },
      lastOf: () => {
        const last = this.#last
        return Promise.resolve(last && { sequence: last.sequence, head: readEnvelopeHead(Buffer.from(last.bytes)) })
      },
    }
    this.writer = new StreamWriter({
      clock: this.clock,
      link,
      stream: 's',
      subject: 's.at.a',
      incarnation: OWN,
      lastSequence,
      nextNumber: 1,
      gatherMs: 5,
      arrived: () => ({ messagesBefore: 0, tail: 0 }),
      acknowledged: (sequence) => void this.acknowledged.push(sequence),
      fenced: (sequence) => void this.fenced.push(sequence),
      isInPlace: () => this.isInPlace(),
    })
  }

  /** A message of another process on the subject. */
  take(bytes: Uint8Array): void {
    this.#sequence += 1
    this.#last = { sequence: this.#sequence, bytes }
  }

  /** Retention takes the last message of the subject. */
  retain(): void {
    this.#last = undefined
  }

  /** Adds requests in one turn, and lets everything happen that needs no time. */
  async add(...numbers: readonly number[]): Promise<void> {
    const request = { changes: [{ key: 'k', value: undefined }], committed: () => {}, failed: () => {} }
    for (const number of numbers) this.writer.add(new NatsRequest(number, 100, request))
    await settle()
  }

  async pass(ms: number): Promise<void> {
    this.clock.advance(ms)
    await settle()
  }

  #store(bytes: Uint8Array, named: number): Acknowledged {
    if (named !== (this.#last?.sequence ?? 0)) return { code: WRONG_LAST_SEQUENCE, reason: 'wrong last sequence' }
    this.take(bytes)
    return { sequence: this.#sequence }
  }
}

async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
}

function envelopeOf(incarnation: string): Buffer {
  return writeEnvelope({ incarnation, number: 0, messagesBefore: 0, tail: 0 }, [], 0)
}

describe('the writer of a stream', () => {
  test('has one envelope under way, and names the one before it', async () => {
    const subject = new TestSubject(4)
    subject.take(envelopeOf(OWN))
    await subject.add(1)
    assert.deepEqual(subject.expected, [4, 5], 'it looks the sequence up where it is wrong')
    await subject.add(2)
    assert.deepEqual(subject.expected, [4, 5, 6])
    assert.deepEqual(subject.acknowledged, [6, 7])
  })

  test('gathers while several publishers are at work, and sends what comes alone at once', async () => {
    const subject = new TestSubject(0)
    await subject.add(1, 2)
    assert.deepEqual(subject.acknowledged, [1], 'the first ones need not wait')
    await subject.add(3)
    await subject.pass(4)
    await subject.add(4)
    assert.deepEqual(subject.acknowledged, [1])
    await subject.pass(1)
    assert.deepEqual(subject.acknowledged, [1, 2])
    await subject.add(5)
    await subject.pass(5)
    assert.deepEqual(subject.acknowledged, [1, 2, 3])
    await subject.add(6)
    assert.deepEqual(subject.acknowledged, [1, 2, 3, 4], 'the envelope before it had one request')
  })

  test('gathers no more where publishers that wait for their acknowledgements send more without it', async () => {
    const subject = new TestSubject(0)
    let answered = -1
    /** Ten publishers that wait, and servers that take a ms. Returns the acknowledgements. */
    const waitFor = async (forMs: number): Promise<number> => {
      const before = subject.acknowledged.length
      for (let ms = 0; ms < forMs; ms += 1) {
        if (answered < subject.acknowledged.length) {
          answered = subject.acknowledged.length
          subject.writer.take(answered, answered)
          await subject.add(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
        }
        await subject.pass(1)
      }
      return subject.acknowledged.length - before
    }
    await waitFor(1_500)
    const acknowledged = await waitFor(1_000)
    assert.ok(acknowledged > 400, `${acknowledged} envelopes in a second, and 200 with the gathering`)
  })

  test('finds out that an envelope without an answer is stored', async () => {
    const subject = new TestSubject(0)
    subject.losesAnswers = 1
    await subject.add(1)
    assert.deepEqual(subject.expected, [0, 0])
    assert.deepEqual(subject.acknowledged, [1])
    await subject.add(2)
    assert.deepEqual(subject.acknowledged, [1, 2])
  })

  test('is fenced by whoever writes to its subject', async () => {
    const subject = new TestSubject(0)
    await subject.add(1)
    assert.deepEqual(
      subject.writer.take(1, 1)?.map(({ number }) => number),
      [1],
    )
    subject.take(envelopeOf(OTHER))
    await subject.add(2)
    assert.deepEqual(subject.fenced, [2])
    await subject.add(3)
    assert.deepEqual(subject.acknowledged, [1])
    assert.deepEqual(
      subject.writer.takeAll().map(({ number }) => number),
      [2, 3],
    )
  })

  test('goes on when retention took its last envelope', async () => {
    const subject = new TestSubject(0)
    await subject.add(1)
    subject.retain()
    await subject.add(2)
    assert.deepEqual(subject.expected, [0, 1, 0])
    assert.deepEqual(subject.acknowledged, [1, 2])
    assert.deepEqual(subject.fenced, [])
  })

  test('is fenced though retention took the fence', async () => {
    const subject = new TestSubject(0)
    await subject.add(1)
    subject.retain()
    subject.isInPlace = () => Promise.resolve(false)
    await subject.add(2)
    assert.deepEqual(subject.fenced, [0])
    await subject.pass(5_000)
    assert.deepEqual(subject.acknowledged, [1])
  })

  test('waits for servers that do not say whether it is fenced', async () => {
    const subject = new TestSubject(0)
    await subject.add(1)
    subject.retain()
    let asked = 0
    subject.isInPlace = () => {
      asked += 1
      return asked === 1 ? Promise.reject(new Error('no answer')) : Promise.resolve(true)
    }
    await subject.add(2)
    await subject.pass(5_000)
    assert.deepEqual(subject.acknowledged, [1, 2])
    assert.equal(asked, 2)
  })
})
