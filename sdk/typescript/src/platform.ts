/**
 * The differences between Node and a browser: how to reach the service, and where positions are
 * kept. Everything else of the SDK is the same on both.
 */
import type { IClientOptions, MqttClient } from 'mqtt'
import type { PositionStore } from './positions.ts'

/** An answer of the service by HTTP. */
export interface HttpAnswer {
  readonly status: number
  /** The value of `Retry-After`; undefined where the answer has none. */
  readonly retryAfter: string | undefined
  readonly text: string
}

/** A request by HTTP. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
}

/** A function with the shape of `fetch`, as far as the SDK uses it. */
export type Fetch = (
  url: string,
  init: {
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
    readonly signal: AbortSignal
  },
) => Promise<{
  readonly status: number
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}>

/** The ways to the network that a program may choose. A browser has its own, and ignores them. */
export interface NetworkOptions {
  /** PEM of the certificate authorities to trust instead of the system's. Node, Bun and Deno. */
  readonly ca?: string
  /** An HTTP proxy that can CONNECT: `http://user:password@proxy:3128`. Node, Bun and Deno. */
  readonly proxy?: string
  /** The function for all HTTP requests. Default: `fetch`, or `node:https` with `ca` or `proxy`. */
  readonly fetch?: Fetch
}

/** The parts of a runtime that the SDK needs. */
export interface Platform {
  /** The broker's address where the program names none. */
  defaultBroker(url: URL, deployment: { readonly host: string; readonly port: number } | undefined): string
  request(options: NetworkOptions, request: HttpRequest): Promise<HttpAnswer>
  /** Opens the transport, and begins to connect by it. */
  openClient(broker: string, options: NetworkOptions, client: IClientOptions): Promise<MqttClient>
  /** The store of a named session where the program gives none. */
  defaultStore(session: string): PositionStore
}

/** Sends a request by `fetch`. */
export async function requestByFetch(fetch: Fetch, request: HttpRequest): Promise<HttpAnswer> {
  const { method, url, headers, body, signal } = request
  const answer = await fetch(url, { method, headers, signal, ...(body === undefined ? {} : { body }) })
  return {
    status: answer.status,
    retryAfter: answer.headers.get('retry-after') ?? undefined,
    text: await answer.text(),
  }
}
