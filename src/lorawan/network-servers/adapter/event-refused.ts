/**
 * Why an event of a network server is not taken, for good: of an unknown or disabled device, of no
 * known kind, or too large.
 */
export type EventRefusalCode = 'event_device_unknown' | 'device_disabled' | 'event_kind_unknown' | 'event_too_large'

/**
 * How `EventSink.event` rejects for an event that it will never take. The network server is told
 * that it has been dealt with: if it came again, it would only be in the way of those behind it.
 */
export class EventRefused extends Error {
  readonly code: EventRefusalCode

  constructor(code: EventRefusalCode, message: string) {
    super(message)
    this.name = 'EventRefused'
    this.code = code
  }
}
