import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import {
  EVENT_KINDS,
  applicationEventsTopic,
  commandTopic,
  deviceEventsTopic,
  eventTopic,
  isApplicationId,
  isDevEui,
  parseTopic,
  parseTopicFilter,
} from './topics.ts'

const DEV_EUI = '70b3d57ed0050a1f'
const UUID = '4f6f1f7a-8b4e-4dd2-a1f5-2ce8d2a4e3b1'

/** The Topic Names and Topic Filters that the parsers accept, as regular expressions. */
const TOPIC_NAME =
  /^application\/([A-Za-z0-9-]{1,64})\/device\/([0-9a-f]{16})\/(?:event\/(up|join|ack|error|status|location|txack|log|integration)|command\/down)$/
const TOPIC_FILTER =
  /^application\/([A-Za-z0-9-]{1,64}|\+)\/device\/([0-9a-f]{16}|\+)\/(?:event\/(up|join|ack|error|status|location|txack|log|integration|\+)|command\/(down|\+))$/

/**
 * Texts that are topics, or nearly: right and wrong parts put together, and sometimes one character
 * changed.
 */
const nearTopic = fc
  .tuple(
    fc.constantFrom('application/', 'applications/', '/application/', 'Application/', '$share/g/application/', ''),
    fc.oneof(
      fc.constantFrom('5', UUID, '+', '#', '', '..', 'ä', 'a'.repeat(64), 'a'.repeat(65), '1/2', ' 5', '5\0'),
      fc.stringMatching(/^[A-Za-z0-9-]{1,70}$/),
    ),
    fc.constantFrom('/device/', '/device', '/devices/', '//device/', '/gateway/'),
    fc.oneof(
      fc.constantFrom(DEV_EUI, DEV_EUI.toUpperCase(), '+', '#', '', DEV_EUI.slice(1), `${DEV_EUI}0`, `0x${DEV_EUI}`),
      fc.stringMatching(/^[0-9a-g]{15,17}$/),
    ),
    fc.constantFrom('/event/', '/command/', '/events/', '/event', '/', ''),
    fc.constantFrom(...EVENT_KINDS, 'log', 'integration', 'down', 'up/', 'UP', 'up ', 'upp', '+', '#', '', 'down/x'),
  )
  .map((parts) => parts.join(''))

const topicLike = fc.oneof(
  { weight: 4, arbitrary: nearTopic },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom(eventTopic('5', DEV_EUI, 'up'), commandTopic(UUID, DEV_EUI), 'application/5/device/+/event/+'),
        fc.nat(90),
        fc.nat(2),
        fc.string({ maxLength: 2 }),
      )
      .map(([text, at, removed, put]) => text.slice(0, at) + put + text.slice(at + removed)),
  },
  { weight: 1, arbitrary: fc.string() },
)

describe('the topics of events and commands', () => {
  it('are written in the shapes of the specification (§6)', () => {
    assert.equal(applicationEventsTopic('5'), 'application/5/device/+/event/+')
    assert.equal(eventTopic('5', DEV_EUI, 'up'), `application/5/device/${DEV_EUI}/event/up`)
    assert.equal(deviceEventsTopic(UUID, DEV_EUI), `application/${UUID}/device/${DEV_EUI}/event/+`)
    assert.equal(commandTopic('5', DEV_EUI), `application/5/device/${DEV_EUI}/command/down`)
  })

  it('are never written with an id that would name other topics', () => {
    for (const id of ['', '+', '#', '5/6', 'a'.repeat(65), 'ä', '5\0']) {
      assert.throws(() => applicationEventsTopic(id), /application id/)
      assert.throws(() => commandTopic(id, DEV_EUI), /application id/)
    }
    for (const devEui of ['', '+', DEV_EUI.toUpperCase(), DEV_EUI.slice(1), `${DEV_EUI}0`]) {
      assert.throws(() => deviceEventsTopic('5', devEui), /DevEUI/)
    }
  })

  it('are read back as they were written', () => {
    for (const eventKind of [...EVENT_KINDS, 'log', 'integration'] as const) {
      assert.deepEqual(parseTopic(eventTopic(UUID, DEV_EUI, eventKind)), {
        kind: 'event',
        applicationId: UUID,
        devEui: DEV_EUI,
        eventKind,
      })
    }
    assert.deepEqual(parseTopic(commandTopic('5', DEV_EUI)), { kind: 'command', applicationId: '5', devEui: DEV_EUI })
  })

  it('are read by the same rules as a regular expression says', () => {
    let accepted = 0
    fc.assert(
      fc.property(topicLike, (text) => {
        const expected = TOPIC_NAME.exec(text)
        const actual = parseTopic(text)
        if (expected === null) return assert.equal(actual, undefined)
        accepted += 1
        const [, applicationId, devEui, eventKind] = expected
        return assert.deepEqual(
          actual,
          eventKind === undefined
            ? { kind: 'command', applicationId, devEui }
            : { kind: 'event', applicationId, devEui, eventKind },
        )
      }),
      { numRuns: 5000, seed: 1 },
    )
    assert.ok(accepted > 50, `only ${accepted} of the generated topics are good`)
  })
})

describe('a Topic Filter', () => {
  it('is read by the same rules as a regular expression says', () => {
    let accepted = 0
    fc.assert(
      fc.property(topicLike, (text) => {
        const expected = TOPIC_FILTER.exec(text)
        const actual = parseTopicFilter(text)
        if (expected === null) return assert.equal(actual, undefined)
        accepted += 1
        const [, applicationId, devEui, event, command] = expected
        return assert.deepEqual(actual, {
          applicationId,
          devEui,
          tail: event === undefined ? { command } : { event },
        })
      }),
      { numRuns: 5000, seed: 2 },
    )
    assert.ok(accepted > 50, `only ${accepted} of the generated filters are good`)
  })

  it('may have a wildcard in each of its variable levels', () => {
    assert.deepEqual(parseTopicFilter('application/+/device/+/command/+'), {
      applicationId: '+',
      devEui: '+',
      tail: { command: '+' },
    })
    assert.deepEqual(parseTopicFilter('application/5/device/+/event/up'), {
      applicationId: '5',
      devEui: '+',
      tail: { event: 'up' },
    })
  })

  it('of any other shape is not read, even when it is valid', () => {
    for (const filter of [
      '#',
      '+/5/device/+/event/up',
      'application/#',
      'application/5/device/#',
      'application/5/device/+/event/#',
      'application/5/device/+/+/up',
      'application/5/+/+/event/up',
      'application/5/device/+/event/up/#',
      'application/5/device/+/event/+/+',
      'application/5/device/+/event',
      'application/5/device/+/command/up',
      'application/5+/device/+/event/+',
      'application/5/device/+a/event/+',
      `$share/g/application/5/device/${DEV_EUI}/event/up`,
      `/application/5/device/${DEV_EUI}/event/up`,
    ]) {
      assert.equal(parseTopicFilter(filter), undefined, filter)
    }
  })

  it('that is a Topic Name of this service is read as that name is', () => {
    fc.assert(
      fc.property(topicLike, (text) => {
        const name = parseTopic(text)
        if (name === undefined) return
        assert.deepEqual(parseTopicFilter(text), {
          applicationId: name.applicationId,
          devEui: name.devEui,
          tail: name.kind === 'event' ? { event: name.eventKind } : { command: 'down' },
        })
      }),
      { numRuns: 1000, seed: 3 },
    )
  })
})

describe('ids', () => {
  it('of applications are 1 to 64 letters, digits and hyphens', () => {
    for (const id of ['5', UUID, 'a'.repeat(64)]) assert.ok(isApplicationId(id), id)
    for (const id of ['', 'a'.repeat(65), 'a_b', '5/', '+', '5 ', 'ä']) assert.ok(!isApplicationId(id), id)
  })

  it('of devices are 16 lower-case hexadecimal digits', () => {
    assert.ok(isDevEui(DEV_EUI))
    for (const id of ['', DEV_EUI.toUpperCase(), `${DEV_EUI}0`, DEV_EUI.slice(1), 'g'.repeat(16)]) {
      assert.ok(!isDevEui(id), id)
    }
  })
})
