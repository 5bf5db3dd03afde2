/**
 * The listening socket's side of the HTTP server: TLS, and every bound on what a peer may hold
 * before a route is found.
 */
import { createServer as createPlainServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer, Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { answerFor, invalidArgument, RequestRefused } from '../api/errors.ts'

/** Certificate chain and private key in PEM. */
export interface TlsMaterial {
  readonly cert: string | Buffer
  readonly key: string | Buffer
}

/**
 * Bounds on connections; each stops a peer that would hold memory or sockets without asking
 * anything.
 */
const LIMITS = {
  /**
   * Sockets at the same time, WebSockets included; beyond it new ones are closed at once. Stops
   * exhaustion of memory.
   */
  maximumConnections: 20_000,
  /**
   * The longest header block of a request, in bytes; a longer one is answered with 431. A JWT of
   * this service has less than 1 KiB.
   */
  maximumHeaderBytes: 16 * 1024,
  /** Until the header block is complete. Stops headers that are dripped byte by byte. */
  headersTimeoutMs: 15_000,
  /**
   * Until the whole request has been read. An import is read no faster than its rows are created,
   * and takes minutes; all other bodies are short. A client that drips its body holds nothing but
   * its connection.
   */
  requestTimeoutMs: 600_000,
  /** A socket on which nothing moves in either direction. */
  idleTimeoutMs: 60_000,
  /** A kept-alive connection without a request. */
  keepAliveTimeoutMs: 30_000,
  /**
   * Requests on one connection; then it is closed, so that load spreads again over the nodes of a
   * deployment.
   */
  maximumRequestsPerSocket: 10_000,
  /** How long TLS may take. Stops half-open handshakes. */
  handshakeTimeoutMs: 10_000,
  /** How often expired headers and requests are looked for. */
  checkingIntervalMs: 5_000,
} as const

/**
 * An HTTP/1.1 server over TLS 1.2 or newer, or in clear text where no certificate is given (behind
 * a proxy, tests).
 */
export function createNodeServer(handler: RequestListener, tls: TlsMaterial | undefined): Server | TlsServer {
  const options = {
    maxHeaderSize: LIMITS.maximumHeaderBytes,
    headersTimeout: LIMITS.headersTimeoutMs,
    requestTimeout: LIMITS.requestTimeoutMs,
    keepAliveTimeout: LIMITS.keepAliveTimeoutMs,
    connectionsCheckingInterval: LIMITS.checkingIntervalMs,
    // Lenient reading would let a request be smuggled in behind an ambiguous request (RFC 9112
    // §11.2).
    insecureHTTPParser: false,
    // The server itself answers such a request, with the usual error body.
    requireHostHeader: false,
  }
  const server =
    tls === undefined
      ? createPlainServer(options, handler)
      : createTlsServer(
          { ...options, ...tls, minVersion: 'TLSv1.2', handshakeTimeout: LIMITS.handshakeTimeoutMs },
          handler,
        )
  server.maxConnections = LIMITS.maximumConnections
  server.maxRequestsPerSocket = LIMITS.maximumRequestsPerSocket
  server.setTimeout(LIMITS.idleTimeoutMs)
  return server
}

/**
 * Puts another certificate in place for new connections; live ones keep theirs. Nothing happens
 * without TLS.
 */
export function replaceCertificate(server: Server | TlsServer, tls: TlsMaterial): void {
  if (server instanceof TlsServer) server.setSecureContext({ ...tls, minVersion: 'TLSv1.2' })
}

/**
 * Answers bytes that are not HTTP, with the usual error body, and closes. Before the end of the TLS
 * handshake nobody could read an answer.
 */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable || isShakingHands(socket)) {
    socket.destroy()
    return
  }
  const { status, body } = answerFor(clientRefusal(error.code))
  const text = JSON.stringify(body)
  socket.end(
    `HTTP/1.1 ${status} ${REASON_PHRASE[status] ?? 'Bad Request'}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n${text}`,
  )
}

/**
 * A socket in its TLS handshake writes nothing, not even its end: it would stay open for as long as
 * the client likes.
 */
function isShakingHands(socket: Socket): boolean {
  return (
    socket instanceof TLSSocket &&
    (socket as TLSSocket & { readonly secureConnecting?: boolean }).secureConnecting !== false
  )
}

const REASON_PHRASE: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
}

function clientRefusal(code: string | undefined): RequestRefused {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new RequestRefused('resource_exhausted', 'the header fields are too large', 'header_too_large', {
        statusCode: 431,
      })
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RequestRefused('unavailable', 'the request did not arrive in time', 'timeout', { statusCode: 408 })
    case undefined:
    default:
      return invalidArgument('this is not an HTTP/1.1 request', 'unreadable_request')
  }
}
