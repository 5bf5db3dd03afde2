import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { parseCommand } from './command.ts'
import { silentLogger } from '../../logger.ts'
import type { ConsumedMessage } from '../../broker/ports/consumer.ts'
import type { Decision, Refusal } from '../../broker/ports/policy.ts'
import { AWAY, DEVICE, openTestDownlinks, OTHER_DEVICE, TestNetworkServer } from './downlinks.testing.ts'
import type { TestDownlinks } from './downlinks.testing.ts'
import { VALID, WRONG_COMMANDS, WRONG_PAYLOADS } from './invalid-commands.testing.ts'

const TOPIC_NAME = `application/5/device/${DEVICE}/command/down`
const RESPONSE_TOPIC = `application/5/device/${DEVICE}/event/response`

describe('a command that is published', () => {
  it('is taken when the queue owns it: it is not routed', async () => {
    const downlinks = await openTestDownlinks()
    assert.deepEqual(await publish(downlinks, VALID), { allowed: true, taken: true })
    assert.equal(downlinks.commands.list('1', DEVICE).length, 1)
    assert.deepEqual(downlinks.published, [])
  })

  it('gets an id from the service when its sender gave none', async () => {
    const downlinks = await openTestDownlinks()
    await publish(downlinks, VALID)
    assert.match(downlinks.commands.list('1', DEVICE)[0]?.content.id ?? '', /^[0-9a-f-]{36}$/)
  })

  for (const [title, payload, member, code, message] of [...WRONG_PAYLOADS, ...WRONG_COMMANDS]) {
    it(`with ${title} is answered 0x99, and by an error event`, async () => {
      const downlinks = await openTestDownlinks()
      const decision = refusalIn(await publish(downlinks, payload))
      assert.deepEqual([decision.reasonCode, decision.code, decision.untold], [0x99, `command_${code}`, 'discard'])
      assert.ok(decision.reason.includes(message), decision.reason)
      await downlinks.settle()
      const [event, ...more] = downlinks.told('/event/error')
      assert.deepEqual(more, [])
      assert.deepEqual(
        [event?.['code'], event?.['member'], event?.['error']],
        [`command_${code}`, member ?? '', decision.reason],
      )
      assert.deepEqual(downlinks.commands.list('1', DEVICE), [])
    })
  }

  it('retained, expired, or for another device than its topic says is refused', async () => {
    const downlinks = await openTestDownlinks()
    const cases = [
      [await publish(downlinks, VALID, { retain: true }), 0x83, 'command_retained'],
      [await publish(downlinks, { ...VALID, expiresAt: '2020-01-01T00:00:00Z' }), 0x99, 'command_expired'],
      [await publish(downlinks, { ...VALID, devEui: '1112131415161718' }), 0x99, 'command_device_mismatch'],
      [await publish(downlinks, { ...VALID, devEui: DEVICE.toUpperCase() }), undefined, undefined],
    ] as const
    for (const [decision, reasonCode, code] of cases) {
      assert.equal(decision.allowed ? undefined : decision.reasonCode, reasonCode)
      assert.equal(decision.allowed ? undefined : decision.code, code)
    }
  })

  it('for a device that is not in the application, or is disabled, is answered 0x87', async () => {
    const downlinks = await openTestDownlinks()
    const unknown = refusalIn(await publish(downlinks, VALID, { topicName: TOPIC_NAME.replace('/5/', '/6/') }))
    assert.deepEqual([unknown.reasonCode, unknown.code], [0x87, 'command_device_unknown'])
    await downlinks.settle()
    assert.deepEqual(downlinks.published, [])
    downlinks.devices.set(DEVICE, { applicationId: '5', organizationId: '1', isDisabled: true })
    const disabled = refusalIn(await publish(downlinks, VALID))
    assert.deepEqual([disabled.reasonCode, disabled.code], [0x87, 'command_device_disabled'])
  })

  it('on a topic that only looks like a command’s is refused', async () => {
    const downlinks = await openTestDownlinks()
    for (const topicName of ['x/command/down', 'application/5/device/01/command/down', `x/${TOPIC_NAME}`]) {
      const decision = refusalIn(await publish(downlinks, VALID, { topicName }))
      assert.deepEqual([decision.reasonCode, decision.code], [0x90, 'invalid_command_topic'])
    }
  })

  it('without a sender, as a Will Message is, is a command like any other', async () => {
    const downlinks = await openTestDownlinks()
    assert.ok((await publish(downlinks, VALID, { sender: undefined })).allowed)
    assert.ok(!(await publish(downlinks, {}, { sender: undefined })).allowed)
  })
})

describe('an object', () => {
  it('needs a codec when there is no data', async () => {
    const downlinks = await openTestDownlinks()
    const decision = refusalIn(await publish(downlinks, { confirmed: true, fPort: 1, object: { led: { 1: 1 } } }))
    assert.deepEqual(
      [decision.code, decision.reason],
      [
        'command_codec_missing',
        'object: neither the application nor its network server has a codec for it; send data, or set objectCommands of the application if its network server has a codec',
      ],
    )
    await downlinks.settle()
    assert.equal(downlinks.told('/event/error')[0]?.['type'], 'DOWNLINK_CODEC')
  })

  it('wins over data when a codec is configured, and is ignored when none is', async () => {
    const downlinks = await openTestDownlinks()
    await publish(downlinks, { ...VALID, object: { led: { 1: 1 } } })
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    downlinks.applicationChanged('5')
    await publish(downlinks, { ...VALID, object: { led: true } })
    await downlinks.settle()
    assert.deepEqual(
      downlinks.server.offered.map(({ data }) => data?.toString('latin1')),
      ['\u0001\u0002\u0003', '{"led":true}'],
    )
  })

  it('that the codec refuses is answered with the codec’s words', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    const decision = refusalIn(await publish(downlinks, { ...VALID, id: 'a', object: { bad: 1 } }))
    assert.deepEqual(
      [decision.reasonCode, decision.code, decision.reason],
      [0x99, 'command_codec_failed', 'object: bad: is not encoded'],
    )
    await downlinks.settle()
    const [event] = downlinks.told('/event/error')
    assert.deepEqual([event?.['commandId'], event?.['type'], event?.['member']], ['a', 'DOWNLINK_CODEC', 'object'])
  })

  it('that becomes more bytes than LoRaWAN carries is refused', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    const decision = refusalIn(await publish(downlinks, { ...VALID, object: { text: 'x'.repeat(300) } }))
    assert.deepEqual([decision.code, decision.reason], ['command_data_too_long', 'data: 311 bytes are more than 242'])
  })

  it('of Cayenne LPP is checked before the codec runs', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.codecs.set('5', { codec: 'CAYENNE_LPP', encoderScript: '' })
    const decision = refusalIn(await publish(downlinks, { ...VALID, object: { led: { 1: '1' } } }))
    assert.equal(decision.reason, 'object.led.1: must be a number, not a string')
    assert.ok((await publish(downlinks, { ...VALID, object: { gyrometer: { 1: { x: 1, y: 2, z: 3 } } } })).allowed)
  })
})

describe('the error event', () => {
  it('has the shape of family A and the command’s id, a code, the member and a sentence', async () => {
    const downlinks = await openTestDownlinks()
    await publish(downlinks, { ...VALID, id: 'valve-7', fPort: 0 })
    await downlinks.settle()
    const [message] = downlinks.published
    assert.deepEqual([message?.topicName, message?.qos], [`application/5/device/${DEVICE}/event/error`, 1])
    assert.deepEqual(downlinks.told('/event/error'), [
      {
        applicationID: '5',
        applicationName: 'meters',
        deviceName: `device ${DEVICE}`,
        devEUI: DEVICE,
        tags: { floor: '1' },
        type: 'UNKNOWN',
        error: 'fPort: 0 is below 1',
        fCnt: 0,
        commandId: 'valve-7',
        code: 'command_out_of_range',
        member: 'fPort',
        level: 'ERROR',
      },
    ])
  })

  it('has the shape of ChirpStack v4’s log events where the application’s id or events are v4’s', async () => {
    const downlinks = await openTestDownlinks()
    const applicationId = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
    downlinks.devices.set(DEVICE, { applicationId, organizationId: '1', isDisabled: false })
    await publish(
      downlinks,
      { ...VALID, id: 'valve-7', fPort: 0 },
      { topicName: TOPIC_NAME.replace('5', applicationId) },
    )
    await downlinks.settle()
    assert.deepEqual(downlinks.told('/event/error'), [
      {
        time: new Date(downlinks.clock.now()).toISOString(),
        deviceInfo: {
          tenantId: '',
          tenantName: '',
          applicationId,
          applicationName: 'meters',
          deviceProfileId: '',
          deviceProfileName: 'valve',
          deviceName: `device ${DEVICE}`,
          devEui: DEVICE,
          tags: { floor: '1' },
        },
        level: 'ERROR',
        code: 'command_out_of_range',
        description: 'fPort: 0 is below 1',
        context: {},
        commandId: 'valve-7',
        member: 'fPort',
      },
    ])
  })

  it('of a command that somebody cancelled or replaced is of the level INFO: nothing has failed', async () => {
    const downlinks = await openTestDownlinks()
    downlinks.server.answer = AWAY
    await publish(downlinks, { ...VALID, id: 'one' })
    await publish(downlinks, { ...VALID, id: 'two', replace: true })
    await downlinks.settle()
    await downlinks.commands.cancel('1', DEVICE, 'two')
    await downlinks.settle()
    assert.deepEqual(
      downlinks.told('/event/error').map(({ commandId, code, level }) => [commandId, code, level]),
      [
        ['one', 'command_replaced', 'INFO'],
        ['two', 'command_cancelled', 'INFO'],
      ],
    )
  })

  it('comes ten times a second after the first hundred, however many commands are refused', async () => {
    const downlinks = await openTestDownlinks()
    for (let count = 0; count < 150; count += 1) refusalIn(await publish(downlinks, {}))
    await downlinks.settle()
    assert.equal(downlinks.told('/event/error').length, 100)
    downlinks.clock.advance(1_000)
    for (let count = 0; count < 50; count += 1) refusalIn(await publish(downlinks, {}))
    await downlinks.settle()
    assert.equal(downlinks.told('/event/error').length, 110)
    assert.equal(downlinks.numbers()['errorEventsWithheld'], 90)
  })
})

function openWithPort(fPort: number | undefined) {
  const port = fPort === undefined ? {} : { fPort }
  return openTestDownlinks({
    encoder: { encodeDownlink: async () => ({ ok: true, data: Buffer.of(1), ...port, warnings: ['w'] }) },
  })
}

describe('the fPort of a command with an object', () => {
  it('is the script’s where the command names none', async () => {
    const downlinks = await openWithPort(7)
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    assert.ok((await publish(downlinks, { confirmed: false, object: {}, id: 'a' })).allowed)
    assert.deepEqual(
      downlinks.commands.list('1', DEVICE).map(({ content }) => content.fPort),
      [7],
    )
  })

  it('is the command’s own where it names one, and the answer warns of the script’s', async () => {
    const downlinks = await openWithPort(7)
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    const payload = Buffer.from(JSON.stringify({ confirmed: false, fPort: 9, object: {}, id: 'a' }))
    const answer = await downlinks.commands.submit({ applicationId: '5', devEui: DEVICE }, parseCommand(payload))
    assert.ok(answer.ok)
    assert.deepEqual(answer.warnings, ['w', 'fPort: the script names 7; the command goes to its own fPort, 9'])
    assert.deepEqual(
      downlinks.commands.list('1', DEVICE).map(({ content }) => content.fPort),
      [9],
    )
  })

  it('is missing where neither names one', async () => {
    const downlinks = await openWithPort(undefined)
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    const refusal = refusalIn(await publish(downlinks, { confirmed: false, object: {} }))
    assert.equal(refusal.code, 'command_member_missing')
    assert.equal(refusal.reason, 'fPort: is missing, and no codec names one')
  })
})

describe('commands of one device that come together', () => {
  it('are queued in the order in which they came, though one waits for its codec and the next needs none', async () => {
    const { promise: encoded, resolve: encode } = Promise.withResolvers<{ ok: true; data: Buffer }>()
    const downlinks = await openTestDownlinks({ encoder: { encodeDownlink: () => encoded } })
    downlinks.server.answer = AWAY
    downlinks.codecs.set('5', { codec: 'CUSTOM_JS', encoderScript: '' })
    const first = publish(downlinks, { confirmed: false, fPort: 1, object: { open: true }, id: 'slow' })
    const second = publish(downlinks, { ...VALID, id: 'quick' })
    const other = publish(downlinks, { ...VALID, id: 'other' }, { topicName: TOPIC_NAME.replace(DEVICE, OTHER_DEVICE) })
    assert.ok((await other).allowed, 'another device does not wait')
    encode({ ok: true, data: Buffer.of(1) })
    assert.ok((await first).allowed)
    assert.ok((await second).allowed)
    assert.deepEqual(
      downlinks.commands.list('1', DEVICE).map(({ content }) => content.id),
      ['slow', 'quick'],
    )
  })
})

describe('the answer on the Response Topic', () => {
  const wanted = { properties: { responseTopic: RESPONSE_TOPIC, correlationData: Buffer.from('7') } }

  it('has the id and the state of an accepted command', async () => {
    const downlinks = await openTestDownlinks()
    await publish(downlinks, { ...VALID, id: 'a' }, wanted)
    const [message] = downlinks.published
    assert.deepEqual(message?.properties, {
      payloadFormatIndicator: 1,
      contentType: 'application/json',
      correlationData: Buffer.from('7'),
    })
    assert.deepEqual([message.topicName, message.qos], [RESPONSE_TOPIC, 1])
    assert.deepEqual(downlinks.told('/event/response'), [
      { applicationId: '5', devEui: DEVICE, id: 'a', accepted: true, state: 'queued', repeated: false },
    ])
  })

  it('has the code, the member and a sentence about a refused command', async () => {
    const downlinks = await openTestDownlinks()
    await publish(downlinks, { ...VALID, id: 'a', fPort: 300 }, { ...wanted, qos: 0 })
    assert.deepEqual(downlinks.published.find(({ topicName }) => topicName === RESPONSE_TOPIC)?.qos, 0)
    assert.deepEqual(downlinks.told('/event/response'), [
      {
        applicationId: '5',
        devEui: DEVICE,
        id: 'a',
        accepted: false,
        code: 'command_out_of_range',
        member: 'fPort',
        error: 'fPort: 300 is above 255',
      },
    ])
  })

  it('goes to no topic that its sender may not subscribe to, and to no topic of events or commands or with wildcards', async () => {
    const downlinks = await openTestDownlinks()
    const sender = { tenant: 'organization:1', identity: 'user:1', maySubscribe: () => false }
    assert.ok((await publish(downlinks, VALID, { ...wanted, sender })).allowed)
    for (const responseTopic of [
      `application/5/device/${DEVICE}/event/up`,
      `application/5/device/${DEVICE}/event/error`,
      TOPIC_NAME,
      'application/5/device/+/event/response',
      'application/#',
      '$notice/missed',
      'anything/else',
    ]) {
      assert.ok((await publish(downlinks, VALID, { properties: { responseTopic } })).allowed)
    }
    await downlinks.settle()
    assert.deepEqual(downlinks.published, [])
  })

  it('is not stored once the share of error events is used up', async () => {
    const downlinks = await openTestDownlinks()
    for (let count = 0; count < 101; count += 1) await publish(downlinks, {}, wanted)
    const answers = downlinks.published.filter(({ topicName }) => topicName === RESPONSE_TOPIC)
    assert.deepEqual([answers.length, answers[99]?.qos, answers[100]?.qos], [101, 1, 0])
  })
})

describe('a network server that looks at commands', () => {
  it('has its refusal in the acknowledgement, 0x83', async () => {
    const server = new TestNetworkServer(true)
    const downlinks = await openTestDownlinks({ server })
    server.answer = { outcome: 'refused', reason: 'fPort 225 is reserved' }
    const decision = refusalIn(await publish(downlinks, VALID))
    assert.deepEqual(
      [decision.reasonCode, decision.code, decision.reason],
      [0x83, 'command_refused', 'fPort 225 is reserved'],
    )
    assert.equal(downlinks.clock.pending, 0)
  })

  it('is not waited for when it is away, or for longer than two seconds', async () => {
    const server = new TestNetworkServer(true)
    const downlinks = await openTestDownlinks({ server })
    server.answer = () => new Promise(() => {})
    const answer = publish(downlinks, VALID)
    await downlinks.settle()
    let isAnswered = false
    void answer.then(() => (isAnswered = true))
    downlinks.clock.advance(1_999)
    await downlinks.settle()
    assert.equal(isAnswered, false)
    downlinks.clock.advance(1)
    assert.ok((await answer).allowed)
    server.answer = { outcome: 'away', reason: 'it is away' }
    // The command waits behind the one on offer, so there is no verdict to wait for.
    assert.ok((await publish(downlinks, VALID)).allowed)
  })
})

describe('a fault inside the service', () => {
  it('with an event is logged, and harms no command', async () => {
    const failures: string[] = []
    const log = { ...silentLogger, error: (_fields: object, message: string) => void failures.push(message) }
    const publisher = { publish: () => Promise.reject(new Error('the disk is full')) }
    const downlinks = await openTestDownlinks({ publisher, log })
    refusalIn(await publish(downlinks, {}))
    await downlinks.settle()
    assert.deepEqual(failures, ['command.answer_failed'])
    assert.ok((await publish(downlinks, VALID)).allowed)
  })
})

async function publish(
  downlinks: TestDownlinks,
  payload: string | Buffer | object,
  fields: Partial<ConsumedMessage> = {},
): Promise<Decision> {
  const message: ConsumedMessage = {
    topicName: TOPIC_NAME,
    payload: Buffer.isBuffer(payload)
      ? payload
      : Buffer.from(typeof payload === 'string' ? payload : JSON.stringify(payload)),
    qos: 1,
    retain: false,
    properties: undefined,
    sender: { tenant: 'organization:1', identity: 'user:1', maySubscribe: () => true },
    ...fields,
  }
  const consumer = downlinks.ways().consumers.find((candidate) => candidate.wants(message.topicName))
  assert.ok(consumer)
  return consumer.consume(message)
}

function refusalIn(decision: Decision): Refusal {
  assert.ok(!decision.allowed)
  return decision
}
