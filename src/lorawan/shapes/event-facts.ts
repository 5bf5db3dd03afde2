/**
 * The facts of an event, apart from the spelling of its network server. Each family of events is
 * read into these facts, and each shape is written from them. The names are those of the shape
 * NORMALIZED.
 */
import type { JsonObject } from '../../json.ts'
import type { PublishedEventKind } from '../topics.ts'

/** The shapes that an application can choose for its events; empty for events as received. */
export const EVENT_SHAPES = ['', 'V3', 'V4', 'NORMALIZED'] as const

export type EventShape = (typeof EVENT_SHAPES)[number]

/** A value that goes on as it was written, with the spelling of its numbers. */
export class JsonText {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }
}

/** A place in WGS 84, in degrees; the altitude is in metres. */
export interface PlaceFacts {
  readonly latitude: number
  readonly longitude: number
  readonly altitude: number
  readonly source: string | undefined
  /** Metres. */
  readonly accuracy: number | undefined
}

/** The reception of an uplink by one gateway. */
export interface ReceptionFacts {
  /** 16 lower-case hexadecimal digits, or the gateway's name in The Things Stack. */
  readonly gatewayId: string
  /** Empty where it is not known. */
  readonly gatewayName: string
  /** A UUID. */
  readonly uplinkId: string | undefined
  /** RFC 3339; undefined for a gateway that does not know the time. */
  readonly time: string | undefined
  /** dBm. */
  readonly rssi: number
  /** dB. */
  readonly snr: number
  readonly channel: number | undefined
  readonly location: PlaceFacts | undefined
}

/** How a frame was sent. */
export interface TransmissionFacts {
  /** Hz. */
  readonly frequency: number
  /** The data rate's index in the region. */
  readonly dr: number | undefined
  /** Hz. */
  readonly bandwidth: number | undefined
  readonly spreadingFactor: number | undefined
  /** As ChirpStack v4 writes it: `CR_4_5`. */
  readonly codeRate: string | undefined
  /** dBm. */
  readonly power: number | undefined
}

/** The device, its application and the moment: the facts of each event. */
export interface CommonFacts {
  /** The id of the command that the event is about. */
  readonly commandId: string | undefined
  /** A UUID. */
  readonly deduplicationId: string
  /** RFC 3339. */
  readonly time: string
  /** As it stands in the topic. */
  readonly applicationId: string
  readonly applicationName: string
  /** As it stands in the topic. */
  readonly devEui: string
  readonly deviceName: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tenantId: string
  readonly tenantName: string
  readonly deviceClass: string | undefined
  readonly tags: Readonly<Record<string, string>>
}

/** The facts that only events of one kind have; the other kinds have none of them. */
export type KindFacts =
  | {
      readonly kind: 'up'
      readonly devAddr: string | undefined
      readonly adr: boolean | undefined
      readonly confirmed: boolean | undefined
      readonly fCnt: number
      readonly fPort: number
      /** Base64; empty for an uplink without a payload. */
      readonly data: string
      readonly object: JsonText | undefined
      /** Measurements: a list of objects. */
      readonly normalized: JsonText | undefined
      readonly rxInfo: readonly ReceptionFacts[]
      readonly txInfo: TransmissionFacts
    }
  | {
      readonly kind: 'join'
      readonly devAddr: string | undefined
      readonly rxInfo: readonly ReceptionFacts[] | undefined
      readonly txInfo: TransmissionFacts | undefined
    }
  | { readonly kind: 'ack'; readonly queueItemId: string; readonly acknowledged: boolean; readonly fCnt: number }
  | {
      readonly kind: 'txack'
      readonly queueItemId: string
      readonly fCnt: number
      readonly gatewayId: string | undefined
      readonly txInfo: TransmissionFacts | undefined
    }
  | {
      readonly kind: 'error' | 'log'
      /** INFO, WARNING or ERROR. */
      readonly level: string
      /** A code of ChirpStack v4, or the code of a command's fault. */
      readonly code: string
      readonly message: string
      readonly fCnt: number | undefined
      readonly member: string | undefined
      readonly context: Readonly<Record<string, string>>
    }
  | {
      readonly kind: 'status'
      readonly margin: number
      readonly externalPowerSource: boolean
      readonly batteryLevelUnavailable: boolean
      readonly batteryLevel: number
    }
  | { readonly kind: 'location'; readonly location: PlaceFacts }
  | {
      readonly kind: 'integration'
      readonly integrationName: string
      readonly eventType: string
      readonly object: JsonText | undefined
    }

export type EventFacts = CommonFacts & KindFacts

/** An event as it was received, and what its topic says. */
export interface ReceivedEvent {
  readonly kind: PublishedEventKind
  readonly applicationId: string
  readonly devEui: string
  /** The members of the event's JSON object. */
  readonly members: JsonObject
  /** The text of a member's value, as it was received. */
  readonly textOf: (member: string) => string | undefined
  /** The UUID of an event that has none of its own. */
  readonly id: () => string
  /** When the event came in, RFC 3339: the time of an event that tells none. */
  readonly receivedAt: string
}
