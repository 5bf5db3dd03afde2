/**
 * Requests to the HTTP API of a network server. The address comes from the settings of the
 * deployment alone, never from a message; redirects are not followed; time, concurrency and the
 * size of answers are bounded. Therefore nobody who sends an event or a command can make this
 * service ask another host.
 */
import { request as requestHttp, Agent as HttpAgent } from 'node:http'
import type { RequestOptions } from 'node:http'
import { request as requestHttps, Agent as HttpsAgent } from 'node:https'

export interface HttpAnswer {
  readonly status: number
  /** The body of the answer, cut at the bound. */
  readonly text: string
}

export interface HttpTarget {
  /** Scheme, host, port and the beginning of the path, without a query. */
  readonly baseUrl: URL
  readonly headers: Readonly<Record<string, string>>
  /** PEM of the certificate authorities to trust, in the place of the system's. */
  readonly ca: string | undefined
}

/** How long a whole request may take. */
const REQUEST_MS = 15_000
/** The longest answer to a change, in bytes. The rest is dropped: the text is only shown. */
const MAXIMUM_ANSWER_BYTES = 16_384
/** Connections to one network server at a time. Further requests wait for one of them. */
const MAXIMUM_SOCKETS = 8

export class HttpClient {
  readonly #target: HttpTarget
  readonly #agent: HttpAgent | HttpsAgent
  readonly #isTls: boolean

  constructor(target: HttpTarget) {
    this.#target = target
    this.#isTls = target.baseUrl.protocol === 'https:'
    const bounds = { keepAlive: true, maxSockets: MAXIMUM_SOCKETS }
    const trust = target.ca === undefined ? {} : { ca: target.ca }
    this.#agent = this.#isTls ? new HttpsAgent({ ...bounds, ...trust }) : new HttpAgent(bounds)
  }

  /**
   * Sends JSON to a path below the base URL. The caller has escaped the parts of the path. Rejects
   * when the whole answer does not come in time.
   */
  send(method: 'POST' | 'DELETE', path: string, body?: unknown): Promise<HttpAnswer> {
    return this.#send(method, path, { body, maximumBytes: MAXIMUM_ANSWER_BYTES })
  }

  /** Asks for a path below the base URL. An answer longer than the bound is cut there. */
  get(path: string, maximumBytes: number): Promise<HttpAnswer> {
    return this.#send('GET', path, { maximumBytes })
  }

  #send(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    { body, maximumBytes }: { readonly body?: unknown; readonly maximumBytes: number },
  ): Promise<HttpAnswer> {
    const { baseUrl, headers } = this.#target
    const url = new URL(baseUrl.href.replace(/\/$/, '') + path)
    const text = body === undefined ? undefined : JSON.stringify(body)
    const options: RequestOptions = {
      method,
      agent: this.#agent,
      signal: AbortSignal.timeout(REQUEST_MS),
      headers: {
        accept: 'application/json',
        ...(text === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text).toString() }),
        ...headers,
      },
    }
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
    const request = (this.#isTls ? requestHttps : requestHttp)(url, options)
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      let size = 0
      const done = (): void => {
        const answer = Buffer.concat(chunks).subarray(0, maximumBytes).toString('utf8')
        resolve({ status: response.statusCode ?? 0, text: answer })
      }
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size < maximumBytes) return
        done()
        request.destroy()
      })
      response.on('end', done)
      response.on('error', reject)
    })
    request.end(text)
    return promise
  }

  /** Ends the connections. */
  close(): void {
    this.#agent.destroy()
  }
}
