/**
 * MQTT over WebSocket (MQTT 5.0 §6), on the server that also speaks HTTP. Binary frames become the
 * broker's duplex of bytes.
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { WebSocket } from 'ws'
import type { Broker } from '../broker/broker.ts'
import type { Transport, TransportHandlers } from '../broker/ports/transport.ts'
import type { AddressLimiter } from './address-limiter.ts'
import { heldBytes } from './held-bytes.ts'
import { LINGER_BYTES, LINGER_MS } from './linger.ts'
import type { TrustedProxies } from './trusted-proxies.ts'

/** The path of the upgrade, and the subprotocol that a client must offer [MQTT-6.0.0-3]. */
const PATH = '/mqtt'
const SUBPROTOCOL = 'mqtt'
/** The close code for a frame of a type that is not accepted (RFC 6455 §7.4.1). */
const UNSUPPORTED_DATA = 1003
const NORMAL_CLOSURE = 1000

/** The pages that may connect: those of this host, and those of the origins in the settings. */
export interface AllowedPages {
  readonly allowedOrigins: readonly string[]
  /**
   * The name by which clients reach the service. The console's pages have it, also behind a proxy
   * that sets another Host.
   */
  readonly publicHost: string
}

/**
 * Serves MQTT at the path `/mqtt` of the server. Upgrades to other paths are refused, and so are
 * upgrades from pages of other hosts: browsers send the page's origin (RFC 6455 §10.2), and other
 * programs need not. Without `pages` any page may connect. A client behind one of the `proxies` has
 * the address that the proxy names.
 */
export function serveWebSocket(
  server: Server,
  broker: Broker,
  limiter: AddressLimiter,
  { pages, proxies }: { readonly pages?: AllowedPages; readonly proxies?: TrustedProxies | undefined } = {},
): void {
  const isAllowed = pages === undefined ? () => true : pageCheck(pages)
  const webSockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    // A frame may hold many packets, or a part of one; it has the same bound as a packet. Stops
    // frames of gigabytes.
    maxPayload: broker.limits.maximumPacketSizeBytes,
    // No compression: a few bytes could inflate to megabytes, which would be read before
    // authentication.
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(SUBPROTOCOL) ? SUBPROTOCOL : false),
  })
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { remoteAddress: peerAddress = '', remotePort: port = 0 } = request.socket
    const address = proxies?.clientOf(peerAddress, request.headers['x-forwarded-for']) ?? peerAddress
    const refusal = refusalOf(request)
    if (refusal !== undefined) {
      refuse(socket, refusal)
      return
    }
    if (!isAllowed(request)) {
      broker.counters.connectionsRefused += 1
      refuse(
        socket,
        '403 Forbidden',
        'The page of this origin may not connect: FIELDGATE_ALLOWED_ORIGINS does not name it.\n',
      )
      return
    }
    if (!limiter.admit(address, port, broker.clock.steady())) {
      broker.counters.connectionsRefused += 1
      refuse(socket, '429 Too Many Requests')
      return
    }
    limiter.settled(address, port)
    request.socket.once('close', () => limiter.closed(address, port))
    request.socket.setNoDelay(true)
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      broker.accept(webSocketTransport(webSocket), { address, listener: 'websocket' })
    })
  })
}

function refusalOf(request: IncomingMessage): string | undefined {
  const path = (request.url ?? '').split('?', 1)[0]
  if (path !== PATH) return '404 Not Found'
  const offered = (request.headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  return offered.includes(SUBPROTOCOL) ? undefined : '400 Bad Request'
}

function pageCheck({ allowedOrigins, publicHost }: AllowedPages): (request: IncomingMessage) => boolean {
  const allowed = new Set(allowedOrigins)
  return ({ headers: { origin, host } }) => {
    if (origin === undefined || allowed.has(origin)) return true
    if (!URL.canParse(origin)) return false
    const page = new URL(origin)
    return page.host === host?.toLowerCase() || page.hostname === publicHost.toLowerCase()
  }
}

function refuse(socket: Duplex, status: string, reason = ''): void {
  socket.on('error', () => {})
  const head = `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: ${reason.length}`
  socket.end(`${head}\r\n\r\n${reason}`)
}

function webSocketTransport(webSocket: WebSocket): Transport {
  let handlers: TransportHandlers | undefined
  const close = (error: Error | undefined): void => {
    const told = handlers
    handlers = undefined
    told?.closed(error)
  }
  webSocket.binaryType = 'nodebuffer'
  webSocket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) handlers?.data(data)
    else {
      webSocket.close(UNSUPPORTED_DATA, 'MQTT is sent in binary frames') // [MQTT-6.0.0-1]
      close(undefined)
    }
  })
  webSocket.on('error', (error) => close(error))
  webSocket.on('close', () => close(undefined))
  const written = (): void => {
    if (webSocket.bufferedAmount === 0) handlers?.drained()
  }
  return {
    attach(next) {
      handlers = next
    },
    write(part, isLent) {
      if (webSocket.readyState !== webSocket.OPEN) return
      webSocket.send(heldBytes(part, isLent), { binary: true }, written)
    },
    get bufferedBytes() {
      return webSocket.bufferedAmount
    },
    pause() {
      webSocket.pause()
    },
    resume() {
      webSocket.resume()
    },
    end() {
      handlers = undefined
      // Nobody reads the bytes that come now. A flood is not read while the client may still answer
      // our close.
      let bytes = 0
      webSocket.removeAllListeners('message')
      webSocket.on('message', (data: Buffer) => {
        bytes += data.length
        if (bytes > LINGER_BYTES) webSocket.pause()
      })
      webSocket.resume()
      webSocket.close(NORMAL_CLOSURE)
      const timer = setTimeout(() => webSocket.terminate(), LINGER_MS)
      timer.unref()
      webSocket.once('close', () => clearTimeout(timer))
    },
    destroy() {
      handlers = undefined
      webSocket.terminate()
    },
  }
}
