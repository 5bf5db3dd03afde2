/**
 * The packets of MQTT 3.1.1 and 5.0 as values: one shape for both versions. A field that only one
 * version has is optional. An undefined field means the same as an absent one: it is not on the
 * wire.
 */
import type { ReasonCode } from './reason-codes.ts'

/** The protocol level of CONNECT: 4 is MQTT 3.1.1, 5 is MQTT 5.0. */
export type ProtocolVersion = 4 | 5

export type QoS = 0 | 1 | 2

/** A User Property; order and duplicates are kept [MQTT-3.3.2-18]. */
export type UserProperty = readonly [name: string, value: string]

/** The properties of a PUBLISH or a Will Message that concern the Application Message. */
export interface MessageProperties {
  readonly payloadFormatIndicator?: 0 | 1 | undefined
  readonly messageExpiryIntervalSeconds?: number | undefined
  readonly contentType?: string | undefined
  readonly responseTopic?: string | undefined
  readonly correlationData?: Buffer | undefined
  readonly userProperties?: readonly UserProperty[] | undefined
}

/**
 * The properties of a PUBLISH: those of its message, and those between the two ends of one Network
 * Connection.
 */
export interface PublishProperties extends MessageProperties {
  readonly topicAlias?: number | undefined
  readonly subscriptionIdentifiers?: readonly number[] | undefined
}

export interface WillMessage {
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  /** MQTT 5: the seconds between the end of the connection and the Will Message; 0 when absent. */
  readonly delayIntervalSeconds: number
  readonly properties?: MessageProperties | undefined
}

export interface ConnectPacket {
  readonly type: 'connect'
  readonly protocolVersion: ProtocolVersion
  /** Clean Session of MQTT 3.1.1, Clean Start of MQTT 5. */
  readonly cleanStart: boolean
  readonly keepAliveSeconds: number
  readonly clientId: string
  readonly will?: WillMessage | undefined
  readonly userName?: string | undefined
  readonly password?: Buffer | undefined
  readonly properties?: ConnectProperties | undefined
}

export interface ConnectProperties {
  readonly sessionExpiryIntervalSeconds?: number | undefined
  readonly receiveMaximum?: number | undefined
  readonly maximumPacketSizeBytes?: number | undefined
  readonly topicAliasMaximum?: number | undefined
  readonly requestResponseInformation?: boolean | undefined
  readonly requestProblemInformation?: boolean | undefined
  readonly userProperties?: readonly UserProperty[] | undefined
  readonly authenticationMethod?: string | undefined
  readonly authenticationData?: Buffer | undefined
}

export interface ConnackPacket {
  readonly type: 'connack'
  readonly sessionPresent: boolean
  /** An MQTT 5 Reason Code; the encoder turns it into the Connect Return Code for MQTT 3.1.1. */
  readonly reasonCode: ReasonCode
  readonly properties?: ConnackProperties | undefined
}

export interface ConnackProperties {
  readonly sessionExpiryIntervalSeconds?: number | undefined
  readonly receiveMaximum?: number | undefined
  readonly maximumQoS?: 0 | 1 | undefined
  readonly retainAvailable?: boolean | undefined
  readonly maximumPacketSizeBytes?: number | undefined
  readonly assignedClientIdentifier?: string | undefined
  readonly topicAliasMaximum?: number | undefined
  readonly reasonString?: string | undefined
  readonly userProperties?: readonly UserProperty[] | undefined
  readonly wildcardSubscriptionAvailable?: boolean | undefined
  readonly subscriptionIdentifiersAvailable?: boolean | undefined
  readonly sharedSubscriptionAvailable?: boolean | undefined
  readonly serverKeepAliveSeconds?: number | undefined
  readonly responseInformation?: string | undefined
  readonly serverReference?: string | undefined
  readonly authenticationMethod?: string | undefined
  readonly authenticationData?: Buffer | undefined
}

export interface PublishPacket {
  readonly type: 'publish'
  /** Empty only if a Topic Alias stands in its place (MQTT 5). */
  readonly topicName: string
  readonly payload: Buffer
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
  /** From 1 to 65535 for QoS 1 and 2; 0 for QoS 0, which has none on the wire. */
  readonly packetId: number
  readonly properties?: PublishProperties | undefined
}

/** PUBACK, PUBREC, PUBREL and PUBCOMP have one shape. */
export interface AcknowledgementPacket {
  readonly type: 'puback' | 'pubrec' | 'pubrel' | 'pubcomp'
  readonly packetId: number
  /** Success (0) when the wire leaves it out. */
  readonly reasonCode: ReasonCode
  readonly properties?: ReasonProperties | undefined
}

export interface ReasonProperties {
  readonly reasonString?: string | undefined
  readonly userProperties?: readonly UserProperty[] | undefined
}

export interface SubscriptionRequest {
  readonly topicFilter: string
  readonly qos: QoS
  readonly noLocal: boolean
  readonly retainAsPublished: boolean
  readonly retainHandling: 0 | 1 | 2
}

export interface SubscribePacket {
  readonly type: 'subscribe'
  readonly packetId: number
  readonly subscriptions: readonly SubscriptionRequest[]
  readonly properties?: SubscribeProperties | undefined
}

export interface SubscribeProperties {
  readonly subscriptionIdentifier?: number | undefined
  readonly userProperties?: readonly UserProperty[] | undefined
}

export interface SubackPacket {
  readonly type: 'suback'
  readonly packetId: number
  /**
   * One Reason Code for each requested Topic Filter, in order. For MQTT 3.1.1 the encoder turns
   * failures into 0x80.
   */
  readonly reasonCodes: readonly ReasonCode[]
  readonly properties?: ReasonProperties | undefined
}

export interface UnsubscribePacket {
  readonly type: 'unsubscribe'
  readonly packetId: number
  readonly topicFilters: readonly string[]
  readonly properties?: { readonly userProperties?: readonly UserProperty[] | undefined } | undefined
}

export interface UnsubackPacket {
  readonly type: 'unsuback'
  readonly packetId: number
  /** One Reason Code for each Topic Filter, in order; left off the wire for MQTT 3.1.1. */
  readonly reasonCodes: readonly ReasonCode[]
  readonly properties?: ReasonProperties | undefined
}

export interface PingreqPacket {
  readonly type: 'pingreq'
}

export interface PingrespPacket {
  readonly type: 'pingresp'
}

export interface DisconnectPacket {
  readonly type: 'disconnect'
  /** Normal disconnection (0) when the wire leaves it out, and always for MQTT 3.1.1. */
  readonly reasonCode: ReasonCode
  readonly properties?: DisconnectProperties | undefined
}

export interface DisconnectProperties extends ReasonProperties {
  readonly sessionExpiryIntervalSeconds?: number | undefined
  readonly serverReference?: string | undefined
}

/** A packet of MQTT 5 alone. */
export interface AuthPacket {
  readonly type: 'auth'
  readonly reasonCode: ReasonCode
  readonly properties?: AuthProperties | undefined
}

export interface AuthProperties extends ReasonProperties {
  readonly authenticationMethod?: string | undefined
  readonly authenticationData?: Buffer | undefined
}

/** The packets that a client may send to a server. The reader of a server returns no other. */
export type ClientPacket =
  | ConnectPacket
  | PublishPacket
  | AcknowledgementPacket
  | SubscribePacket
  | UnsubscribePacket
  | PingreqPacket
  | DisconnectPacket
  | AuthPacket

/** The packets that a server may send to a client. */
export type ServerPacket =
  | ConnackPacket
  | PublishPacket
  | AcknowledgementPacket
  | SubackPacket
  | UnsubackPacket
  | PingrespPacket
  | DisconnectPacket
  | AuthPacket

export type Packet = ClientPacket | ServerPacket
