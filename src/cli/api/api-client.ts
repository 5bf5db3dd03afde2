/**
 * The client of the service's HTTP API, over the network or in this process. Both ways run the same
 * routes, so that each change is checked and recorded, and reaches live connections, in the same
 * way.
 */
import { objectsAt, parseObject } from '../../json.ts'
import type { JsonObject } from '../../json.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** An answer as it came. */
export interface RawAnswer {
  readonly status: number
  readonly body: Buffer
}

/** Carries requests, with the credential of a session. */
export interface Carrier {
  send(method: Method, path: string, body?: { readonly type: string; readonly content: string }): Promise<RawAnswer>
  close(): Promise<void>
}

/** The service refused a request. */
export class ApiRefusal extends Error {
  override readonly name = 'ApiRefusal'
  readonly status: number
  /** The gRPC code of the error body; 2 (unknown) when there was none. */
  readonly code: number

  constructor(message: string, status: number, code: number) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** A client with the session of an admin or of another user. */
export interface ApiClient {
  /** Returns the JSON of the answer. Throws ApiRefusal for any status but 2xx. */
  request(method: Method, path: string, body?: unknown): Promise<JsonObject>
  /** Returns the bytes of the answer to a GET, which are not JSON. Throws as `request` does. */
  download(path: string): Promise<Buffer>
  /** POSTs content that is not JSON; otherwise as `request`. */
  upload(path: string, type: string, content: string): Promise<JsonObject>
  close(): Promise<void>
}

/** A list as the service writes it. */
export interface JsonList {
  readonly totalCount: string
  readonly result: readonly JsonObject[]
}

/** Makes the client of a carrier. */
export function createApiClient(carrier: Carrier): ApiClient {
  return {
    request: async (method, path, body) => {
      const content = body === undefined ? undefined : { type: 'application/json', content: JSON.stringify(body) }
      return accepted(await carrier.send(method, path, content))
    },
    download: async (path) => {
      const answer = await carrier.send('GET', path)
      if (answer.status >= 200 && answer.status < 300) return answer.body
      throw refusalOf(answer)
    },
    upload: async (path, type, content) => accepted(await carrier.send('POST', path, { type, content })),
    close: () => carrier.close(),
  }
}

function accepted(answer: RawAnswer): JsonObject {
  const json = parseObject(answer.body)
  if (answer.status >= 200 && answer.status < 300 && json !== undefined) return json
  throw refusalOf(answer)
}

/** The refusal in an answer whose status is not 2xx. */
export function refusalOf(answer: RawAnswer): ApiRefusal {
  const { message, code } = parseObject(answer.body) ?? {}
  const shown = typeof message === 'string' && message !== '' ? message : `the service answered ${answer.status}`
  return new ApiRefusal(shown, answer.status, typeof code === 'number' ? code : 2)
}

/** A path with a query; members that are undefined are left out. */
export function pathWith(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const members = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return members.length === 0 ? path : `${path}?${new URLSearchParams(members).toString()}`
}

/** One page of a list. */
export async function listPage(
  client: ApiClient,
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<JsonList> {
  const page = await client.request('GET', pathWith(path, query))
  return { totalCount: String(page['totalCount']), result: objectsAt(page, 'result') }
}
