/**
 * The Reason Codes of MQTT 5.0 §2.4, with the specification's names, and their counterparts in MQTT
 * 3.1.1.
 */

/** A Reason Code is one byte; a code below 0x80 is a success. */
export type ReasonCode = number

export const ReasonCodes = {
  success: 0x00,
  grantedQoS1: 0x01,
  grantedQoS2: 0x02,
  disconnectWithWillMessage: 0x04,
  noMatchingSubscribers: 0x10,
  noSubscriptionExisted: 0x11,
  continueAuthentication: 0x18,
  reAuthenticate: 0x19,
  unspecifiedError: 0x80,
  malformedPacket: 0x81,
  protocolError: 0x82,
  implementationSpecificError: 0x83,
  unsupportedProtocolVersion: 0x84,
  clientIdentifierNotValid: 0x85,
  badUserNameOrPassword: 0x86,
  notAuthorized: 0x87,
  serverUnavailable: 0x88,
  serverBusy: 0x89,
  banned: 0x8a,
  serverShuttingDown: 0x8b,
  badAuthenticationMethod: 0x8c,
  keepAliveTimeout: 0x8d,
  sessionTakenOver: 0x8e,
  topicFilterInvalid: 0x8f,
  topicNameInvalid: 0x90,
  packetIdentifierInUse: 0x91,
  packetIdentifierNotFound: 0x92,
  receiveMaximumExceeded: 0x93,
  topicAliasInvalid: 0x94,
  packetTooLarge: 0x95,
  messageRateTooHigh: 0x96,
  quotaExceeded: 0x97,
  administrativeAction: 0x98,
  payloadFormatInvalid: 0x99,
  retainNotSupported: 0x9a,
  qosNotSupported: 0x9b,
  useAnotherServer: 0x9c,
  serverMoved: 0x9d,
  sharedSubscriptionsNotSupported: 0x9e,
  connectionRateExceeded: 0x9f,
  maximumConnectTime: 0xa0,
  subscriptionIdentifiersNotSupported: 0xa1,
  wildcardSubscriptionsNotSupported: 0xa2,
} as const satisfies Record<string, ReasonCode>

/** True when the code means that the operation failed (MQTT 5.0 §2.4). */
export function isFailure(reasonCode: ReasonCode): boolean {
  return reasonCode >= 0x80
}

/**
 * The Connect Return Code of MQTT 3.1.1 §3.2.2.3 (0 to 5) nearest to the Reason Code. A code
 * without a counterpart becomes 3, Server unavailable.
 */
export function connectReturnCode(reasonCode: ReasonCode): number {
  switch (reasonCode) {
    case ReasonCodes.success:
      return 0
    case ReasonCodes.unsupportedProtocolVersion:
      return 1
    case ReasonCodes.clientIdentifierNotValid:
      return 2
    case ReasonCodes.badUserNameOrPassword:
    case ReasonCodes.badAuthenticationMethod:
      return 4
    case ReasonCodes.notAuthorized:
    case ReasonCodes.banned:
      return 5
    default:
      return 3
  }
}
