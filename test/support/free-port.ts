/** Ports for servers that a test stops and starts again at the same port. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A free port below the range that systems assign by themselves: no other test gets it while its
 * server is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000)
    const server = createServer()
    try {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    } catch {
      // The port is taken.
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
