/** Ports for servers that a test stops and starts again at the same port. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'

/**
 * A free port below the range that systems assign by themselves: no other test gets it while its
 * server is stopped.
 */
export async function freePort(): Promise<number> {
  const [port] = await freePorts(1)
  return port as number
}

/** Different ports, each as `freePort` finds it. */
export async function freePorts(count: number): Promise<number[]> {
  const holders = new Map<number, Server>()
  while (holders.size < count) {
    const port = randomInt(15_000, 32_000)
    const server = createServer()
    try {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    } catch {
      // The port is taken.
      continue
    }
    holders.set(port, server)
  }
  await Promise.all(Array.from(holders.values(), (holder) => once(holder.close(), 'close')))
  return [...holders.keys()]
}
