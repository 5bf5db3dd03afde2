/** The common part of all listeners: a bound port, and a way to stop. */
import { once } from 'node:events'
import type { AddressInfo, Server, Socket } from 'node:net'

export interface ListenerOptions {
  readonly host: string
  /** The port; 0 for any free port. */
  readonly port: number
}

export interface Listener {
  readonly port: number
  /** Takes no further connections. The broker ends the open ones. */
  close(): Promise<void>
}

/** Sockets that may wait to be accepted: the clients of a fleet reconnect at the same time. */
const BACKLOG = 4_096

/** Binds the server. Throws the system's error when the port can't be had. */
export async function listen(server: Server, { host, port }: ListenerOptions): Promise<Listener> {
  server.listen({ host, port, backlog: BACKLOG })
  await once(server, 'listening')
  const close = (): Promise<void> => {
    const closed = once(server, 'close').then(() => undefined)
    server.close()
    return closed
  }
  return { port: (server.address() as AddressInfo).port, close }
}

/**
 * Takes away the listeners that the server has for a new connection. The function that is returned
 * gives them a connection.
 */
export function takeConnections(server: Server): (socket: Socket) => void {
  const listeners = server.listeners('connection')
  server.removeAllListeners('connection')
  return (socket) => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket])
  }
}
