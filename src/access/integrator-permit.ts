/**
 * The permit of a user's broker-access token. It allows to subscribe to the events of the
 * organization's applications, and to publish commands to their devices.
 */
import { EXPIRY_TOPIC_NAME } from '../broker/delivery/expiry-notice.ts'
import { MISSED_TOPIC_NAME } from '../broker/delivery/missed-notice.ts'
import type { Decision, Permit, PermitEnd, PermitWatcher, Refusal, Unmatched } from '../broker/ports/policy.ts'
import { ALLOWED, ownerOf } from '../broker/ports/policy.ts'
import type { DevicePlace, Directory } from '../identity/devices/directory.ts'
import type { LiveDevices } from '../identity/devices/tagged-devices.ts'
import { limitsEvents } from '../identity/tokens/scope.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'
import { knownTopic } from '../lorawan/uplinks/known-topic.ts'
import { applicationEventsTopic, isOrganizationEventsTopic } from '../lorawan/topics.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { Topic } from '../mqtt/topic.ts'
import { covers } from '../mqtt/topic-filter.ts'
import { holderOfToken } from './holders.ts'
import type { HeldPermit, PermitHolders } from './permit-watch.ts'
import { ScopedEvents } from './scoped-events.ts'
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
/**
 * Read-only by its scope, or because its user is a member who only reads. The topic is not looked
 * at, so the answer tells nothing of devices.
 */
const READ_ONLY = refusal('publish_read_only', 'the token is for reading only, and sends no commands')
/**
 * One answer, whether the thing is outside the scope, of another organization, or does not exist:
 * the holder of a narrow token learns nothing of its organization's other devices.
 */
const OUTSIDE_SCOPE = refusal(
  'subscribe_outside_scope',
  'the token is not for this application, device or kind of event',
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

/** The parts that all permits of users share: a deployment holds many thousands of permits. */
export interface IntegratorPermitParts {
  readonly directory: Directory
  /** When an application was made, ms since 1970; Infinity when there is none. */
  readonly madeAtMs: (applicationId: string) => Promise<number>
  readonly maximumMessagesPerSecond: number
  /** Looks at the permit's ground again: the claims as they are now, or why the ground is gone. */
  readonly recheck: (claims: BrokerAccessClaims) => Promise<BrokerAccessClaims | PermitEnd>
  readonly holders: PermitHolders
}

export interface IntegratorPermitOptions {
  readonly claims: BrokerAccessClaims
  /** The organization's applications. The set is kept right while the permit lives. */
  readonly applications: ReadonlySet<string>
  readonly seenChanges: number
  /** The devices with the tags of the token's scope; undefined for a scope without tags. */
  readonly tagged?: LiveDevices | undefined
}

export class IntegratorPermit implements Permit, HeldPermit {
  readonly tenant: string
  readonly identity: string
  readonly ground: string
  /** Undefined for a token without a scope: its deliveries are not asked for. */
  readonly mayReceive: ((topic: Topic) => boolean) | undefined
  readonly seenChanges: number
  readonly #parts: IntegratorPermitParts
  readonly #claims: BrokerAccessClaims
  readonly #applications: ReadonlySet<string>
  #watcher: PermitWatcher | undefined = undefined
  /** Undefined: the token reaches all events of its organization. */
  readonly #scoped: ScopedEvents | undefined
  readonly #reachesAll: boolean
  #isReadOnly: boolean
  #isOver = false

  constructor(parts: IntegratorPermitParts, { claims, applications, seenChanges, tagged }: IntegratorPermitOptions) {
    const { tenant, identity, ground } = holderOfToken(claims)
    this.tenant = tenant
    this.identity = identity
    this.ground = ground
    this.seenChanges = seenChanges
    this.#parts = parts
    this.#claims = claims
    this.#applications = applications
    const { scope } = claims
    this.#isReadOnly = scope?.isReadOnly === true
    this.#reachesAll = scope?.reachesAllApplications === true
    const isScoped = limitsEvents(scope) || this.#reachesAll
    const scoped = scope && isScoped ? new ScopedEvents(scope, applications, tagged) : undefined
    this.#scoped = scoped
    this.mayReceive = scoped && ((topic) => scoped.mayReceive(topic))
  }

  get expiresAtMs(): number {
    return this.#claims.expiresAtMs
  }

  get beganAtMs(): number | undefined {
    return this.#claims.issuedAtMs
  }

  get maximumMessagesPerSecond(): number {
    return this.#parts.maximumMessagesPerSecond
  }

  get grounds(): readonly string[] {
    return [this.tenant, ownerOf(this.identity), this.ground]
  }

  mayPublish(topic: Topic): Decision | Promise<Decision> {
    if (this.#isOver) return PERMIT_OVER
    if (this.#isReadOnly) return READ_ONLY
    const { parsed } = knownTopic(topic)
    if (parsed?.kind !== 'command' || !this.#applications.has(parsed.applicationId)) return NOT_A_COMMAND_TOPIC
    if (this.#scoped?.reachesDevice(parsed.applicationId, parsed.devEui) === false) return NOT_A_COMMAND_TOPIC
    const place = this.#parts.directory.device(parsed.devEui)
    if (place instanceof Promise) return place.then((found) => commandDecision(found, parsed.applicationId))
    return commandDecision(place, parsed.applicationId)
  }

  /**
   * Containment: every Topic Name that the filter matches must be matched by the filter of the
   * topic endpoint.
   */
  maySubscribe(topicFilter: string): Decision {
    // The broker publishes there to the client's own Session only.
    if (isNotice(topicFilter)) return ALLOWED
    const applicationId = applicationIdOf(topicFilter)
    if (applicationId === undefined) return reachesEverywhere(topicFilter) ? TOO_WIDE : NOT_AN_EVENT_TOPIC
    if (applicationId === '+' && this.#reachesAll && isOrganizationEventsTopic(topicFilter)) {
      return this.#scoped?.isOutside(topicFilter) === true ? OUTSIDE_SCOPE : ALLOWED
    }
    if (applicationId === '+' || applicationId === '#') return TOO_WIDE
    if (this.#scoped?.reachesApplication(applicationId) === false) return OUTSIDE_SCOPE
    if (!this.#applications.has(applicationId)) return APPLICATION_NOT_OWN
    if (covers(applicationEventsTopic(applicationId), topicFilter)) {
      return this.#scoped?.isOutside(topicFilter) === true ? OUTSIDE_SCOPE : ALLOWED
    }
    return reachesBeyondEvents(topicFilter) ? TOO_WIDE : NOT_AN_EVENT_TOPIC
  }

  /** An application can be made anew under the id that another organization's application had. */
  async belongsSinceMs(topicFilter: string): Promise<number> {
    // The broker compares each application by itself.
    if (isOrganizationEventsTopic(topicFilter)) return 0
    return this.#parts.madeAtMs(applicationIdOf(topicFilter) ?? '')
  }

  whyUnmatched(topicFilter: string): Unmatched | undefined | Promise<Unmatched | undefined> {
    if (isNotice(topicFilter)) return undefined
    return whyUnmatched(topicFilter, (applicationId) => this.#reaches(applicationId), this.#parts.directory)
  }

  whyNarrower(topicFilter: string): string | undefined {
    return this.#scoped?.whyNarrower(topicFilter)
  }

  #reaches(applicationId: string): boolean {
    return this.#applications.has(applicationId) && (this.#scoped?.reachesApplication(applicationId) ?? true)
  }

  watch(watcher: PermitWatcher): void {
    this.#watcher = watcher
    this.#parts.holders.held(this)
  }

  unwatch(watcher: PermitWatcher): void {
    if (this.#watcher !== watcher) return
    this.#watcher = undefined
    this.#parts.holders.released(this)
  }

  /** The scope of a token never changes, but its user may be read-only from now on. */
  async recheck(): Promise<PermitEnd | undefined> {
    const now = await this.#parts.recheck(this.#claims)
    if ('reasonCode' in now) return now
    this.#isReadOnly = now.scope?.isReadOnly === true
    return undefined
  }

  tell(end: PermitEnd | undefined): void {
    if (end !== undefined) this.#isOver = true
    this.#watcher?.permitChanged(end)
  }
}

function isNotice(topicFilter: string): boolean {
  return topicFilter === MISSED_TOPIC_NAME || topicFilter === EXPIRY_TOPIC_NAME
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
