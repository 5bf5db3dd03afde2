import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { CommandFailure } from './command-failure.ts'
import type { Carrier, RawAnswer } from './api-client.ts'

/** Long enough for an import's part on a busy machine; a service that hangs is told apart from a slow one. */
const TIMEOUT_MS = 60_000
/** Of an answer; the largest page of the largest devices is far below. */
const MAXIMUM_ANSWER_BYTES = 64 * 1024 * 1024

/**
 * Carries requests to the running service. The connection is good only with the very certificate of `certFile`: its names may be
 * those of the public host, while the address is this machine's loopback, and no authority can vouch for another.
 */
export async function createRemoteCarrier(options: {
  readonly httpsAddress: string
  readonly certFile: string
  readonly jwt: string
}): Promise<Carrier> {
  // The first of the file: the others are its chain.
  const certificate = new X509Certificate(await readFile(options.certFile)).toString()
  const agent = new Agent({
    keepAlive: true,
    ca: certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  })
  return {
    send: (method, path, body) => {
      const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
      const fail = (error: Error) =>
        reject(new CommandFailure(`The service at ${options.httpsAddress} can’t be reached: ${error.message}.`))
      const headers = {
        accept: 'application/json',
        'grpc-metadata-authorization': `Bearer ${options.jwt}`,
        ...(body === undefined ? {} : { 'content-type': body.type, 'content-length': Buffer.byteLength(body.content) }),
      }
      const outgoing = request(new URL(path, options.httpsAddress), { method, headers, agent, timeout: TIMEOUT_MS })
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
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString() }))
      })
      outgoing.end(body?.content)
      return promise
    },
    close: async () => agent.destroy(),
  }
}
