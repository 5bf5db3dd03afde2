/**
 * A registry in memory for the tests of `access`. Each answer comes in a later turn, can be held
 * back until the test lets it go, and can be made to fail. Changes are told as the registry tells
 * them.
 */
import assert from 'node:assert/strict'
import type { DevicePlace } from '../identity/devices/directory.ts'
import type { Directory } from '../identity/devices/directory.ts'
import { createChanges } from '../identity/store/changes.ts'
import { granted, refuse } from '../identity/store/result.ts'
import type { Result } from '../identity/store/result.ts'
import type { BrokerAccess } from '../identity/tokens/broker-access-records.ts'
import { hasTags, readOnlyScope } from '../identity/tokens/scope.ts'
import type { Scope } from '../identity/tokens/scope.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'
import type { AccessRegistry } from './policy.ts'

/** A question to the registry. */
type Question = 'verify' | 'recheck' | 'applicationsOf' | 'credential' | 'user'

interface FakeUser {
  readonly id: string
  isActive: boolean
  isAdmin: boolean
}

export const NOW_MS = 1_000_000

export class FakeRegistry implements AccessRegistry {
  readonly changes = createChanges(assert.ifError)
  readonly #users = new Map<string, FakeUser>()
  readonly #organizations = new Map<string, { readonly members: Set<string>; readonly applications: Set<string> }>()
  readonly #applications = new Map<string, { readonly organizationId: string; readonly createdAtMs: number }>()
  readonly #devices = new Map<string, DevicePlace>()
  readonly #tokens = new Map<string, BrokerAccessClaims>()
  readonly #tags = new Map<string, Readonly<Record<string, string>>>()
  readonly #revoked = new Set<string>()
  readonly #readOnly = new Set<string>()
  readonly #credentials = new Map<string, { readonly organizationId: string | null; readonly password: string }>()
  readonly #held = new Map<Question, Promise<void>>()
  readonly #failing = new Set<Question>()
  /** True: places of devices are not at hand, and have to be looked up. */
  isSlow = false

  constructor() {
    this.changes.subscribe(() => {
      this.directory.devicesVersion = {}
    })
  }

  addOrganization(id: string, ...applicationIds: readonly string[]): void {
    this.#organizations.set(id, { members: new Set(), applications: new Set() })
    for (const applicationId of applicationIds) this.addApplication(applicationId, id)
  }

  addApplication(applicationId: string, organizationId: string, createdAtMs = NOW_MS): void {
    this.#applications.set(applicationId, { organizationId, createdAtMs })
    this.#organization(organizationId).applications.add(applicationId)
    this.changes.emit({ kind: 'application_created', applicationId, organizationId })
  }

  removeApplication(applicationId: string): void {
    const { organizationId = '' } = this.#applications.get(applicationId) ?? {}
    this.#applications.delete(applicationId)
    this.#organizations.get(organizationId)?.applications.delete(applicationId)
    for (const [devEui, place] of this.#devices) if (place.applicationId === applicationId) this.#devices.delete(devEui)
    this.changes.emit({ kind: 'application_removed', applicationId, organizationId })
  }

  addDevice(devEui: string, applicationId: string, fields: Partial<DevicePlace> = {}): void {
    const organizationId = this.#applications.get(applicationId)?.organizationId ?? ''
    this.#devices.set(devEui, { applicationId, organizationId, isDisabled: false, hasTags: false, ...fields })
    this.changes.emit({ kind: 'device_created', devEui, applicationId, organizationId })
  }

  setTags(devEui: string, tags: Readonly<Record<string, string>>): void {
    this.#tags.set(devEui, tags)
  }

  /** Adds an active user. */
  addUser(id: string, fields: Partial<Omit<FakeUser, 'id'>> = {}): void {
    this.#users.set(id, { id, isActive: true, isAdmin: false, ...fields })
  }

  changeUser(id: string, fields: Partial<Omit<FakeUser, 'id'>>): void {
    Object.assign(this.#users.get(id) ?? {}, fields)
    this.changes.emit({ kind: 'user_changed', userId: id })
  }

  removeUser(id: string): void {
    this.#users.delete(id)
    this.changes.emit({ kind: 'user_changed', userId: id })
    for (const organizationId of this.#organizations.keys()) this.removeMember(organizationId, id)
  }

  addMember(organizationId: string, userId: string): void {
    this.#organization(organizationId).members.add(userId)
    this.changes.emit({ kind: 'member_added', organizationId, userId })
  }

  /** Makes the member one who only reads, or takes that back. */
  setReadOnly(organizationId: string, userId: string, isReadOnly: boolean): void {
    if (isReadOnly) this.#readOnly.add(`${organizationId} ${userId}`)
    else this.#readOnly.delete(`${organizationId} ${userId}`)
    this.changes.emit({ kind: 'member_changed', organizationId, userId })
  }

  removeMember(organizationId: string, userId: string): void {
    if (!this.#organization(organizationId).members.delete(userId)) return
    this.changes.emit({ kind: 'member_removed', organizationId, userId })
  }

  removeOrganization(organizationId: string): void {
    const { members, applications } = this.#organization(organizationId)
    const credentials = [...this.#credentials].filter(([, one]) => one.organizationId === organizationId)
    const applicationIds = [...applications]
    this.#organizations.delete(organizationId)
    applications.clear()
    for (const [id] of credentials) this.#credentials.delete(id)
    this.changes.emit({ kind: 'organization_removed', organizationId })
    for (const [id] of credentials) this.changes.emit({ kind: 'service_credential_revoked', id })
    for (const applicationId of applicationIds) {
      this.#applications.delete(applicationId)
      this.changes.emit({ kind: 'application_removed', applicationId, organizationId })
    }
    for (const userId of members) this.changes.emit({ kind: 'member_removed', organizationId, userId })
  }

  /** Issues a token. Its text is its id. */
  addToken(tokenId: string, userId: string, organizationId: string, expiresAtMs = NOW_MS + 1, scope?: Scope): void {
    this.#tokens.set(tokenId, { tokenId, userId, organizationId, expiresAtMs, scope })
  }

  revokeToken(tokenId: string): void {
    this.#revoked.add(tokenId)
    this.changes.emit({ kind: 'token_revoked', tokenId })
  }

  addCredential(id: string, organizationId: string | null, password = 'secret'): void {
    this.#credentials.set(id, { organizationId, password })
  }

  revokeCredential(id: string): void {
    this.#credentials.delete(id)
    this.changes.emit({ kind: 'service_credential_revoked', id })
  }

  /** Holds the next answers to the question back. Returns the function that lets them go. */
  hold(question: Question): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#held.set(question, promise)
    return () => {
      this.#held.delete(question)
      resolve()
    }
  }

  /** From now on the question is answered by an error. */
  fail(question: Question): void {
    this.#failing.add(question)
  }

  readonly directory: { -readonly [Member in keyof Directory]: Directory[Member] } = {
    devicesVersion: {},
    applicationsOf: (organizationId) =>
      this.#answer('applicationsOf', () => this.#organizations.get(organizationId)?.applications ?? new Set<string>()),
    organizationOf: (applicationId) => this.#applications.get(applicationId)?.organizationId,
    device: (devEui) => {
      const place = this.#devices.get(devEui)
      return this.isSlow ? Promise.resolve(place) : place
    },
  }

  readonly taggedDevices: AccessRegistry['taggedDevices'] = {
    taggedWith: async (organizationId, tags) => ({
      has: (devEui) =>
        this.#devices.get(devEui)?.organizationId === organizationId && hasTags(this.#tags.get(devEui) ?? {}, tags),
    }),
  }

  readonly tokens: AccessRegistry['tokens'] = {
    // The answer is that of the time of the question. A change that comes before the answer is not
    // in it.
    verifyBrokerAccess: async (jwt) => {
      const claims = this.#tokens.get(jwt)
      if (claims === undefined) return refuse('unauthenticated', 'token_malformed', 'the token is malformed')
      const judged = this.#judge(claims)
      await this.#answer('verify', () => undefined)
      return judged.ok ? judged : { ...judged, claims }
    },
    readBrokerAccess: (jwt) => this.#tokens.get(jwt),
    recheckBrokerAccess: (claims) => this.#answer('recheck', () => this.#judge(claims)),
    getBrokerAccess: async (tokenId): Promise<BrokerAccess | undefined> => {
      const claims = this.#tokens.get(tokenId)
      if (claims === undefined || this.#revoked.has(tokenId) || claims.expiresAtMs <= NOW_MS) return undefined
      return { ...claims, issuedAtMs: 0, lastUsedAtMs: null, scope: claims.scope, apiKeyId: null }
    },
  }

  readonly serviceCredentials: AccessRegistry['serviceCredentials'] = {
    authenticate: async (userName, password) => {
      const id = userName.slice('network-server-'.length)
      const known = this.#credentials.get(id)
      await this.#answer('credential', () => undefined)
      if (known === undefined || !Buffer.from(known.password).equals(password)) return undefined
      return { id, organizationId: known.organizationId, name: id }
    },
    get: (id) =>
      this.#answer('credential', () => {
        const known = this.#credentials.get(id)
        return (
          known && {
            id,
            organizationId: known.organizationId,
            name: id,
            userName: `network-server-${id}`,
            createdAtMs: 0,
          }
        )
      }),
  }

  readonly users: AccessRegistry['users'] = { get: (id) => this.#answer('user', () => this.#users.get(id)) }

  readonly applications: AccessRegistry['applications'] = { get: async (id) => this.#applications.get(id) }

  async #answer<T>(question: Question, answer: () => T): Promise<T> {
    await this.#held.get(question)
    if (this.#failing.has(question)) throw new Error('the disk is gone')
    return answer()
  }

  #judge(claims: BrokerAccessClaims): Result<BrokerAccessClaims> {
    const { userId, organizationId, tokenId, expiresAtMs } = claims
    if (expiresAtMs <= NOW_MS) return refuse('unauthenticated', 'token_expired', 'the token has expired')
    if (this.#users.get(userId)?.isActive !== true) {
      return refuse('unauthenticated', 'user_inactive', 'the user is inactive or was removed')
    }
    if (!this.#isMember(userId, organizationId)) return refuse('permission_denied', 'not_a_member', 'no member')
    if (this.#revoked.has(tokenId)) return refuse('unauthenticated', 'token_revoked', 'it was revoked')
    const scope = this.#tokens.get(tokenId)?.scope
    const isReadOnly = this.#readOnly.has(`${organizationId} ${userId}`)
    return granted({ ...claims, ownScope: scope, scope: isReadOnly ? readOnlyScope(scope) : scope })
  }

  #isMember(userId: string, organizationId: string): boolean {
    const organization = this.#organizations.get(organizationId)
    if (organization === undefined) return false
    return organization.members.has(userId) || this.#users.get(userId)?.isAdmin === true
  }

  #organization(id: string) {
    const organization = this.#organizations.get(id)
    assert.ok(organization)
    return organization
  }
}
