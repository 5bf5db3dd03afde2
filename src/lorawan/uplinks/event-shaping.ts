/**
 * Brings events into the shape of their application, right before they go on. An event that can't
 * be read goes on as it was received.
 */
import type { EventShape } from '../shapes/event-facts.ts'
import { shapeEvent, unshapedError } from '../shapes/shape-event.ts'
import type { EventTopic } from './held-event.ts'

/** An event as it goes on. */
export interface ShapedEvent {
  readonly payload: Buffer
  /** True for an event of another family, which was written anew. */
  readonly isChanged: boolean
  /** The error event about an event that could not be read. */
  readonly fault: Buffer | undefined
}

/** Counts what it does. */
export class EventShaping {
  /** `unshaped` counts events that went on as received because they could not be read. */
  readonly numbers = { shaped: 0, unshaped: 0 }
  readonly #clock: { now(): number }

  constructor(clock: { now(): number }) {
    this.#clock = clock
  }

  /** The very payload for an application without a shape. */
  shape(topic: EventTopic, payload: Buffer, shape: EventShape): ShapedEvent {
    const { eventKind: kind, applicationId, devEui } = topic
    // The service's own event of states is the same in all shapes.
    if (shape === '' || kind === 'state') return { payload, isChanged: false, fault: undefined }
    const event = { kind, applicationId, devEui, payload, receivedAtMs: this.#clock.now() }
    const shaped = shapeEvent(event, shape)
    if (!shaped.ok) {
      this.numbers.unshaped += 1
      return { payload, isChanged: false, fault: unshapedError(event, shape, shaped.reason) }
    }
    if (shaped.isChanged) this.numbers.shaped += 1
    return { payload: shaped.payload, isChanged: shaped.isChanged, fault: undefined }
  }
}
