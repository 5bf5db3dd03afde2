/**
 * The permit of a network server's service credential. The network server publishes the events of
 * registered devices, and subscribes to their commands.
 */
import type { Decision, MessageFault, Permit, PermitEnd, PermitWatcher, Refusal } from '../broker/ports/policy.ts'
import { ALLOWED } from '../broker/ports/policy.ts'
import type { DevicePlace, Directory } from '../identity/devices/directory.ts'
import type { ServiceCredential } from '../identity/tenants/service-credentials.ts'
import { EventInspection } from '../lorawan/uplinks/event-inspection.ts'
import { knownTopic } from '../lorawan/uplinks/known-topic.ts'
import type { KnownTopic } from '../lorawan/uplinks/known-topic.ts'
import { eventTopic, parseTopicFilter } from '../lorawan/topics.ts'
import type { ParsedTopic } from '../lorawan/topics.ts'
import type { UnknownDevices } from '../lorawan/unknown-devices/unknown-devices.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import { Topic } from '../mqtt/topic.ts'
import type { HeldPermit, PermitHolders } from './permit-watch.ts'

/**
 * A refused PUBLISH that can't be told is discarded and counted. The connection stays open, because
 * the events of the network server's other devices must flow.
 */
const NOT_AN_EVENT = refusal('event_topic_invalid', 'a network server publishes device events alone')
const UNKNOWN_DEVICE = refusal('event_device_unknown', 'no such device in this application')
/**
 * A Will Message is judged after its connection has ended, perhaps by the same change that ended
 * the permit.
 */
const PERMIT_OVER = refusal('permit_over', 'what allowed it has ended')
/** The topic names another application of Fieldgate than the device's. Nothing is kept for it. */
const DEVICE_ELSEWHERE = refusal('event_device_unknown', 'no such device in this application')
const DEVICE_DISABLED = refusal('device_disabled', 'the device is disabled')
const NOT_A_COMMAND_FILTER = refusal('subscribe_not_granted', 'a network server subscribes to commands alone')

function refusal(code: string, reason: string): Refusal {
  return { allowed: false, reasonCode: ReasonCodes.notAuthorized, reason, code, untold: 'discard' }
}

/**
 * ChirpStack v4 asks for Clean Start 0 and names no Session Expiry Interval. By the specification
 * its Session ends with the connection. It then throws away each event that was not acknowledged.
 */
const DEFAULT_SESSION_EXPIRY_SECONDS = 3_600

/** Kept events of the device go out first: the event is kept behind them, where there is room. */
interface Preceded extends Refusal {
  /** The decision where the event can't be kept. */
  readonly otherwise: Decision
}

type EventTopic = Extract<ParsedTopic, { readonly kind: 'event' }>

export interface NetworkServerPermitOptions {
  readonly credential: Pick<ServiceCredential, 'id' | 'organizationId'>
  /**
   * The applications of the credential's organization; the set is kept right while the permit
   * lives. Undefined: the credential is for the whole deployment.
   */
  readonly applications: ReadonlySet<string> | undefined
  readonly directory: Directory
  /** Keeps the events of devices that are not registered. Absent: they are refused. */
  readonly unknownDevices?: Pick<UnknownDevices, 'keep' | 'precede'> | undefined
  readonly maximumMessagesPerSecond: number
  readonly seenChanges: number
  /** Looks at the credential again. Undefined: the credential still stands. */
  readonly recheck: (credentialId: string) => Promise<PermitEnd | undefined>
  readonly holders: PermitHolders
}

export class NetworkServerPermit implements Permit, HeldPermit {
  readonly tenant: string
  readonly identity: string
  /** A network server of the whole deployment pays for itself: all of them have the same tenant. */
  readonly account: string | undefined
  readonly ground: string
  readonly expiresAtMs = undefined
  readonly defaultSessionExpirySeconds = DEFAULT_SESSION_EXPIRY_SECONDS
  readonly maximumMessagesPerSecond: number
  readonly backPressure: 'own' | 'shared'
  readonly mayReceive: ((topic: Topic) => boolean) | undefined
  readonly grounds: readonly string[]
  readonly seenChanges: number
  readonly #options: NetworkServerPermitOptions
  readonly #directory: Directory
  readonly #applications: ReadonlySet<string> | undefined
  readonly #inspection = new EventInspection()
  #watcher: PermitWatcher | undefined = undefined
  #isOver = false

  constructor(options: NetworkServerPermitOptions) {
    const { id, organizationId } = options.credential
    this.tenant = organizationId === null ? 'deployment' : `organization:${organizationId}`
    this.backPressure = organizationId === null ? 'shared' : 'own'
    this.identity = `network-server:${id}`
    this.account = organizationId === null ? this.identity : undefined
    this.maximumMessagesPerSecond = options.maximumMessagesPerSecond
    this.seenChanges = options.seenChanges
    this.ground = `credential:${id}`
    this.grounds = [this.tenant, this.ground]
    this.#options = options
    const { applications } = options
    this.#applications = applications
    this.#directory = options.directory
    // Network servers subscribe to the commands of all applications. A network server of an
    // organization gets the commands of the organization's applications only.
    this.mayReceive = applications === undefined ? undefined : (topic) => isOf(applications, knownTopic(topic).parsed)
  }

  mayPublish(topic: Topic): Decision | Promise<Decision> {
    if (this.#isOver) return PERMIT_OVER
    const known = knownTopic(topic)
    const { parsed } = known
    if (parsed?.kind !== 'event' || parsed.eventKind === 'state') return NOT_AN_EVENT
    const { applicationId } = parsed
    const directory = this.#directory
    const isForeign = this.#applications?.has(applicationId) === false
    const { devicesVersion } = directory
    if (!isForeign && known.decision !== undefined && known.decidedAt === devicesVersion) return known.decision
    const place = directory.device(parsed.devEui)
    if (place instanceof Promise) return place.then((found) => this.#decide(parsed, found, known))
    const decision = this.#decide(parsed, place, known)
    if (isForeign || (decision !== ALLOWED && decision !== UNKNOWN_DEVICE && decision !== DEVICE_DISABLED)) {
      return decision
    }
    // Network servers share what is known of a topic: only what is right for each of them stays.
    if (place === undefined || place.applicationId === applicationId) {
      known.decision = decision
      known.decidedAt = devicesVersion
    }
    return decision
  }

  /** Keeps the event of a device that is not registered, or that has kept events. */
  takeRefused(topic: Topic, payload: Buffer, refused: Refusal): Decision {
    const { credential, unknownDevices } = this.#options
    const { parsed } = knownTopic(topic)
    if (unknownDevices === undefined || parsed?.kind !== 'event') return refused
    const otherwise = isPreceded(refused) ? refused.otherwise : refused
    if (refused !== UNKNOWN_DEVICE && refused === otherwise) return refused
    const { applicationId, devEui, eventKind: kind } = parsed
    if (kind === 'state') return refused
    const source = { networkServer: `credential:${credential.id}`, organizationId: credential.organizationId }
    const keeping = unknownDevices.keep(source, { applicationId, devEui, kind, payload })
    if (keeping === undefined) return otherwise
    const owned = keeping.then(
      () => undefined,
      () => refused,
    )
    return { allowed: true, taken: true, owned }
  }

  #decide(topic: EventTopic, place: DevicePlace | undefined, known: KnownTopic): Decision | Promise<Decision> {
    const { credential } = this.#options
    const directory = this.#directory
    const applications = this.#applications
    const { organizationId } = credential
    if (place === undefined) return UNKNOWN_DEVICE
    const isOwn = organizationId === null || place.organizationId === organizationId
    if (place.applicationId === topic.applicationId && (applications?.has(topic.applicationId) ?? true)) {
      return this.#decideOn(place, topic, undefined)
    }
    if (!isOwn) return UNKNOWN_DEVICE
    // A network server may name its own ids of applications: they are none of Fieldgate's.
    if (applications !== undefined) {
      return applications.has(topic.applicationId) ? DEVICE_ELSEWHERE : this.#decideOn(place, topic, known)
    }
    const owner = directory.organizationOf(topic.applicationId)
    if (owner instanceof Promise) {
      return owner.then((found) => (found === undefined ? this.#decideOn(place, topic, known) : DEVICE_ELSEWHERE))
    }
    return owner === undefined ? this.#decideOn(place, topic, known) : DEVICE_ELSEWHERE
  }

  /** With a `readdressed` topic: the event goes on under the application of the device. */
  #decideOn(place: DevicePlace, topic: EventTopic, readdressed: KnownTopic | undefined): Decision {
    if (place.isDisabled) return DEVICE_DISABLED
    const decision = readdressed === undefined ? ALLOWED : elsewhere(readdressed, place, topic)
    const isPreceding = this.#options.unknownDevices?.precede(topic.devEui, place.organizationId)
    return isPreceding === true ? precededBy(decision) : decision
  }

  inspect(topic: Topic, message: { readonly payload: Buffer }, second: number): MessageFault | undefined {
    const { parsed } = knownTopic(topic)
    if (parsed?.kind !== 'event' || parsed.eventKind === 'state') return undefined
    const { applicationId, devEui, eventKind } = parsed
    const fault = this.#inspection.inspect(eventKind, devEui, message, second)
    // All devices of an application share the faulty setting, so they share one topic.
    return fault && { ...fault, topic: `application/${applicationId}/device/+/event/${eventKind}` }
  }

  maySubscribe(topicFilter: string): Decision {
    const filter = parseTopicFilter(topicFilter)
    if (filter === undefined || !('command' in filter.tail)) return NOT_A_COMMAND_FILTER
    const applications = this.#applications
    if (applications === undefined || filter.applicationId === '+') return ALLOWED
    return applications.has(filter.applicationId) ? ALLOWED : NOT_A_COMMAND_FILTER
  }

  watch(watcher: PermitWatcher): void {
    this.#watcher = watcher
    this.#options.holders.held(this)
  }

  unwatch(watcher: PermitWatcher): void {
    if (this.#watcher !== watcher) return
    this.#watcher = undefined
    this.#options.holders.released(this)
  }

  recheck(): Promise<PermitEnd | undefined> {
    return this.#options.recheck(this.#options.credential.id)
  }

  tell(end: PermitEnd | undefined): void {
    if (end !== undefined) this.#isOver = true
    this.#watcher?.permitChanged(end)
  }
}

function isOf(applications: ReadonlySet<string>, topic: ParsedTopic | undefined): boolean {
  return topic !== undefined && applications.has(topic.applicationId)
}

/** The event goes on under the application of its device. */
function elsewhere(known: KnownTopic, place: DevicePlace, { devEui, eventKind }: EventTopic): Decision {
  const name = eventTopic(place.applicationId, devEui, eventKind)
  if (known.elsewhere?.as.name !== name) known.elsewhere = { allowed: true, as: new Topic(name) }
  return known.elsewhere
}

function precededBy(otherwise: Decision): Preceded {
  const reason = 'earlier events of the device still wait'
  return { ...refusal('event_device_unknown', reason), otherwise }
}

function isPreceded(refused: Refusal): refused is Preceded {
  return 'otherwise' in refused
}
