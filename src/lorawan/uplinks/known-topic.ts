/**
 * Everything that the service knows of one Topic Name, in one object that the topic holds. An event
 * of a topic that was published before finds all of it there, and looks nothing up.
 *
 * A fact that the registry can make wrong stands beside the version of its source. It counts only
 * while the source still has that version, so that a change forgets it in all topics at once.
 */
import type { Decision } from '../../broker/ports/policy.ts'
import type { Topic } from '../../mqtt/topic.ts'
import { parseTopic } from '../topics.ts'
import type { ParsedTopic } from '../topics.ts'
import type { HeardDevice } from './device-sightings.ts'

export class KnownTopic {
  /** Undefined for a name that is no topic of this service. */
  readonly parsed: ParsedTopic | undefined
  /** Whether a network server of the deployment may publish the event. Set by its permit. */
  decision: Decision | undefined = undefined
  /** The version of the directory for which the decision is right. */
  decidedAt: object | undefined = undefined
  /**
   * Sends events on under the application of their device, where a network server has named an
   * application of its own. Set by its permit, which compares the name each time.
   */
  elsewhere: { readonly allowed: true; readonly as: Topic } | undefined = undefined
  /**
   * The versions of the devices and of the codecs for which the topic's events go on as they came:
   * they get no tags and are not decoded. Set by the path of uplinks.
   */
  plainAtDevices: object | undefined = undefined
  plainAtCodecs: object | undefined = undefined
  /** The device as the sightings know it. It says itself when it is forgotten. */
  heard: HeardDevice | undefined = undefined

  constructor(parsed: ParsedTopic | undefined) {
    this.parsed = parsed
  }
}

/** The one object of the topic. */
export function knownTopic(topic: Topic): KnownTopic {
  const { meaning } = topic
  if (meaning instanceof KnownTopic) return meaning
  const known = new KnownTopic(parseTopic(topic.name))
  topic.meaning = known
  return known
}
