/**
 * The events of a device that an application can have retained: those that tell of the present. An
 * event about a moment, such as a fault or an acknowledgement, would look new to each subscriber.
 */
import { parseTopic } from '../topics.ts'
import type { EventTopic } from './held-event.ts'

/** True for the kinds of event of which the last one is retained. */
export function isOfLastEvents({ eventKind }: Pick<EventTopic, 'eventKind'>): boolean {
  return eventKind === 'up' || eventKind === 'state'
}

/** As `isOfLastEvents`, for any Topic Name. */
export function isTopicOfLastEvents(topicName: string): boolean {
  const topic = parseTopic(topicName)
  return topic?.kind === 'event' && isOfLastEvents(topic)
}
