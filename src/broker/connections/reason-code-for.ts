/**
 * The Reason Codes that a packet of ours may carry (MQTT 5.0 §3.2.2.2, §3.4.2.1, §3.9.3,
 * §3.14.2.1), for reasons that come in through the ports.
 */
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'

interface Codes {
  readonly allowed: ReadonlySet<ReasonCode>
  /** The nearest allowed code, for some codes that are not allowed. */
  readonly instead: ReadonlyMap<ReasonCode, ReasonCode>
  readonly otherwise: ReasonCode
}

const acknowledgement: Codes = {
  allowed: new Set([0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99]),
  instead: new Map(),
  otherwise: ReasonCodes.implementationSpecificError,
}

// oxfmt-ignore
const codes: { readonly [packet in 'connack' | 'acknowledgement' | 'suback' | 'disconnect']: Codes } = {
  acknowledgement,
  connack: {
    allowed: new Set([
      0x00, 0x80, 0x81, 0x82, 0x83, 0x84, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8a, 0x8c, 0x90, 0x95, 0x97, 0x99, 0x9a, 0x9b, 0x9c, 0x9d, 0x9f,
    ]),
    instead: new Map([[ReasonCodes.serverShuttingDown, ReasonCodes.serverUnavailable]]),
    otherwise: ReasonCodes.unspecifiedError,
  },
  suback: {
    allowed: new Set([0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8f, 0x91, 0x97, 0x9e, 0xa1, 0xa2]),
    instead: new Map(),
    otherwise: ReasonCodes.unspecifiedError,
  },
  disconnect: {
    allowed: new Set([
      0x00, 0x80, 0x81, 0x82, 0x83, 0x87, 0x89, 0x8b, 0x8c, 0x8d, 0x8e, 0x8f, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99, 0x9a, 0x9b, 0x9c,
      0x9d, 0x9e, 0x9f, 0xa0, 0xa1, 0xa2,
    ]),
    instead: new Map([
      [ReasonCodes.badUserNameOrPassword, ReasonCodes.notAuthorized],
      [ReasonCodes.banned, ReasonCodes.notAuthorized],
      [ReasonCodes.serverUnavailable, ReasonCodes.serverBusy],
    ]),
    otherwise: ReasonCodes.unspecifiedError,
  },
}

/**
 * The Reason Code itself where the packet may carry it, otherwise the nearest allowed one
 * [MQTT-3.2.2-8], [MQTT-3.4.2-1], [MQTT-3.5.2-1], [MQTT-3.9.3-2], [MQTT-3.14.2-1].
 * `acknowledgement` is PUBACK and PUBREC.
 */
export function reasonCodeFor(packet: keyof typeof codes, reasonCode: ReasonCode): ReasonCode {
  const { allowed, instead, otherwise } = codes[packet]
  return allowed.has(reasonCode) ? reasonCode : (instead.get(reasonCode) ?? otherwise)
}

/**
 * Characters of a Reason String; a longer one is cut. Keeps a Topic Filter of 64 KB out of answers.
 */
const MAXIMUM_REASON_LENGTH = 256

/** The Reason String, cut to a bound. */
export function reasonString(reason: string): string {
  return reason.length <= MAXIMUM_REASON_LENGTH ? reason : `${reason.slice(0, MAXIMUM_REASON_LENGTH - 1)}…`
}
