/** Sets a deployment up only through the HTTP interface, as an administrator would. */
import assert from 'node:assert/strict'
import { textIn } from './https-client.ts'
import type { RunningService } from './running-service.ts'

/** The password of every user that a test makes. */
export const PASSWORD = 'correct horse battery staple'

/**
 * The life of a token for whose end a test waits. It counts from the beginning of the second in
 * which the token is made, so up to one second is lost; the rest is for a slow machine to connect.
 */
export const SHORT_TTL_SECONDS = 4

export interface Membership {
  readonly organizationId: string
  readonly isAdmin?: boolean
}

/** A user who is logged in. */
export interface Person {
  readonly id: string
  readonly userName: string
  readonly session: string
}

/** The login of a network server. */
export interface ServiceCredential {
  readonly id: string
  readonly userName: string
  readonly password: string
}

export class Administration {
  readonly #service: Pick<RunningService, 'http' | 'adminSession'>
  #serial: number

  /**
   * Administrators of one deployment need numbers of their own for unique names: `firstSerial` and
   * those after it.
   */
  constructor(service: Pick<RunningService, 'http' | 'adminSession'>, firstSerial = 0) {
    this.#service = service
    this.#serial = firstSerial
  }

  async organization(name = this.#unique('organization')): Promise<string> {
    return this.#created('/api/organizations', { organization: { name, displayName: name } })
  }

  /** Makes a user with these memberships, and logs the user in. */
  async person(memberships: readonly Membership[], isGlobalAdmin = false): Promise<Person> {
    const userName = this.#unique('person')
    const id = await this.#created('/api/users', {
      user: { email: userName, isAdmin: isGlobalAdmin },
      password: PASSWORD,
      organizations: memberships.map(({ organizationId, isAdmin }) => ({
        organizationID: organizationId,
        isAdmin: isAdmin ?? false,
      })),
    })
    return { id, userName, session: await this.login(userName) }
  }

  async login(userName: string, password = PASSWORD): Promise<string> {
    const json = { username: userName, password }
    return textIn(await this.#service.http.must('POST', '/api/internal/login', { json }), 'jwt')
  }

  async application(organizationId: string, fields: object = {}): Promise<string> {
    const application = { name: this.#unique('application'), organizationID: organizationId, ...fields }
    return this.#created('/api/applications', { application })
  }

  /** Makes a device. Returns its DevEUI, which is unique. */
  async device(applicationId: string): Promise<string> {
    this.#serial += 1
    const devEui = `a0b1c2d3${this.#serial.toString(16).padStart(8, '0')}`
    await this.must('POST', '/api/devices', { device: { devEUI: devEui, applicationID: applicationId } })
    return devEui
  }

  /** A credential for one organization, or with `''` for the whole deployment. */
  async serviceCredential(organizationId: string): Promise<ServiceCredential> {
    const serviceCredential = { name: this.#unique('network server'), organizationID: organizationId }
    const issued = await this.must('POST', '/api/service-credentials', { serviceCredential })
    return { id: textIn(issued, 'id'), userName: textIn(issued, 'userName'), password: textIn(issued, 'password') }
  }

  /** Calls endpoint 4 of the specification, with the limits of a narrow token if they are given. */
  async brokerToken(
    session: string,
    organizationId: string,
    ttlInSeconds = '3600',
    scope: object = {},
  ): Promise<string> {
    const json = { organizationId, ttlInSeconds, ...scope }
    const answer = await this.#service.http.must('POST', '/api/mosquitto-auth/login', { token: session, json })
    return textIn(answer, 'jwtMqttAuth')
  }

  async revokeToken(jwt: string): Promise<void> {
    await this.must('DELETE', `/api/broker-tokens/${tokenIdOf(jwt)}`)
  }

  /** Sends a request of the global admin that must succeed. */
  async must(method: string, path: string, json?: unknown): Promise<Readonly<Record<string, unknown>>> {
    const token = this.#service.adminSession
    return this.#service.http.must(method, path, json === undefined ? { token } : { token, json })
  }

  async #created(path: string, json: unknown): Promise<string> {
    return textIn(await this.must('POST', path, json), 'id')
  }

  #unique(word: string): string {
    this.#serial += 1
    return `${word.replace(' ', '-')}-${this.#serial}`
  }
}

/** The id by which a token is listed and revoked: its `jti`. */
function tokenIdOf(jwt: string): string {
  const claims: unknown = JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString())
  assert.ok(typeof claims === 'object' && claims !== null && 'jti' in claims && typeof claims.jti === 'string')
  return claims.jti
}

/** The part of a topic sentence that is in quotes, which a client of the specification uses. */
export function quotedTopic(sentence: unknown): string {
  assert.ok(typeof sentence === 'string', JSON.stringify(sentence))
  const topic = /'([^']+)'$/.exec(sentence)?.[1]
  assert.ok(topic !== undefined, `no topic in quotes at the end of: ${sentence}`)
  return topic
}
