/** HTTP and TLS on Node, Bun and Deno, with certificate authorities and a proxy of one's own. */
import { once } from 'node:events'
import { request as plainRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { Agent, request as secureRequest } from 'node:https'
import type { RequestOptions } from 'node:https'
import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import type { HttpAnswer, HttpRequest, NetworkOptions } from './platform.ts'

/** The time for the way through a proxy and for the handshake, in milliseconds. */
const HANDSHAKE_MS = 20_000
/** The longest answer that is read, in bytes. */
const MAXIMUM_ANSWER_BYTES = 32 * 1024 * 1024

/** Sends a request with the authorities and the proxy of the options. */
export async function requestByNode(
  { ca, proxy }: NetworkOptions,
  { method, url, headers, body, signal }: HttpRequest,
): Promise<HttpAnswer> {
  const target = new URL(url)
  const isSecure = target.protocol === 'https:'
  const options: RequestOptions = { method, headers, signal, ...(ca === undefined ? {} : { ca }) }
  if (proxy !== undefined) {
    const port = Number(target.port) || (isSecure ? 443 : 80)
    const tunnel = await openTunnel(proxy, target.hostname, port)
    const socket = isSecure ? await secure(target.hostname, { ca, socket: tunnel }) : tunnel
    options.agent = isSecure ? new Agent({ keepAlive: false }) : false
    options.createConnection = () => socket
  }
  const request = (isSecure ? secureRequest : plainRequest)(target, options)
  request.end(body)
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MAXIMUM_ANSWER_BYTES) throw new Error('the answer is too long')
    parts.push(part)
  }
  const retryAfter = response.headers['retry-after']
  return { status: response.statusCode ?? 0, retryAfter, text: Buffer.concat(parts).toString() }
}

/** Opens TLS to the broker, through the proxy where there is one. */
export async function openTls(host: string, port: number, { ca, proxy }: NetworkOptions): Promise<TLSSocket> {
  const socket = proxy === undefined ? undefined : await openTunnel(proxy, host, port)
  return secure(host, { ca, ...(socket === undefined ? { port } : { socket }) })
}

async function secure(
  host: string,
  { ca, ...way }: { readonly ca: string | undefined } & ({ readonly port: number } | { readonly socket: Duplex }),
): Promise<TLSSocket> {
  const name = isIP(host) === 0 ? { servername: host } : {}
  const socket = connectTls({ host, ...name, ...way, ...(ca === undefined ? {} : { ca }) })
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(HANDSHAKE_MS) })
    return socket
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** A connection through an HTTP proxy by CONNECT (RFC 9110 §9.3.6). */
async function openTunnel(proxy: string, host: string, port: number): Promise<Duplex> {
  const { protocol, hostname, port: proxyPort, username, password } = new URL(proxy)
  if (protocol !== 'http:') throw new Error(`proxy: ${protocol} is not known; give an address with http:`)
  const login = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`
  const request = plainRequest({
    method: 'CONNECT',
    host: hostname,
    port: Number(proxyPort) || 80,
    path: authority,
    headers: {
      host: authority,
      ...(username === '' ? {} : { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
    },
    agent: false,
    signal: AbortSignal.timeout(HANDSHAKE_MS),
  })
  request.end()
  const [response, socket] = (await once(request, 'connect')) as [{ readonly statusCode?: number }, Duplex]
  if (response.statusCode === 200) return socket
  socket.destroy()
  throw new Error(`the proxy answered ${response.statusCode}`)
}
