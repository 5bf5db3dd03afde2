/** The client of one organization: its events, its devices, and the right to reach them. */
import { Backoff, pause } from './backoff.ts'
import type { RetryOptions } from './backoff.ts'
import type { CommandInput, SentCommand } from './command.ts'
import { Commander } from './commander.ts'
import { asFieldgateError, FieldgateError } from './errors.ts'
import type { EventKind, FieldgateEvent } from './event.ts'
import { EventStream } from './event-stream.ts'
import { handleAll } from './handle-all.ts'
import { HttpApi } from './http-api.ts'
import type { Credential, Send } from './http-api.ts'
import { LastingConnection } from './lasting-connection.ts'
import type { ConnectionParts } from './lasting-connection.ts'
import type { Log } from './log.ts'
import type { NetworkOptions, Platform } from './platform.ts'
import { MemoryPositionStore } from './positions.ts'
import type { PositionStore } from './positions.ts'
import { TokenSource } from './token-source.ts'
import type { TokenScope } from './token-source.ts'

/** How to reach the service, and as whom. Give `apiKey`, or `username` and `password`. */
export interface ConnectOptions extends NetworkOptions {
  /** The address of the service: `https://fieldgate.example.org:8443`. */
  readonly url: string
  /** An API key: `fg_...`. */
  readonly apiKey?: string
  readonly username?: string
  readonly password?: string
  /** The second factor of the user: a code, or a function that gives the present one. */
  readonly otp?: string | (() => string | Promise<string>)
  /** The organization's id. Needed where the credential opens several. */
  readonly organization?: string
  /**
   * The broker's address. Default: the one that the service names; in a browser `/mqtt` of `url`.
   */
  readonly broker?: string
  /** Seconds that a broker token lives. The SDK renews it. Default: the deployment's. */
  readonly tokenSeconds?: number
  /** Narrows the tokens: no more than this can be read or sent by them. */
  readonly scope?: TokenScope
  readonly retry?: RetryOptions
  readonly log?: Log
  /** Ends the client, as `close` does. */
  readonly signal?: AbortSignal
}

/** The events that a program wants. */
export interface EventOptions {
  /** An application's id. Default: all applications of the organization, new ones included. */
  readonly application?: string
  /** A DevEUI of the application. Needs `application`. */
  readonly device?: string
  /** Default: all kinds. */
  readonly kinds?: readonly EventKind[]
  /**
   * A name, unique among the organization's programs. The service keeps the session's events while
   * the program is away, and the store keeps its position. Without a name the events begin now, and
   * end with the program.
   */
  readonly session?: string
  /** Seconds for which the service keeps the session without a connection. Default: a week. */
  readonly sessionSeconds?: number
  /** Where a new session begins: `now` (the default), `oldest`, or a time as in RFC 3339. */
  readonly from?: string
  /** Where positions are kept. Default: a file on Node, `localStorage` in a browser. */
  readonly store?: PositionStore
  /** Seconds between two looks for new applications. Default: 60. */
  readonly refreshSeconds?: number
  /** The number of events that may wait in the program. Default: 64. */
  readonly prefetch?: number
  /** Told that the service lost events before they came: retention was shorter than the absence. */
  readonly onMissed?: (atMost: number) => void
  /** Ends the stream: `next` rejects with the signal's reason. */
  readonly signal?: AbortSignal
}

const WEEK_SECONDS = 604_800
const DEFAULT_PREFETCH = 64
const LARGEST_PREFETCH = 1024
const DEFAULT_REFRESH_SECONDS = 60
const OLDEST = '1970-01-01T00:00:00Z'
const SESSION = /^[\x21-\x7e]{1,128}$/

/** One device, to which commands go. */
export interface Device {
  readonly devEui: string
  /** Sends a command. Returns at once; the steps of its fate are promises. */
  send(command: CommandInput): SentCommand
}

interface ClientParts {
  readonly api: HttpApi
  readonly organizationId: string
  readonly connection: ConnectionParts
  readonly closing: AbortController
}

export class Fieldgate implements AsyncDisposable {
  readonly #parts: ClientParts
  readonly #streams = new Set<Promise<void>>()
  #commander: Commander | undefined = undefined

  /** Use `connect`. */
  constructor(parts: ClientParts) {
    this.#parts = parts
  }

  get organizationId(): string {
    return this.#parts.organizationId
  }

  /** Events, in order, each once: see `EventStream`. */
  events(options: EventOptions = {}): EventStream {
    const { api, organizationId, connection, closing } = this.#parts
    checkEvents(options)
    options.signal?.throwIfAborted()
    const { session, prefetch = DEFAULT_PREFETCH, sessionSeconds = WEEK_SECONDS, kinds } = options
    const ending = new AbortController()
    const signal = AbortSignal.any([ending.signal, closing.signal])
    const choice = {
      applicationId: options.application,
      devEui: options.device?.toLowerCase(),
      kinds: kinds === undefined ? undefined : new Set(kinds),
    }
    const stream = new EventStream({
      api: {
        applicationIds: () => api.applicationIds(organizationId),
        newestEventId: (applicationId) => api.newestEventId(applicationId),
      },
      store:
        options.store ??
        (session === undefined ? new MemoryPositionStore() : connection.platform.defaultStore(session)),
      choice,
      since: async () =>
        options.from === undefined || options.from === 'now' ? this.#now() : beginningOf(options.from),
      prefetch: Math.min(prefetch, LARGEST_PREFETCH),
      log: connection.log,
      onMissed: options.onMissed ?? (() => {}),
      end: () => ending.abort(),
    })
    const lasting = new LastingConnection(
      connection,
      {
        clientId: session ?? `fieldgate-sdk-${crypto.randomUUID()}`,
        sessionExpirySeconds: session === undefined ? 0 : sessionSeconds,
        receiveMaximum: Math.min(prefetch, LARGEST_PREFETCH),
        signal,
      },
      {
        prepare: () => stream.prepare(),
        take: (packet, link) => stream.took(packet, link),
        connected: (link) => stream.connected(link),
      },
    )
    const abort = (): void => {
      stream.finish(options.signal?.reason ?? new FieldgateError('aborted', 'the stream was aborted'))
      ending.abort()
    }
    options.signal?.addEventListener('abort', abort)
    const running = lasting.run().then(
      () => stream.finish(),
      (error: unknown) => stream.finish(error),
    )
    const ended = running.then(async () => {
      ending.abort()
      options.signal?.removeEventListener('abort', abort)
      await stream.closeStore()
      this.#streams.delete(ended)
    })
    this.#streams.add(ended)
    if (options.application === undefined) {
      const { refreshSeconds = DEFAULT_REFRESH_SECONDS } = options
      void this.#lookForApplications(lasting, stream, refreshSeconds * 1000, signal)
    }
    return stream
  }

  /**
   * Calls the handler for each event, and acknowledges the event when the handler resolves. Events
   * of one device come one after the other; those of up to `concurrency` devices side by side.
   * Rejects with the first error of the handler, whose event comes again in the next run.
   */
  async handle(
    options: EventOptions & { readonly concurrency?: number },
    handler: (event: FieldgateEvent) => Promise<void> | void,
  ): Promise<void> {
    const { concurrency = 1, ...rest } = options
    await handleAll(this.events(rest), concurrency, handler)
  }

  /** A device, to send commands to. `application` saves a question to the service. */
  device(devEui: string, { application }: { readonly application?: string } = {}): Device {
    const id = devEui.toLowerCase()
    if (!/^[0-9a-f]{16}$/.test(id)) throw new FieldgateError('dev_eui_malformed', `${devEui} is no DevEUI`)
    return { devEui: id, send: (command) => this.#commands().send(id, application, command) }
  }

  /** Ends all streams and connections. Commands on their way go on without being followed. */
  async close(): Promise<void> {
    this.#parts.closing.abort()
    await Promise.all([...this.#streams, this.#commander?.close()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #commands(): Commander {
    const { api, connection, closing } = this.#parts
    return (this.#commander ??= new Commander(api, connection, closing.signal))
  }

  /** The service's clock, by the token that it made last: the clocks of two machines differ. */
  async #now(): Promise<string> {
    const { issuedAtMs } = await this.#parts.connection.tokens.token()
    return new Date(issuedAtMs).toISOString()
  }

  async #lookForApplications(
    lasting: LastingConnection,
    stream: EventStream,
    everyMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      await pause(everyMs, signal)
      const link = await Promise.race([lasting.ready(), aborted(signal)])
      if (link === undefined) return
      await stream.refresh(link).catch((error: unknown) => {
        const { code, message } = asFieldgateError(error)
        this.#parts.connection.log({ level: 'warn', message: 'applications.not_listed', code, reason: message })
      })
    }
  }
}

/**
 * Logs in, finds the organization, and resolves with its client. Tries again for as long as the
 * service can't be reached; rejects where it refuses.
 */
export async function connectOn(platform: Platform, options: Partial<ConnectOptions>): Promise<Fieldgate> {
  const url = urlOf(options.url)
  options.signal?.throwIfAborted()
  const closing = new AbortController()
  options.signal?.addEventListener('abort', () => closing.abort(), { once: true })
  const log = options.log ?? (() => {})
  const send: Send = (request) => platform.request(options, request)
  const api = new HttpApi(url, credentialOf(options), send, closing.signal)
  const backoff = new Backoff(options.retry)
  for (;;) {
    try {
      const organizationId = options.organization ?? (await onlyOrganization(api))
      const tokens = new TokenSource(api, organizationId, options.tokenSeconds, options.scope ?? {})
      await tokens.token()
      const broker = options.broker ?? platform.defaultBroker(url, await api.deployment())
      const connection = { platform, network: options, broker, tokens, retry: options.retry ?? {}, log }
      return new Fieldgate({ api, organizationId, connection, closing })
    } catch (error) {
      options.signal?.throwIfAborted()
      const fault = asFieldgateError(error)
      // Later, a certificate that has run out is waited for. At the start the settings are wrong.
      if (!fault.isTemporary || fault.code === 'certificate_refused') throw fault
      const waitMs = backoff.next(fault.retryAfterMs)
      log({ level: 'warn', message: 'service.not_reached', code: fault.code, reason: fault.message, waitMs })
      await pause(waitMs, closing.signal)
      options.signal?.throwIfAborted()
    }
  }
}

/** Resolves when the signal is aborted. */
function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined), { once: true })
  })
}

async function onlyOrganization(api: HttpApi): Promise<string> {
  const [only, second] = await api.organizationIds()
  if (only === undefined) throw new FieldgateError('organization_missing', 'the credential opens no organization')
  if (second === undefined) return only
  throw new FieldgateError('organization_ambiguous', 'the credential opens several organizations: give `organization`')
}

function credentialOf({ apiKey, username, password, otp }: Partial<ConnectOptions>): Credential {
  if (apiKey !== undefined) return { apiKey }
  if (username === undefined || password === undefined) {
    throw new FieldgateError('credential_missing', 'give `apiKey`, or `username` and `password`')
  }
  return { username, password, ...(otp === undefined ? {} : { otp }) }
}

function urlOf(text: string | undefined): URL {
  if (text === undefined) throw new FieldgateError('url_missing', 'give `url`, the address of the service')
  try {
    return new URL(text)
  } catch (error) {
    throw new FieldgateError('url_invalid', `url: ${text} is no address`, { cause: error })
  }
}

function checkEvents({ application, device, session, prefetch = 1, from = 'now', kinds }: EventOptions): void {
  if (device !== undefined && application === undefined) refuse('device: needs `application`')
  if (device !== undefined && !/^[0-9a-f]{16}$/i.test(device)) refuse(`device: ${device} is no DevEUI`)
  if (session !== undefined && !SESSION.test(session)) refuse('session: 1 to 128 visible ASCII characters')
  if (!Number.isInteger(prefetch) || prefetch < 1) refuse('prefetch: a whole number from 1')
  if (from !== 'now') beginningOf(from)
  if (kinds?.length === 0) refuse('kinds: an empty list asks for nothing')
}

function refuse(sentence: string): never {
  throw new FieldgateError('option_invalid', sentence)
}

function beginningOf(from: string): string {
  if (from === 'oldest') return OLDEST
  if (Number.isNaN(Date.parse(from))) refuse(`from: ${from} is no time of RFC 3339`)
  return from
}
