/**
 * The broker's policy on the registry: tokens and service credentials become permits, and changes
 * of the registry reach the live permits.
 */
import { timingSafeEqual } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Admission, Credentials, LostAccess, Permit, PermitEnd, Policy, Refusal } from '../broker/ports/policy.ts'
import type { Change } from '../identity/store/changes.ts'
import type { Directory } from '../identity/devices/directory.ts'
import type { TaggedDevices } from '../identity/devices/tagged-devices.ts'
import { isUnavailable } from '../identity/store/registry-unavailable.ts'
import type { User } from '../identity/people/users.ts'
import type { Registry } from '../identity/registry.ts'
import type { Application } from '../identity/tenants/applications.ts'
import type { ServiceCredential } from '../identity/tenants/service-credentials.ts'
import type { BrokerAccess } from '../identity/tokens/broker-access-records.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import type { ReasonCode } from '../mqtt/reason-codes.ts'
import { organizationEventsTopic } from '../lorawan/topics.ts'
import { holderOfToken, identityOfKey, tenantOf, tokenGround } from './holders.ts'
import { IntegratorPermit } from './integrator-permit.ts'
import type { IntegratorPermitParts } from './integrator-permit.ts'
import { NetworkServerPermit } from './network-server-permit.ts'
import type { NetworkServerPermitOptions } from './network-server-permit.ts'
import { Reaches } from './reaches.ts'
import { PermitWatch } from './permit-watch.ts'
import type { HeldPermit, PermitHolders } from './permit-watch.ts'

/** The Authentication Method by which a client renews its token on a live connection. */
const AUTHENTICATION_METHOD = 'JWT'
/** The literal password that goes with a broker-access token (specification §1.3). */
const TOKEN_PASSWORD = Buffer.from('default')
/**
 * The longest user name that is looked at, in UTF-16 units. A broker-access token has a tenth of
 * it. The bound stops the hashing of megabytes.
 */
const MAXIMUM_USER_NAME_LENGTH = 4_096
const SERVICE_USER_NAME = /^network-server-/
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/

/** The registry, as far as the policy asks it. */
export interface AccessRegistry {
  readonly changes: Pick<Registry['changes'], 'subscribe'>
  readonly directory: Directory
  readonly taggedDevices: TaggedDevices
  readonly tokens: Pick<
    Registry['tokens'],
    'verifyBrokerAccess' | 'readBrokerAccess' | 'recheckBrokerAccess' | 'getBrokerAccess'
  >
  readonly serviceCredentials: Pick<Registry['serviceCredentials'], 'authenticate' | 'get'>
  readonly users: { get(id: string): Promise<Pick<User, 'id' | 'isActive' | 'isAdmin'> | undefined> }
  readonly applications: { get(id: string): Promise<Pick<Application, 'createdAtMs'> | undefined> }
}

export interface AccessLimits {
  readonly integratorMessagesPerSecond: number
  readonly networkServerMessagesPerSecond: number
}

/** Is told when network servers of a tenant connect and disconnect. */
export interface NetworkServerWatch {
  came(tenant: string): void
  went(tenant: string): void
  forget(tenant: string): void
}

const NOBODY_WATCHES: NetworkServerWatch = { came: () => {}, went: () => {}, forget: () => {} }

const DEFAULT_ACCESS_LIMITS: AccessLimits = {
  integratorMessagesPerSecond: 1_000,
  networkServerMessagesPerSecond: 100_000,
}

export class AccessPolicy implements Policy {
  readonly authenticationMethod = AUTHENTICATION_METHOD
  readonly #registry: AccessRegistry
  readonly #limits: AccessLimits
  readonly #networkServers: NetworkServerWatch
  readonly #unknownDevices: NetworkServerPermitOptions['unknownDevices']
  readonly #watch = new PermitWatch()
  readonly reach: Reaches
  /**
   * One object for all permits, like `#recheckAccess` and `#recheckCredential`: a deployment holds
   * many thousands of permits.
   */
  readonly #holders: PermitHolders = {
    held: (permit) => this.#held(permit),
    released: (permit) => {
      this.#watch.remove(permit)
      if (permit instanceof NetworkServerPermit) this.#networkServers.went(permit.tenant)
    },
  }
  readonly #partsOfIntegrators: IntegratorPermitParts
  readonly #unsubscribe: () => void
  /**
   * Grows with each change. A permit that was checked before a change and is held after it is
   * checked again.
   */
  #changes = 0
  #accessLost: (lost: LostAccess) => void = () => {}

  constructor(
    registry: AccessRegistry,
    limits: AccessLimits = DEFAULT_ACCESS_LIMITS,
    networkServers: NetworkServerWatch = NOBODY_WATCHES,
    unknownDevices?: NetworkServerPermitOptions['unknownDevices'],
  ) {
    this.#unknownDevices = unknownDevices
    this.#networkServers = networkServers
    this.#registry = registry
    this.#limits = limits
    this.#partsOfIntegrators = {
      directory: registry.directory,
      madeAtMs: this.#madeAtMs,
      maximumMessagesPerSecond: limits.integratorMessagesPerSecond,
      recheck: this.#recheckAccess,
      holders: this.#holders,
    }
    this.reach = new Reaches({ directory: registry.directory, madeAtMs: this.#madeAtMs })
    this.#unsubscribe = registry.changes.subscribe((change) => {
      // The subscriptions of permits that are told of the change must be right already.
      this.reach.changed(change)
      this.#changed(change)
    })
  }

  /** The number of live connections that rest on the broker-access token. */
  connectionsWith(tokenId: string): number {
    return this.#watch.restingOn(tokenGround(tokenId)).length
  }

  close(): void {
    this.#unsubscribe()
  }

  watchAccess(listener: (lost: LostAccess) => void): void {
    this.#accessLost = listener
  }

  async authenticate(credentials: Credentials): Promise<Admission> {
    try {
      return await this.#judge(credentials)
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return refuse(ReasonCodes.serverUnavailable, 'registry_unavailable', 'the registry can’t be reached, try again')
    }
  }

  async #judge(credentials: Credentials): Promise<Admission> {
    const { userName, password, authenticationMethod } = credentials
    if (authenticationMethod !== undefined && authenticationMethod !== AUTHENTICATION_METHOD) {
      return refuse(
        ReasonCodes.badAuthenticationMethod,
        'authentication_method',
        `the Authentication Method here is ${AUTHENTICATION_METHOD}`,
      )
    }
    if (userName === undefined || userName.length > MAXIMUM_USER_NAME_LENGTH || CONTROL_CHARACTERS.test(userName)) {
      return refuse(
        ReasonCodes.badUserNameOrPassword,
        'user_name_invalid',
        'the user name must be a broker-access token',
      )
    }
    if (SERVICE_USER_NAME.test(userName)) return this.#authenticateService(userName, password)
    // The bytes must be equal: `default` followed by a NUL or anything else is another password.
    if (password?.length !== TOKEN_PASSWORD.length || !timingSafeEqual(password, TOKEN_PASSWORD)) {
      const refused = refuse(
        ReasonCodes.badUserNameOrPassword,
        'password_invalid',
        'the password must be the word default',
      )
      // A wrong password is the most frequent mistake, so the holder of the token is told of it.
      // Reading the token costs no more than verifying a forged one.
      const claims = this.#registry.tokens.readBrokerAccess(userName)
      return { ...refused, holder: claims && holderOfToken(claims) }
    }
    return this.#authenticateToken(userName)
  }

  async reauthenticate(_permit: Permit, authenticationData: Buffer | undefined): Promise<Admission> {
    if (authenticationData === undefined || authenticationData.length > MAXIMUM_USER_NAME_LENGTH) {
      return refuse(ReasonCodes.notAuthorized, 'token_missing', 'the Authentication Data must be a broker-access token')
    }
    return this.#authenticateToken(authenticationData.toString('latin1'))
  }

  async permitOn(ground: string): Promise<Permit | undefined> {
    const seenChanges = this.#changes
    const [kind, id = ''] = ground.split(':', 2)
    if (kind === 'credential') {
      const credential = await this.#registry.serviceCredentials.get(id)
      return credential && this.#networkServerPermit(credential, seenChanges)
    }
    // Revoked tokens have no record, and expired tokens are not found.
    const access = kind === 'token' ? await this.#registry.tokens.getBrokerAccess(id) : undefined
    const judged = access && (await this.#registry.tokens.recheckBrokerAccess(claimsOf(access)))
    return judged?.ok === true ? this.#integratorPermit(judged.value, seenChanges) : undefined
  }

  async #authenticateToken(jwt: string): Promise<Admission> {
    const seenChanges = this.#changes
    const verified = await this.#registry.tokens.verifyBrokerAccess(jwt)
    if (!verified.ok) {
      const refused = refuse(tokenReasonCode(verified.code), verified.reason, verified.message)
      return { ...refused, holder: verified.claims && holderOfToken(verified.claims) }
    }
    return { allowed: true, permit: await this.#integratorPermit(verified.value, seenChanges) }
  }

  async #authenticateService(userName: string, password: Buffer | undefined): Promise<Admission> {
    const seenChanges = this.#changes
    const credential = await this.#registry.serviceCredentials.authenticate(userName, password ?? new Uint8Array(0))
    if (credential === undefined) {
      return refuse(ReasonCodes.badUserNameOrPassword, 'service_credential_invalid', 'no such service credential')
    }
    return { allowed: true, permit: await this.#networkServerPermit(credential, seenChanges) }
  }

  readonly #recheckAccess = async (claims: BrokerAccessClaims): Promise<BrokerAccessClaims | PermitEnd> => {
    const again = await this.#registry.tokens.recheckBrokerAccess(claims)
    if (again.ok) return again.value
    return { reasonCode: ReasonCodes.notAuthorized, reason: again.message, code: again.reason }
  }

  readonly #recheckCredential = async (id: string): Promise<PermitEnd | undefined> =>
    (await this.#registry.serviceCredentials.get(id)) === undefined ? CREDENTIAL_REVOKED : undefined

  readonly #madeAtMs = async (applicationId: string): Promise<number> =>
    (await this.#registry.applications.get(applicationId))?.createdAtMs ?? Infinity

  async #integratorPermit(claims: BrokerAccessClaims, seenChanges: number): Promise<IntegratorPermit> {
    const tags = claims.scope?.tags
    if (claims.scope?.reachesAllApplications === true) {
      await this.reach.ready(tenantOf(claims.organizationId), organizationEventsTopic())
    }
    return new IntegratorPermit(this.#partsOfIntegrators, {
      claims,
      applications: await this.#registry.directory.applicationsOf(claims.organizationId),
      tagged: tags && (await this.#registry.taggedDevices.taggedWith(claims.organizationId, tags)),
      seenChanges,
    })
  }

  async #networkServerPermit(
    credential: Pick<ServiceCredential, 'id' | 'organizationId'>,
    seenChanges: number,
  ): Promise<NetworkServerPermit> {
    const { organizationId } = credential
    return new NetworkServerPermit({
      credential,
      applications: organizationId === null ? undefined : await this.#registry.directory.applicationsOf(organizationId),
      directory: this.#registry.directory,
      unknownDevices: this.#unknownDevices,
      maximumMessagesPerSecond: this.#limits.networkServerMessagesPerSecond,
      seenChanges,
      recheck: this.#recheckCredential,
      holders: this.#holders,
    })
  }

  #held(permit: HeldPermit): void {
    this.#watch.add(permit)
    if (permit instanceof NetworkServerPermit) this.#networkServers.came(permit.tenant)
    // A change between the check and this moment did not reach the permit.
    if (permit.seenChanges !== this.#changes) this.#recheck(permit)
  }

  #changed(change: Change): void {
    this.#changes += 1
    switch (change.kind) {
      case 'token_revoked':
        this.#end(`token:${change.tokenId}`, TOKEN_REVOKED)
        return
      case 'service_credential_revoked':
        this.#end(`credential:${change.id}`, CREDENTIAL_REVOKED)
        this.#accessLost({ identity: `network-server:${change.id}`, end: CREDENTIAL_REVOKED })
        return
      case 'api_key_revoked':
        this.#end(identityOfKey(change.apiKeyId), API_KEY_ENDED)
        this.#accessLost({ identity: identityOfKey(change.apiKeyId), end: API_KEY_ENDED })
        return
      case 'api_key_changed':
        for (const permit of this.#watch.restingOn(identityOfKey(change.apiKeyId))) this.#recheck(permit)
        return
      case 'organization_removed':
        this.#end(`organization:${change.organizationId}`, ORGANIZATION_REMOVED)
        this.#networkServers.forget(`organization:${change.organizationId}`)
        this.#accessLost({ tenant: `organization:${change.organizationId}`, end: ORGANIZATION_REMOVED })
        return
      case 'application_removed':
        for (const permit of this.#watch.restingOn(`organization:${change.organizationId}`)) permit.tell(undefined)
        return
      case 'member_removed':
        for (const permit of this.#watch.restingOn(`user:${change.userId}`)) this.#recheck(permit)
        void this.#memberRemoved(change.organizationId, change.userId)
        return
      case 'user_changed':
        for (const permit of this.#watch.restingOn(`user:${change.userId}`)) this.#recheck(permit)
        return
      case 'member_changed':
        for (const permit of this.#watch.restingOn(`user:${change.userId}`)) this.#recheck(permit)
        return
      case 'member_added':
      case 'application_created':
      case 'application_changed':
      case 'last_events_ended':
      case 'device_created':
      case 'device_changed':
      case 'device_removed':
      case 'devices_changed':
        // The directory answers with the new state, and nothing that a connection holds becomes
        // narrower.
        return
      case 'webhook_changed':
        // The part that runs webhooks follows them itself.
        return
      case 'device_profile_changed':
      case 'registration_rules_changed':
        // Profiles and rules give and take no rights.
        return
      case 'organization_bounds_changed':
        // Bounds give and take no rights: the broker asks for them at each use.
        return
      case 'signing_key_rotated':
        // Tokens of older keys stay good.
        return
      case 'resynchronized':
        void this.#recheckAll()
        return
    }
  }

  /**
   * A global admin has access without a membership. If nobody can tell whether the user is one,
   * access is lost.
   */
  async #memberRemoved(organizationId: string, userId: string): Promise<void> {
    const user = await this.#registry.users.get(userId).catch(() => undefined)
    if (user?.isAdmin === true) return
    const end = user === undefined ? USER_REMOVED : NOT_A_MEMBER
    this.#accessLost({ tenant: `organization:${organizationId}`, identity: `user:${userId}`, end })
  }

  /** Changes may have been missed: looks at the grounds of every permit again, some at a time. */
  async #recheckAll(): Promise<void> {
    const permits = this.#watch.all().values()
    const work = async (): Promise<void> => {
      for (const permit of permits) await this.#recheckPatiently(permit)
    }
    await Promise.all(Array.from({ length: RECHECKED_AT_ONCE }, work))
  }

  /**
   * The registry may be away again. A revocation can't be made then, so the permit stands for the
   * time that remembered tokens are trusted.
   */
  async #recheckPatiently(permit: HeldPermit): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        for (const ground of permit.grounds) {
          const organizationId = /^organization:(.*)$/.exec(ground)?.[1]
          // The permit holds this set, which may have to be read again.
          if (organizationId !== undefined) await this.#registry.directory.applicationsOf(organizationId)
        }
        // Without an end, the permit may be narrower.
        permit.tell(await permit.recheck())
        return
      } catch {
        if (tries < MAXIMUM_TRIES) await delay(TRY_AGAIN_MS, undefined, { ref: false })
        else return permit.tell(UNCHECKED)
      }
    }
  }

  #end(ground: string, end: PermitEnd): void {
    for (const permit of this.#watch.restingOn(ground)) permit.tell(end)
  }

  /**
   * Looks at the permit's grounds again. If nobody can tell in time whether they stand, the permit
   * is over: nobody keeps a right by a fault.
   */
  #recheck(permit: HeldPermit): void {
    const late = delay(RECHECK_MS, UNCHECKED, { ref: false })
    Promise.race([permit.recheck(), late]).then(
      (end) => {
        if (end !== undefined) permit.tell(end)
      },
      () => permit.tell(UNCHECKED),
    )
  }
}

/** The claims of a token on record. */
function claimsOf({ apiKeyId, ...claims }: BrokerAccess): BrokerAccessClaims {
  return apiKeyId === null ? claims : { ...claims, apiKeyId }
}

/** Permits that are checked at the same time after changes were missed. */
const RECHECKED_AT_ONCE = 20
/** How often such a check is tried, and the time between two tries: a minute in all. */
const MAXIMUM_TRIES = 60
const TRY_AGAIN_MS = 1_000
/**
 * How long a permit may be checked after a change of its grounds. This node alone may be cut from
 * the database, and has heard of the change from another node.
 */
const RECHECK_MS = 700

const UNCHECKED: PermitEnd = {
  reasonCode: ReasonCodes.unspecifiedError,
  reason: 'the permit could not be checked',
  code: 'permit_unchecked',
}
const NOT_A_MEMBER: PermitEnd = {
  reasonCode: ReasonCodes.notAuthorized,
  reason: 'the user is no member of the organization',
  code: 'not_a_member',
}
const USER_REMOVED: PermitEnd = {
  reasonCode: ReasonCodes.notAuthorized,
  reason: 'the user is inactive or was removed',
  code: 'user_inactive',
}
const TOKEN_REVOKED: PermitEnd = {
  reasonCode: ReasonCodes.administrativeAction,
  reason: 'the token has been revoked',
  code: 'token_revoked',
}
const CREDENTIAL_REVOKED: PermitEnd = {
  reasonCode: ReasonCodes.administrativeAction,
  reason: 'the service credential has been revoked',
  code: 'service_credential_revoked',
}
const API_KEY_ENDED: PermitEnd = {
  reasonCode: ReasonCodes.administrativeAction,
  reason: 'the API key of the token has been revoked',
  code: 'api_key_ended',
}
const ORGANIZATION_REMOVED: PermitEnd = {
  reasonCode: ReasonCodes.administrativeAction,
  reason: 'the organization has been removed',
  code: 'organization_removed',
}

/**
 * A text that is no valid token is a bad user name. A valid token without rights is not authorized.
 */
function tokenReasonCode(code: string): ReasonCode {
  return code === 'permission_denied' ? ReasonCodes.notAuthorized : ReasonCodes.badUserNameOrPassword
}

function refuse(reasonCode: ReasonCode, code: string, reason: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'close' }
}
