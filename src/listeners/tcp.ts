/** MQTT over plain TCP. Only the bare broker listens so, on loopback; the service never does. */
import { createServer } from 'node:net'
import type { Broker } from '../broker/broker.ts'
import { systemClock } from '../clock.ts'
import { bun } from './bun.ts'
import { BunFront } from './bun-front.ts'
import { HandshakeTurns } from './handshake-turns.ts'
import { listen } from './listen.ts'
import type { Listener, ListenerOptions } from './listen.ts'
import { SocketTransport } from './socket-transport.ts'

/** Listens on a plain TCP port. Throws the system's error when the port can't be bound. */
export function listenTcp(broker: Broker, options: ListenerOptions): Promise<Listener> {
  return bun === undefined ? listenNodeTcp(broker, options) : listenBunTcp(broker, options)
}

function listenNodeTcp(broker: Broker, options: ListenerOptions): Promise<Listener> {
  const server = createServer({ noDelay: true }, (socket) => {
    broker.accept(new SocketTransport(socket), { address: socket.remoteAddress ?? '', listener: 'tcp' })
  })
  return listen(server, options)
}

async function listenBunTcp(broker: Broker, options: ListenerOptions): Promise<Listener> {
  const front = new BunFront({
    boundsProxies: true,
    turns: new HandshakeTurns(systemClock),
    clock: systemClock,
    refused: () => {},
    handshakeFailed: () => {},
    accept: (newcomer) => {
      newcomer.settle()
      broker.accept(newcomer.toTransport(), { address: newcomer.client.address, listener: 'tcp' })
    },
  })
  await front.listen(options)
  return { port: front.port, close: () => front.close() }
}
