/**
 * A connection that is made again for as long as its program wants it: with new tokens, after lost
 * networks and restarts of the service. Only a refusal that no further try can change ends it.
 */
import type { IClientOptions } from 'mqtt'
import { Backoff, pause } from './backoff.ts'
import type { RetryOptions } from './backoff.ts'
import { asFieldgateError, FieldgateError } from './errors.ts'
import { AUTHENTICATION_METHOD, KEEP_ALIVE_SECONDS, Link } from './link.ts'
import type { TakePublish } from './link.ts'
import type { Log } from './log.ts'
import type { NetworkOptions, Platform } from './platform.ts'
import type { BrokerToken, TokenSource } from './token-source.ts'

/** The parts that all connections of one client share. */
export interface ConnectionParts {
  readonly platform: Platform
  readonly network: NetworkOptions
  /** The broker's address, for example `mqtts://fieldgate.example.org:8883`. */
  readonly broker: string
  readonly tokens: TokenSource
  readonly retry: RetryOptions
  readonly log: Log
}

export interface LastingConnectionOptions {
  readonly clientId: string
  /** Seconds for which the Session outlives its connection; 0: the Session ends with it. */
  readonly sessionExpirySeconds: number
  /** The number of events on their way that the broker may send before the first is handled. */
  readonly receiveMaximum: number
  /** Ends the connection. */
  readonly signal: AbortSignal
}

export interface ConnectionHooks {
  /** Called before a connection is opened. */
  prepare?(): Promise<void>
  readonly take: TakePublish
  /** Subscribes on a new connection. */
  connected(link: Link): Promise<void>
}

const BAD_USER_NAME = 0x86
const NOT_AUTHORIZED = 0x87
const SESSION_TAKEN_OVER = 0x8e
const ADMINISTRATIVE_ACTION = 0x98
/**
 * New tokens that the broker may refuse one after the other. A token can be revoked at the moment
 * at which it is used, but not each time.
 */
const MAXIMUM_REFUSED_TOKENS = 5

export class LastingConnection {
  readonly #parts: ConnectionParts
  readonly #options: LastingConnectionOptions
  readonly #hooks: ConnectionHooks
  readonly #backoff: Backoff
  #refusedTokens = 0
  #link: Link | undefined = undefined
  readonly #waiting = new Set<(link: Link) => void>()

  constructor(parts: ConnectionParts, options: LastingConnectionOptions, hooks: ConnectionHooks) {
    this.#parts = parts
    this.#options = options
    this.#hooks = hooks
    this.#backoff = new Backoff(parts.retry)
  }

  /** The present connection, once its subscriptions are made. Waits for as long as it must. */
  ready(): Promise<Link> {
    const link = this.#link
    if (link !== undefined && !link.isClosed) return Promise.resolve(link)
    return new Promise((resolve) => void this.#waiting.add(resolve))
  }

  /** Resolves when the signal is aborted. Rejects with the first refusal that is final. */
  async run(): Promise<void> {
    const { signal } = this.#options
    while (!signal.aborted) {
      const error = await this.#connectOnce()
      if (signal.aborted) return
      const final = this.#finalOf(error)
      if (final !== undefined) throw final
      const waitMs = this.#backoff.next(error.retryAfterMs)
      const { code, message: reason, reasonCode } = error
      this.#log('warn', 'connection.lost', { code, reason, reasonCode, waitMs: Math.round(waitMs) })
      await pause(waitMs, signal)
    }
  }

  /** One connection from its beginning to its end; resolves with the reason of the end. */
  async #connectOnce(): Promise<FieldgateError> {
    const { tokens } = this.#parts
    const { signal } = this.#options
    let token: BrokerToken | undefined
    let link: Link | undefined
    try {
      await this.#hooks.prepare?.()
      token = await tokens.token()
      link = await this.#open(token)
      await this.#hooks.connected(link)
      this.#log('info', 'connection.ready', { isSessionPresent: link.isSessionPresent })
      this.#backoff.reset()
      this.#refusedTokens = 0
      this.#ready(link)
      return await this.#keep(link, token)
    } catch (error) {
      return asFieldgateError(error)
    } finally {
      if (signal.aborted) await link?.close()
      else link?.drop()
      this.#link = undefined
      // A token that the broker has refused, or ended, is of no further use.
      if (token !== undefined && link?.isClosed !== false) await this.#forgetIfEnded(link, token)
    }
  }

  async #forgetIfEnded(link: Link | undefined, token: BrokerToken): Promise<void> {
    const { reasonCode } = link === undefined ? { reasonCode: BAD_USER_NAME } : await link.closed
    const isEnded = [BAD_USER_NAME, NOT_AUTHORIZED, ADMINISTRATIVE_ACTION].includes(reasonCode ?? 0)
    if (isEnded) this.#parts.tokens.discard(token)
  }

  async #open({ jwt }: BrokerToken): Promise<Link> {
    const { platform, network, broker } = this.#parts
    const { clientId, sessionExpirySeconds, receiveMaximum, signal } = this.#options
    const options: IClientOptions = {
      protocolVersion: 5,
      username: jwt,
      password: 'default',
      clientId,
      clean: sessionExpirySeconds === 0,
      keepalive: KEEP_ALIVE_SECONDS,
      // Each connection has a client of its own, which does not connect again.
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      connectTimeout: 20_000,
      properties: {
        sessionExpiryInterval: sessionExpirySeconds,
        receiveMaximum,
        authenticationMethod: AUTHENTICATION_METHOD,
      },
    }
    const client = await platform.openClient(broker, network, options)
    return Link.open(client, this.#hooks.take, signal)
  }

  #ready(link: Link): void {
    this.#link = link
    for (const resolve of this.#waiting) resolve(link)
    this.#waiting.clear()
  }

  /** Renews the token again and again, until the connection ends; resolves with the reason. */
  async #keep(link: Link, first: BrokerToken): Promise<FieldgateError> {
    const { tokens } = this.#parts
    const ended = new AbortController()
    const closed = link.closed.finally(() => ended.abort())
    const signal = AbortSignal.any([ended.signal, this.#options.signal])
    const backoff = new Backoff(this.#parts.retry)
    let token = first
    while (!signal.aborted) {
      await pause(Math.max(0, tokens.msToRenewal(token)), signal)
      if (signal.aborted) break
      try {
        token = await tokens.token()
        if (signal.aborted) break
        await link.renew(token.jwt)
        backoff.reset()
        this.#log('info', 'token.renewed', {})
      } catch (error) {
        const fault = asFieldgateError(error)
        if (!fault.isTemporary) return fault
        this.#log('warn', 'token.not_renewed', { code: fault.code, reason: fault.message })
        await pause(backoff.next(fault.retryAfterMs), signal)
      }
    }
    if (this.#options.signal.aborted) return new FieldgateError('closed', 'the client was closed')
    return closed
  }

  /** The error to end with; undefined where another try may succeed. */
  #finalOf(error: FieldgateError): FieldgateError | undefined {
    const { code, reasonCode } = error
    if (code === 'broker_disconnected') {
      if (reasonCode !== SESSION_TAKEN_OVER) return undefined
      const sentence = 'another program has connected with the same session; each program needs one of its own'
      return new FieldgateError('session_taken_over', sentence, { reasonCode, cause: error })
    }
    if (code === 'connect_refused' && (reasonCode === BAD_USER_NAME || reasonCode === NOT_AUTHORIZED)) {
      this.#refusedTokens += 1
      return this.#refusedTokens < MAXIMUM_REFUSED_TOKENS ? undefined : error
    }
    return error.isTemporary ? undefined : error
  }

  #log(level: 'info' | 'warn', message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#parts.log({ level, message, clientId: this.#options.clientId, ...fields })
  }
}
