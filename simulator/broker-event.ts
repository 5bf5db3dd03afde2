/** An event as it is published: its topic's parts and the payload in the spelling of a family. */
import type { PublishedEventKind } from '../src/lorawan/topics.ts'
import type { Family } from './downlink.ts'
import { familyAEvent } from './family-a.ts'
import { familyBEvent } from './family-b.ts'
import type { NetworkEvent } from './network-event.ts'

/** What a simulated network server publishes. */
export type SimulatedEventKind = Exclude<PublishedEventKind, 'integration'>

/** An event for the broker. */
export interface BrokerEvent {
  readonly applicationId: string
  readonly devEui: string
  readonly kind: SimulatedEventKind
  readonly payload: object
  /** The id of the command that ends with this event; undefined where none does. */
  readonly settles: string | undefined
}

/**
 * Spells an event. `carriesIds`: family A adds the ids of commands to what became of them, as
 * family B always does.
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
