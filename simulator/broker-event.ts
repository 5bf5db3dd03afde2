/**
 * An event as it is published: the parts of its topic, and the payload in the spelling of a family.
 */
import type { PublishedEventKind } from '../src/lorawan/topics.ts'
import type { Family } from './downlink.ts'
import { familyAEvent } from './family-a.ts'
import { familyBEvent } from './family-b.ts'
import type { NetworkEvent } from './network-event.ts'

/** The kinds of event that a simulated network server publishes. */
export type SimulatedEventKind = Exclude<PublishedEventKind, 'integration'>

/** An event for the broker. */
export interface BrokerEvent {
  readonly applicationId: string
  readonly devEui: string
  readonly kind: SimulatedEventKind
  readonly payload: object
  /** The id of the command that ends with this event; undefined: none ends. */
  readonly settles: string | undefined
}

/**
 * Spells an event. `carriesIds`: events about a command in family A carry its id, as in family B
 * they always do.
 */
export function brokerEvent(event: NetworkEvent, family: Family, carriesIds: boolean): BrokerEvent {
  const { applicationID, devEUI } = event.device.record
  const spelled = family === 'A' ? familyAEvent(event, carriesIds) : familyBEvent(event)
  return { applicationId: applicationID, devEui: devEUI, ...spelled, settles: settledBy(event) }
}

function settledBy(event: NetworkEvent): string | undefined {
  if (event.kind === 'ack' || event.kind === 'fault') return event.queueItemId?.id
  return event.kind === 'txack' && !event.confirmed ? event.queueItemId.id : undefined
}
