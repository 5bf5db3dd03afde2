/** What all listeners have in common: a bound port, and a way to stop. */
import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

export interface ListenerOptions {
  readonly host: string
  /** 0: any free port. */
  readonly port: number
}

export interface Listener {
  readonly port: number
  /** Takes no further connections; the open ones are the broker's to end. */
  close(): Promise<void>
}

/** Sockets that may wait to be accepted: a reconnecting fleet comes at once. */
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
