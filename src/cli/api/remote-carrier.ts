/** The carrier for a running service: HTTPS to its address on this machine. */
import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { given } from '../../given.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { ApiRefusal, refusalOf } from './api-client.ts'
import type { Carrier, RawAnswer } from './api-client.ts'
import type { ServiceAddress } from './reach-deployment.ts'

/** The time for an answer: long enough for one part of an import on a busy machine. */
const TIMEOUT_MS = 60_000
/** The time without a byte of a stream: a large registry is copied before the first byte comes. */
const STREAM_TIMEOUT_MS = 600_000
/** The longest answer that is read; the largest page of the largest devices is far shorter. */
const MAXIMUM_ANSWER_BYTES = 64 * 1024 * 1024

/** A service, and a session that it accepts. */
export interface AuthorizedService extends ServiceAddress {
  readonly jwt: string
}

/**
 * Carries requests to the running service. Only the certificate in `certFile` is trusted: its names
 * may be of the public host while the address is this machine's loopback, and no authority can
 * vouch for another certificate. `jwt` may be left out for requests that need no credential.
 */
export async function createRemoteCarrier(options: ServiceAddress & { readonly jwt?: string }): Promise<Carrier> {
  const agent = await trustingAgent(options.certFile)
  return {
    send: (method, path, body) => {
      const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>()
      const fail = (error: Error) =>
        reject(new CommandFailure(`The service at ${options.httpsAddress} can’t be reached: ${error.message}.`))
      const headers = {
        accept: 'application/json',
        ...given({
          'grpc-metadata-authorization': options.jwt && `Bearer ${options.jwt}`,
          'content-type': body?.type,
          'content-length': body && Buffer.byteLength(body.content),
        }),
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
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }))
      })
      outgoing.end(body?.content)
      return promise
    },
    close: async () => agent.destroy(),
  }
}

/**
 * POSTs, and yields the body of the answer as it comes. Throws ApiRefusal when the service refuses,
 * and CommandFailure when the service can't be reached or breaks off.
 */
export async function* streamFromRunning(service: AuthorizedService, path: string): AsyncGenerator<Buffer, void, void> {
  const agent = await trustingAgent(service.certFile)
  let fault = 'can’t be reached'
  try {
    const headers = { 'grpc-metadata-authorization': `Bearer ${service.jwt}` }
    const outgoing = request(new URL(path, service.httpsAddress), {
      method: 'POST',
      headers,
      agent,
      timeout: STREAM_TIMEOUT_MS,
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('it does not answer')))
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
    outgoing.on('error', reject).on('response', resolve).end()
    const response = await promise
    if (response.statusCode !== 200) {
      throw refusalOf({ status: response.statusCode ?? 0, body: await buffer(response) })
    }
    fault = 'broke off; its log says why'
    yield* response as AsyncIterable<Buffer>
  } catch (error) {
    if (error instanceof ApiRefusal || !(error instanceof Error)) throw error
    throw new CommandFailure(`The service at ${service.httpsAddress} ${fault}: ${error.message}.`)
  } finally {
    agent.destroy()
  }
}

async function trustingAgent(certFile: string): Promise<Agent> {
  // The first certificate of the file; the others are its chain.
  const certificate = new X509Certificate(await readFile(certFile)).toString()
  return new Agent({
    keepAlive: true,
    ca: certificate,
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  })
}
