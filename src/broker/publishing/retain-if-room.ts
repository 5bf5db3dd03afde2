/** Messages that are retained by a wish of the service, and not of their sender. */
import type { Message } from '../ports/message.ts'
import type { PublishingParts } from './publishing-parts.ts'

/**
 * Retains the message where the bounds of its tenant have room. Where they have none, the message
 * goes on unretained, and the earlier message of the topic is removed: a subscriber that gets none
 * knows more than one that gets an old message as the last. A message without a payload would
 * remove the earlier one. It goes on as it is.
 */
export function retainIfRoom(
  { retained, cleaning }: Pick<PublishingParts, 'retained' | 'cleaning'>,
  message: Message,
): void {
  if (message.retain || message.payloadBytes === 0) return
  if (retained.whyFull(message) === undefined) message.retain = true
  else if (retained.find(message.topicName) !== undefined) cleaning.remove([message.topicName])
}
