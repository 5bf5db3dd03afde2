/** The answer to a refused PUBLISH, where the protocol has a place for one. */
import type { PublishPacket } from '../../mqtt/packet.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { RetainedMessages } from '../delivery/retained-messages.ts'
import type { Message } from '../ports/message.ts'
import type { Refusal } from '../ports/policy.ts'
import type { SessionLink } from '../sessions/session-link.ts'
import type { PublishingParts } from './publishing-parts.ts'

/** The members of a PUBLISH that its refusal needs. */
type RefusedPacket = Pick<PublishPacket, 'topicName' | 'qos' | 'packetId' | 'dup'>

/** A refusal by the broker itself; a client that no acknowledgement can tell is closed. */
export function refusal(reasonCode: ReasonCode, reason: string, code: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
}

/** Reasons that are the same when the message comes again. */
const LASTING: ReadonlySet<ReasonCode> = new Set([
  ReasonCodes.notAuthorized,
  ReasonCodes.topicNameInvalid,
  ReasonCodes.payloadFormatInvalid,
])

/**
 * After so many earlier refusals a message is acknowledged and dropped. Some clients, MQTT.js for
 * one, send a message again without DUP: then it is less sure that the message is the same.
 */
const TIMES_WITH_DUP = 1
const TIMES_WITHOUT_DUP = 2

/**
 * Tells a refusal where the protocol has a place for it; elsewhere the connection is closed or the
 * refusal counted. A client of MQTT 3.1.1 that is closed sends an unacknowledged message again
 * whenever it comes back. Then the message is acknowledged and dropped [MQTT311-3.3.5-2], or the
 * client would never get past it.
 */
export function refusePublish(
  parts: PublishingParts,
  link: SessionLink,
  packet: RefusedPacket,
  refused: Refusal,
): void {
  const { reasonCode, reason, code } = refused
  const { topicName, qos, packetId } = packet
  parts.counters.publishesRefused += 1
  parts.refusals.refused(link, { kind: 'publish', code, reason, topic: topicName }, { topicName, reasonCode, qos })
  const isTold = link.protocolVersion === 5 || refused.untold === 'discard'
  if (qos > 0 && (isTold || isRepeated(parts, link, packet, reasonCode))) {
    // A refused QoS 2 message is over with its PUBREC [MQTT-4.3.3-4].
    link.sendAcknowledgement(qos === 1 ? 'puback' : 'pubrec', packetId, reasonCode, reason)
  } else if (refused.untold === 'close') link.endWhenRead(reasonCode, reason, code)
}

function isRepeated(parts: PublishingParts, link: SessionLink, packet: RefusedPacket, reasonCode: ReasonCode): boolean {
  if (!LASTING.has(reasonCode)) return false
  const { permit: holder, clientId = '' } = link
  const { packetId, topicName, dup } = packet
  const times = parts.repeatedPublishes.count({ holder, clientId, packetId, topicName }, parts.second)
  return times >= (dup ? TIMES_WITH_DUP : TIMES_WITHOUT_DUP)
}

/** The refusal of a message for which there is no room to retain it; undefined where there is. */
export function retainedFaultOf(retained: RetainedMessages, message: Message): Refusal | undefined {
  if (!message.retain || message.payloadBytes === 0) return undefined
  const why = retained.whyFull(message)
  return why === undefined ? undefined : refusal(ReasonCodes.quotaExceeded, why, 'retained_quota')
}
