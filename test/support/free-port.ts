/** Ports for servers that a test stops and starts again where they were. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * A port that nobody listens on, below those that systems give away by themselves: no other test
 * gets it while its server is stopped.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000)
    const server = createServer()
    try {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    } catch {
      // Somebody has it.
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
