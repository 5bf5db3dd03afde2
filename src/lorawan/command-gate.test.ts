import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { ConsumedMessage } from '../broker/consumer.ts'
import type { Decision } from '../broker/policy.ts'
import { createCommandGate } from './command-gate.ts'
import type { PayloadCodec } from './command-gate.ts'
import { commandTopic, eventTopic } from './topics.ts'

const DEV_EUI = '70b3d57ed0050a1f'
const TOPIC_NAME = commandTopic('5', DEV_EUI)
const NOW_MS = Date.UTC(2026, 0, 1)
const VALID = { confirmed: true, fPort: 10, data: 'AQ==' }
const WITH_OBJECT = { confirmed: true, fPort: 10, object: { led: { 1: 1 } } }

describe('the command gate', () => {
  it('judges the messages on command topics alone', () => {
    const gate = createGate('')
    assert.ok(gate.wants(TOPIC_NAME))
    assert.ok(!gate.wants(eventTopic('5', DEV_EUI, 'up')))
  })

  it('lets a valid command pass', async () => {
    assert.deepEqual(await judge('', VALID), { allowed: true })
  })

  it('refuses an invalid one with 0x99, a code and the reason [MQTT 5.0 §3.4.2.1]', async () => {
    assert.deepEqual(await judge('', { ...VALID, fPort: 0 }), {
      allowed: false,
      reasonCode: 0x99,
      reason: 'fPort: 0 is below 1',
      code: 'command_out_of_range',
      untold: 'close',
    })
  })

  it('refuses an object alone where the application has no codec, or does not exist', async () => {
    for (const codec of ['', undefined] as const) {
      const decision = await judge(codec, WITH_OBJECT)
      assert.ok(!decision.allowed)
      assert.deepEqual(
        [decision.reasonCode, decision.code, decision.reason],
        [0x99, 'command_codec_missing', 'object: the application has no codec configured'],
      )
    }
  })

  it('lets an object pass where the application has a codec, and where data is given as well', async () => {
    for (const codec of ['CAYENNE_LPP', 'CUSTOM_JS'] as const) {
      assert.deepEqual(await judge(codec, WITH_OBJECT), { allowed: true })
    }
    assert.deepEqual(await judge('', { ...WITH_OBJECT, data: 'AQ==' }), { allowed: true })
  })

  it('waits for a codec that has to be looked up', async () => {
    const gate = createCommandGate({
      payloadCodecOf: (applicationId) => Promise.resolve(applicationId === '5' ? ('CAYENNE_LPP' as const) : ''),
      nowMs: () => NOW_MS,
    })
    assert.deepEqual(await gate.consume(message(WITH_OBJECT)), { allowed: true })
  })

  it('refuses a command for another device than its topic names', async () => {
    assert.deepEqual(await judge('', { ...VALID, devEui: DEV_EUI.toUpperCase() }), { allowed: true })
    const decision = await judge('', { ...VALID, devEui: '0000000000000001' })
    assert.ok(!decision.allowed && decision.code === 'command_device_mismatch')
  })

  it('refuses a command that has expired already', async () => {
    assert.deepEqual(await judge('', { ...VALID, expiresAt: '2026-01-01T00:00:01Z' }), { allowed: true })
    const decision = await judge('', { ...VALID, expiresAt: '2026-01-01T00:00:00Z' })
    assert.ok(!decision.allowed && decision.code === 'command_expired')
  })

  it('refuses a retained command, which each new subscription of a network server would repeat', async () => {
    const decision = await createGate('').consume({ ...message(VALID), retain: true })
    assert.ok(!decision.allowed && decision.code === 'command_retained' && decision.reasonCode === 0x83)
  })

  it('refuses a command on a topic that is no device of this service', async () => {
    const topicName = `application/5/device/${DEV_EUI.toUpperCase()}/command/down`
    const decision = await createGate('').consume({ ...message(VALID), topicName })
    assert.ok(!decision.allowed && decision.reasonCode === 0x90)
  })
})

function createGate(codec: PayloadCodec | undefined): ReturnType<typeof createCommandGate> {
  return createCommandGate({ payloadCodecOf: () => codec, nowMs: () => NOW_MS })
}

async function judge(codec: PayloadCodec | undefined, command: object): Promise<Decision> {
  return await createGate(codec).consume(message(command))
}

function message(command: object): ConsumedMessage {
  const payload = Buffer.from(JSON.stringify(command))
  return { topicName: TOPIC_NAME, payload, qos: 1, retain: false, properties: undefined, sender: undefined }
}
