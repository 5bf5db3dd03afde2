/** The refusal of an event for good, by its stable code. */

/**
 * Why an event is refused for good: its device is unknown or disabled, its kind is unknown, or it
 * is too large.
 */
export type EventRefusalCode = 'event_device_unknown' | 'device_disabled' | 'event_kind_unknown' | 'event_too_large'

/**
 * Rejection of `EventSink.event` for an event that is refused for good. The adapter confirms such
 * an event to the network server: if it were sent again and again, it would hold up the events
 * behind it.
 */
export class EventRefused extends Error {
  readonly code: EventRefusalCode

  constructor(code: EventRefusalCode, message: string) {
    super(message)
    this.name = 'EventRefused'
    this.code = code
  }
}
