/**
 * The permit of a user's broker-access token. It allows to subscribe to the events of the
 * organization's applications, and to publish commands to their devices.
 */
import { MISSED_TOPIC_NAME } from '../broker/delivery/missed-notice.ts'
import type { Decision, Permit, PermitEnd, Refusal, Unmatched } from '../broker/ports/policy.ts'
import { ALLOWED } from '../broker/ports/policy.ts'
import type { DevicePlace, Directory } from '../identity/devices/directory.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'
import { knownTopic } from '../lorawan/uplinks/known-topic.ts'
import { applicationEventsTopic } from '../lorawan/topics.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { Topic } from '../mqtt/topic.ts'
import { covers } from '../mqtt/topic-filter.ts'
import { holderOfToken } from './holders.ts'
import type { HeldPermit, PermitHolders } from './permit-watch.ts'
import { whyUnmatched } from './unmatched-filter.ts'

/**
 * A device that does not exist and a device of another organization get the same answer, so that
 * nobody learns which devices others have.
 */
const NOT_A_COMMAND_TOPIC = refusal('publish_not_granted', 'not the command topic of a device of your organization')
/**
 * An application that does not exist and an application of another organization get the same
 * answer.
 */
const APPLICATION_NOT_OWN = refusal(
  'subscribe_application_not_granted',
  'no application of your organization has this id',
)
const TOO_WIDE = refusal('subscribe_wildcard_not_granted', 'a wildcard reaches beyond the events of one application')
const NOT_AN_EVENT_TOPIC = refusal('subscribe_not_granted', 'not covered by the event topics of your organization')
/**
 * A Will Message is judged after its connection has ended, perhaps by the same change that ended
 * the permit.
 */
const PERMIT_OVER = refusal('permit_over', 'what allowed it has ended')
const DEVICE_DISABLED = refusal('device_disabled', 'the device is disabled')

function refusal(code: string, reason: string): Refusal {
  return { allowed: false, reasonCode: ReasonCodes.notAuthorized, reason, code, untold: 'close' }
}

export interface IntegratorPermitOptions {
  readonly claims: BrokerAccessClaims
  /** The organization's applications. The set is kept right while the permit lives. */
  readonly applications: ReadonlySet<string>
  readonly directory: Directory
  /** When an application was made, ms since 1970; Infinity when there is none. */
  readonly madeAtMs: (applicationId: string) => Promise<number>
  readonly maximumMessagesPerSecond: number
  readonly seenChanges: number
  /** Looks at the permit's ground again. Undefined: the ground still stands. */
  readonly recheck: (claims: BrokerAccessClaims) => Promise<PermitEnd | undefined>
  readonly holders: PermitHolders
}

export class IntegratorPermit implements Permit, HeldPermit {
  readonly tenant: string
  readonly identity: string
  readonly ground: string
  readonly expiresAtMs: number
  readonly maximumMessagesPerSecond: number
  readonly mayReceive = undefined
  readonly grounds: readonly string[]
  readonly seenChanges: number
  readonly #options: IntegratorPermitOptions
  #listener: ((end: PermitEnd | undefined) => void) | undefined = undefined
  #isOver = false

  constructor(options: IntegratorPermitOptions) {
    const { tenant, identity, ground } = holderOfToken(options.claims)
    this.tenant = tenant
    this.identity = identity
    this.ground = ground
    this.expiresAtMs = options.claims.expiresAtMs
    this.maximumMessagesPerSecond = options.maximumMessagesPerSecond
    this.seenChanges = options.seenChanges
    this.grounds = [this.tenant, this.identity, this.ground]
    this.#options = options
  }

  mayPublish(topic: Topic): Decision | Promise<Decision> {
    if (this.#isOver) return PERMIT_OVER
    const { parsed } = knownTopic(topic)
    if (parsed?.kind !== 'command' || !this.#options.applications.has(parsed.applicationId)) return NOT_A_COMMAND_TOPIC
    const place = this.#options.directory.device(parsed.devEui)
    if (place instanceof Promise) return place.then((found) => commandDecision(found, parsed.applicationId))
    return commandDecision(place, parsed.applicationId)
  }

  /**
   * Containment: every Topic Name that the filter matches must be matched by the filter of the
   * topic endpoint.
   */
  maySubscribe(topicFilter: string): Decision {
    // The broker publishes there to the client's own Session only.
    if (topicFilter === MISSED_TOPIC_NAME) return ALLOWED
    const applicationId = applicationIdOf(topicFilter)
    if (applicationId === undefined) return reachesEverywhere(topicFilter) ? TOO_WIDE : NOT_AN_EVENT_TOPIC
    if (applicationId === '+' || applicationId === '#') return TOO_WIDE
    if (!this.#options.applications.has(applicationId)) return APPLICATION_NOT_OWN
    if (covers(applicationEventsTopic(applicationId), topicFilter)) return ALLOWED
    return reachesBeyondEvents(topicFilter) ? TOO_WIDE : NOT_AN_EVENT_TOPIC
  }

  /** An application can be made anew under the id that another organization's application had. */
  belongsSinceMs(topicFilter: string): Promise<number> {
    return this.#options.madeAtMs(applicationIdOf(topicFilter) ?? '')
  }

  whyUnmatched(topicFilter: string): Unmatched | undefined | Promise<Unmatched | undefined> {
    if (topicFilter === MISSED_TOPIC_NAME) return undefined
    return whyUnmatched(topicFilter, this.#options.applications, this.#options.directory)
  }

  watch(listener: (end: PermitEnd | undefined) => void): () => void {
    this.#listener = listener
    this.#options.holders.held(this)
    return () => {
      this.#listener = undefined
      this.#options.holders.released(this)
    }
  }

  recheck(): Promise<PermitEnd | undefined> {
    return this.#options.recheck(this.#options.claims)
  }

  tell(end: PermitEnd | undefined): void {
    if (end !== undefined) this.#isOver = true
    this.#listener?.(end)
  }
}

function commandDecision(place: DevicePlace | undefined, applicationId: string): Decision {
  if (place?.applicationId !== applicationId) return NOT_A_COMMAND_TOPIC
  return place.isDisabled ? DEVICE_DISABLED : ALLOWED
}

function reachesEverywhere(topicFilter: string): boolean {
  return topicFilter === '#' || topicFilter.startsWith('+')
}

/**
 * True for a filter of an application with `#`, or with `+` where the topics of events have a fixed
 * word.
 */
function reachesBeyondEvents(topicFilter: string): boolean {
  const [, , device, , event] = topicFilter.split('/')
  return topicFilter.endsWith('#') || device === '+' || event === '+'
}

/** The second level of a Topic Filter whose first level is `application`. */
function applicationIdOf(topicFilter: string): string | undefined {
  const [first, second] = topicFilter.split('/', 2)
  return first === 'application' ? second : undefined
}
