/**
 * The command line's way to the service: its HTTP API, over the network or in this process. Both
 * run the same routes, so that a change is checked, recorded and felt by live connections in the
 * same way.
 */

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** An answer as it came: the status, and the body's text. */
export interface RawAnswer {
  readonly status: number
  readonly body: string
}

/** Carries one request, with the session's credential. */
export interface Carrier {
  send(method: Method, path: string, body?: { readonly type: string; readonly content: string }): Promise<RawAnswer>
  close(): Promise<void>
}

/** The service said no. */
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

/** A client with an admin's, or another user's, session. */
export interface ApiClient {
  /** The answer's JSON. Throws ApiRefusal for any status but 2xx. */
  request(method: Method, path: string, body?: unknown): Promise<JsonObject>
  /** POSTs what is not JSON; the rest as `request`. */
  upload(path: string, type: string, content: string): Promise<JsonObject>
  close(): Promise<void>
}

/** A JSON object as the service writes it; fields are looked at by those who know them. */
export type JsonObject = Readonly<Record<string, unknown>>

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
    upload: async (path, type, content) => accepted(await carrier.send('POST', path, { type, content })),
    close: () => carrier.close(),
  }
}

function accepted(answer: RawAnswer): JsonObject {
  const json = parseObject(answer.body)
  if (answer.status >= 200 && answer.status < 300 && json !== undefined) return json
  throw refusalOf(answer)
}

/** What an answer of another status than 2xx says. */
export function refusalOf(answer: RawAnswer): ApiRefusal {
  const { message, code } = parseObject(answer.body) ?? {}
  const shown = typeof message === 'string' && message !== '' ? message : `the service answered ${answer.status}`
  return new ApiRefusal(shown, answer.status, typeof code === 'number' ? code : 2)
}

/** A path with a query; members that are undefined are left out. */
export function pathWith(path: string, query: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]))
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}

/** One page of a list. */
export async function listPage(
  client: ApiClient,
  path: string,
  query: Readonly<Record<string, string | number | undefined>>,
): Promise<JsonList> {
  const { totalCount, result } = await client.request('GET', pathWith(path, query))
  return { totalCount: String(totalCount), result: Array.isArray(result) ? (result as JsonObject[]) : [] }
}

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
