/**
 * The judge of published commands: it answers each message on a command topic, so that an integrator learns at once
 * what is wrong with it. Valid commands are routed to the network servers that subscribe to them.
 */
import type { ConsumedMessage, PublishConsumer } from '../broker/consumer.ts'
import { ALLOWED } from '../broker/policy.ts'
import type { Decision, Refusal } from '../broker/policy.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { ReasonCode } from '../mqtt/reason-codes.ts'
import { parseCommand } from './command.ts'
import type { Command } from './command.ts'
import { parseTopic } from './topics.ts'

/** How an application's payloads are coded; empty for not at all. */
export type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

export interface CommandGateSettings {
  /** The codec of an application; undefined for one that doesn't exist. Asked only for commands that need a codec. */
  readonly payloadCodecOf: (applicationId: string) => PayloadCodec | undefined | Promise<PayloadCodec | undefined>
  /** Milliseconds since 1970. */
  readonly nowMs: () => number
}

/**
 * The consumer for command topics. Refusals carry 0x99, Payload format invalid, and a sentence that names the member
 * at fault; where no acknowledgement can carry them (MQTT 3.1.1, QoS 0) they end the connection.
 */
export function createCommandGate(settings: CommandGateSettings): PublishConsumer {
  return {
    wants: (topicName) => topicName.endsWith('/command/down'),
    consume: (message) => judge(message, settings),
  }
}

function judge(message: ConsumedMessage, settings: CommandGateSettings): Decision | Promise<Decision> {
  const topic = parseTopic(message.topicName)
  if (topic?.kind !== 'command') {
    return refusal(ReasonCodes.topicNameInvalid, 'invalid_command_topic', 'this is not the command topic of a device')
  }
  if (message.retain) {
    // A retained command would be sent to the device again each time that a network server subscribes.
    const reason = 'a command cannot be retained: it would be repeated whenever a network server connects'
    return refusal(ReasonCodes.implementationSpecificError, 'command_retained', reason)
  }
  const result = parseCommand(message.payload)
  if (!result.ok) return refusal(ReasonCodes.payloadFormatInvalid, `command_${result.code}`, result.message)
  const { command } = result
  if (command.devEui !== undefined && command.devEui !== topic.devEui) {
    const reason = 'devEui: is another device than the one of the topic'
    return refusal(ReasonCodes.payloadFormatInvalid, 'command_device_mismatch', reason)
  }
  if (command.expiresAtMs !== undefined && command.expiresAtMs <= settings.nowMs()) {
    return refusal(ReasonCodes.payloadFormatInvalid, 'command_expired', 'expiresAt: is in the past')
  }
  return needsCodec(command) ? judgeCodec(settings.payloadCodecOf(topic.applicationId)) : ALLOWED
}

/** Where bytes are given as well, they can be sent without a codec. */
function needsCodec(command: Command): boolean {
  return command.data === undefined
}

function judgeCodec(codec: PayloadCodec | undefined | Promise<PayloadCodec | undefined>): Decision | Promise<Decision> {
  if (codec instanceof Promise) return codec.then(judgeCodec)
  if (codec !== undefined && codec !== '') return ALLOWED
  const reason = 'object: the application has no codec configured'
  return refusal(ReasonCodes.payloadFormatInvalid, 'command_codec_missing', reason)
}

function refusal(reasonCode: ReasonCode, code: string, reason: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
}
