/**
 * The policy for brokers of other projects, which ask about their clients one question at a time.
 * Each answer comes from the permit that a connection to the broker of this service would hold.
 */
import { BoundedCache } from '../bounded-cache.ts'
import type { Permit, Policy } from '../broker/ports/policy.ts'
import type { Change } from '../identity/store/changes.ts'
import { parseTopicFilter } from '../lorawan/topics.ts'
import { hasWildcard, isValidTopicName } from '../mqtt/topic-name.ts'
import { isValidTopicFilter, parseSharedSubscription } from '../mqtt/topic-filter.ts'
import { Topic } from '../mqtt/topic.ts'
import { Remembered } from '../remembered.ts'
import { organizationOf, readHolder } from './holders.ts'

/** A client of a foreign broker, in the words of that broker. */
export interface ForeignClient {
  /** A broker-access token, or the user name of a service credential. */
  readonly userName: string
  /**
   * Set where the foreign broker belongs to one organization: clients of others are refused, and
   * Client Identifiers are free.
   */
  readonly onlyOrganizationId: string | undefined
}

/** The answer to a question. `code` is stable, and `reason` is a sentence. */
export type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly code: string; readonly reason: string }

/** The answer about a CONNECT. */
export type ConnectVerdict =
  | {
      readonly allowed: true
      /** The end of the client's right, ms since 1970; undefined for none. */
      readonly expiresAtMs: number | undefined
    }
  | Extract<Verdict, { readonly allowed: false }>

const ALLOWED: Verdict = { allowed: true }

const SERVICE_USER_NAME = /^network-server-([0-9a-z-]{1,64})$/

/** A Client Identifier that mosquitto makes up; nobody can guess one. */
const MADE_BY_MOSQUITTO = /^auto-[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}$/

/** The permits of service credentials that are remembered; a deployment has some. */
const MAXIMUM_CREDENTIALS = 1_000

/** The permits of tokens that are held after a question. */
const MAXIMUM_RECENT = 1_000

/** The parts that the answers come from. */
export interface ForeignBrokersOptions {
  readonly policy: Pick<Policy, 'authenticate'> & Required<Pick<Policy, 'permitOn'>>
  readonly changes: { subscribe(listener: (change: Change) => void): () => void }
}

/**
 * Answers the questions of foreign brokers. Nothing is remembered of tokens here: the registry
 * verifies each, from its own memory where it can, so a revocation counts for the next question.
 */
export class ForeignBrokers {
  readonly #options: ForeignBrokersOptions
  /** The questions after a CONNECT name no password, so they ask by the id of the credential. */
  readonly #credentials: Remembered<Permit | undefined>

  /**
   * Never asked for an answer. A permit with tags holds the devices that have them: without it,
   * each question would read them from the registry again.
   */
  readonly #recent = new BoundedCache<Permit>(MAXIMUM_RECENT)

  constructor(options: ForeignBrokersOptions) {
    this.#options = options
    this.#credentials = new Remembered<Permit | undefined>({
      look: (id) => options.policy.permitOn(`credential:${id}`),
      maximum: MAXIMUM_CREDENTIALS,
    })
    options.changes.subscribe((change) => {
      if (change.kind === 'service_credential_revoked') this.#credentials.forget(change.id)
      else if (change.kind === 'resynchronized') this.#credentials.forgetAll()
    })
  }

  /**
   * Judges a CONNECT. In a foreign broker the Client Identifiers of all organizations meet, so a
   * client must name one that begins with its organization's id and a hyphen.
   */
  async mayConnect(
    client: ForeignClient,
    given: {
      readonly password: string
      /** Undefined where the broker tells none; then the Client Identifier is not judged. */
      readonly clientId: string | undefined
    },
  ): Promise<ConnectVerdict> {
    const admission = await this.#options.policy.authenticate({
      protocolVersion: 5,
      clientId: given.clientId ?? '',
      userName: client.userName,
      password: Buffer.from(given.password),
      authenticationMethod: undefined,
      authenticationData: undefined,
      peer: { address: '', listener: 'tls' },
    })
    if (!admission.allowed) return { allowed: false, code: admission.code, reason: admission.reason }
    const { permit } = admission
    if (!isMeant(permit, client)) return NOT_OF_THIS_BROKER
    if (given.clientId !== undefined && !mayUse(permit, client, given.clientId)) return CLIENT_ID_NOT_OWN
    return { allowed: true, expiresAtMs: permit.expiresAtMs }
  }

  /** Whether the client holds a right at present, whatever it asks for. */
  async isAdmitted(client: ForeignClient): Promise<Verdict> {
    const permit = await this.#permitOf(client)
    return 'allowed' in permit ? permit : ALLOWED
  }

  /** Whether the client may use the Client Identifier, and the Session that belongs to it. */
  async mayUseClientId(client: ForeignClient, clientId: string): Promise<Verdict> {
    const permit = await this.#permitOf(client)
    if ('allowed' in permit) return permit
    return mayUse(permit, client, clientId) ? ALLOWED : CLIENT_ID_NOT_OWN
  }

  /** Judges a PUBLISH of the client. */
  async mayPublish(client: ForeignClient, topicName: string): Promise<Verdict> {
    const permit = await this.#permitOf(client)
    if ('allowed' in permit) return permit
    if (!isValidTopicName(topicName)) return TOPIC_INVALID
    const decision = await permit.mayPublish(new Topic(topicName))
    // Another broker routes by the topic of its client, and can't send an event on under another.
    return decision.allowed && decision.as !== undefined ? NOT_OF_THE_APPLICATION : verdictOf(decision)
  }

  /**
   * Judges a subscription. `asksAtDelivery`: the broker asks again for each message, by
   * `mayReceive`. Without it, a Topic Filter is refused that is wider than the messages which it
   * may bring.
   */
  async maySubscribe(client: ForeignClient, topicFilter: string, asksAtDelivery: boolean): Promise<Verdict> {
    const permit = await this.#permitOf(client)
    if ('allowed' in permit) return permit
    const shared = parseSharedSubscription(topicFilter)
    if (shared === 'invalid') return TOPIC_INVALID
    const plain = shared?.topicFilter ?? topicFilter
    if (!isValidTopicFilter(plain)) return TOPIC_INVALID
    const verdict = verdictOf(permit.maySubscribe(plain))
    if (!verdict.allowed || asksAtDelivery) return verdict
    return receivesAllOf(permit, plain) ? ALLOWED : NEEDS_DELIVERY_CHECK
  }

  /** Judges the delivery of a message to the client. */
  async mayReceive(client: ForeignClient, topicName: string): Promise<Verdict> {
    const permit = await this.#permitOf(client)
    if ('allowed' in permit) return permit
    if (!isValidTopicName(topicName)) return TOPIC_INVALID
    const verdict = verdictOf(permit.maySubscribe(topicName))
    if (!verdict.allowed || permit.mayReceive === undefined || permit.mayReceive(new Topic(topicName))) return verdict
    return NOT_FOR_THIS_CLIENT
  }

  /** The client's permit, or the refusal. */
  async #permitOf(client: ForeignClient): Promise<Permit | Extract<Verdict, { readonly allowed: false }>> {
    const credentialId = SERVICE_USER_NAME.exec(client.userName)?.[1]
    if (credentialId !== undefined) {
      const permit = await this.#credentials.of(credentialId)
      if (permit === undefined) return CREDENTIAL_UNKNOWN
      return isMeant(permit, client) ? permit : NOT_OF_THIS_BROKER
    }
    const admission = await this.#options.policy.authenticate({
      protocolVersion: 5,
      clientId: '',
      userName: client.userName,
      password: Buffer.from('default'),
      authenticationMethod: undefined,
      authenticationData: undefined,
      peer: { address: '', listener: 'tls' },
    })
    if (!admission.allowed) return { allowed: false, code: admission.code, reason: admission.reason }
    const { permit } = admission
    this.#recent.set(permit.ground, permit)
    return isMeant(permit, client) ? permit : NOT_OF_THIS_BROKER
  }
}

const NOT_OF_THE_APPLICATION: Verdict = {
  allowed: false,
  code: 'event_device_unknown',
  reason: 'no such device in this application',
}

function verdictOf(decision: ReturnType<Permit['maySubscribe']>): Verdict {
  return decision.allowed ? ALLOWED : { allowed: false, code: decision.code, reason: decision.reason }
}

/**
 * True where the broker is for all organizations, or for that of the permit. A network server of
 * the whole deployment serves each organization.
 */
function isMeant(permit: Permit, { onlyOrganizationId }: ForeignClient): boolean {
  const organizationId = organizationOf(permit.tenant)
  return onlyOrganizationId === undefined || organizationId === undefined || organizationId === onlyOrganizationId
}

/**
 * True for a Client Identifier that no client of another organization may use. A Session of the
 * foreign broker belongs to whoever names its Client Identifier.
 */
function mayUse(permit: Permit, { onlyOrganizationId, userName }: ForeignClient, clientId: string): boolean {
  if (onlyOrganizationId !== undefined || MADE_BY_MOSQUITTO.test(clientId)) return true
  const { organizationId, serviceCredentialId } = readHolder(permit)
  if (serviceCredentialId !== undefined && clientId.startsWith(userName)) return true
  return organizationId !== undefined && clientId.startsWith(`${organizationId}-`)
}

/**
 * True where the permit lets the client receive each message that the Topic Filter can match. A
 * network server receives all commands of an application that is its own.
 */
function receivesAllOf(permit: Permit, topicFilter: string): boolean {
  if (permit.mayReceive === undefined) return true
  if (!hasWildcard(topicFilter)) return permit.mayReceive(new Topic(topicFilter))
  if (permit.whyNarrower !== undefined) return permit.whyNarrower(topicFilter) === undefined
  const parsed = parseTopicFilter(topicFilter)
  return parsed !== undefined && parsed.applicationId !== '+'
}

function refusal(code: string, reason: string): Extract<Verdict, { readonly allowed: false }> {
  return { allowed: false, code, reason }
}

const TOPIC_INVALID = refusal('hook_topic_invalid', 'not a valid topic')
const CREDENTIAL_UNKNOWN = refusal('service_credential_invalid', 'no such service credential')
const NOT_OF_THIS_BROKER = refusal('hook_organization_other', 'this broker is for another organization')
const CLIENT_ID_NOT_OWN = refusal(
  'hook_client_id_not_own',
  'the Client Identifier must begin with the id of the organization and a hyphen',
)
const NEEDS_DELIVERY_CHECK = refusal(
  'hook_filter_too_wide',
  'the Topic Filter is wider than the right, and this broker does not ask at each delivery',
)
const NOT_FOR_THIS_CLIENT = refusal('hook_message_not_granted', 'the message is not for this client')
