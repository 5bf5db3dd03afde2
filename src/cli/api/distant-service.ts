/**
 * Requests to a service on any machine, by HTTPS, with a credential of the caller's own: for
 * commands that need no data directory.
 */
import { Agent, request } from 'node:https'
import { given } from '../../given.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { createApiClient } from './api-client.ts'
import type { ApiClient, RawAnswer } from './api-client.ts'

const TIMEOUT_MS = 20_000
/** The longest answer that is read: lists of organizations are the longest ones. */
const MAXIMUM_ANSWER_BYTES = 4 * 1024 * 1024

/** A service and the way to trust it. */
export interface DistantService {
  /** `https://fieldgate.example.org:8443`. */
  readonly address: string
  /**
   * Certificates in PEM that are trusted in the place of the system's; undefined for the system's.
   */
  readonly authority: string | undefined
}

/**
 * A client of the service. `bearer` is a session or an API key; undefined for a login. Its requests
 * throw ApiRefusal when the service refuses, and CommandFailure when it can't be reached.
 */
export function createDistantClient({ address, authority }: DistantService, bearer: string | undefined): ApiClient {
  const agent = new Agent({ ...given({ ca: authority }) })
  return createApiClient({
    send: (method, path, body) => {
      const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
      const fail = (error: Error): void => reject(new CommandFailure(`${address} can’t be reached: ${error.message}.`))
      const headers = {
        accept: 'application/json',
        ...given({
          authorization: bearer && `Bearer ${bearer}`,
          'content-type': body?.type,
          'content-length': body && Buffer.byteLength(body.content),
        }),
      }
      const outgoing = request(new URL(path, address), { method, headers, agent, timeout: TIMEOUT_MS })
      outgoing.on('timeout', () => outgoing.destroy(new Error('it does not answer')))
      outgoing.on('error', fail)
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = []
        let length = 0
        response.on('data', (chunk: Buffer) => {
          length += chunk.length
          if (length > MAXIMUM_ANSWER_BYTES) outgoing.destroy(new Error('its answer is too long'))
          else chunks.push(chunk)
        })
        response.on('error', fail)
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
      })
      outgoing.end(body?.content)
      return promise
    },
    close: async () => agent.destroy(),
  })
}
