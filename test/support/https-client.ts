/**
 * A caller of the HTTP interface over a real TLS socket that verifies the server's certificate
 * against one CA.
 */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'
import { Agent, request as httpsRequest } from 'node:https'
import { within } from './bounded-wait.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  /** The body as it came. */
  readonly text: string
  /** The JSON object of the body; empty if the body is none. */
  readonly body: JsonObject
}

export interface HttpQuestion {
  readonly token?: string | undefined
  readonly headers?: OutgoingHttpHeaders
  /** A body that is sent as JSON. */
  readonly json?: unknown
  /** A body that is sent unchanged, in place of `json`. */
  readonly bytes?: Buffer | string
}

export class HttpsClient {
  readonly baseUrl: string
  readonly #agent: Agent

  /** `ca` is PEM; nothing else is trusted. */
  constructor(baseUrl: string, ca: string) {
    this.baseUrl = baseUrl
    this.#agent = new Agent({ ca, keepAlive: true, maxSockets: 8 })
  }

  close(): void {
    this.#agent.destroy()
  }

  /**
   * Sends a request and returns any answer, refusals included. The token goes into the
   * specification's header.
   */
  async ask(method: string, path: string, question: HttpQuestion = {}): Promise<HttpAnswer> {
    const { token, json } = question
    const bytes = question.bytes ?? (json === undefined ? undefined : JSON.stringify(json))
    const headers: OutgoingHttpHeaders = { accept: 'application/json', ...question.headers }
    if (token !== undefined) headers['grpc-metadata-authorization'] = `Bearer ${token}`
    if (bytes !== undefined) {
      headers['content-type'] ??= 'application/json'
      headers['content-length'] ??= Buffer.byteLength(bytes)
    }
    return within(this.#exchange(method, path, headers, bytes), `${method} ${path}`)
  }

  /** The body of a success; any other answer fails the test with the service's message. */
  async must(method: string, path: string, question: HttpQuestion = {}): Promise<JsonObject> {
    const { status, text, body } = await this.ask(method, path, question)
    assert.equal(status, 200, `${method} ${path}: ${status} ${text}`)
    return body
  }

  #exchange(
    method: string,
    path: string,
    headers: OutgoingHttpHeaders,
    bytes: Buffer | string | undefined,
  ): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>()
    const request = httpsRequest(`${this.baseUrl}${path}`, { method, headers, agent: this.#agent }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: objectOf(text) })
      })
    })
    request.on('error', reject)
    request.end(bytes)
    return promise
  }
}

/** A member of an answer that must be text. */
export function textIn(body: JsonObject, member: string): string {
  const value = body[member]
  assert.ok(typeof value === 'string', `${member} is no text in ${JSON.stringify(body)}`)
  return value
}

function objectOf(text: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}
