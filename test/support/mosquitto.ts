/** Debian's mosquitto as somebody else's broker: on a port of its own, with a disk, to be stopped and started. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { Program } from './program.ts'

/** Debian keeps it where only root looks for programs. */
const PROGRAM = '/usr/sbin/mosquitto'

export class Mosquitto {
  readonly port: number
  readonly #configurationFile: string
  #program: Program | undefined

  /** Writes its configuration into the folder and starts it; `lines` are added to it. */
  static async start(folder: string, lines: readonly string[] = ['allow_anonymous true']): Promise<Mosquitto> {
    const port = await freePort()
    const file = join(folder, 'mosquitto.conf')
    const own = [
      `listener ${port} 127.0.0.1`,
      'persistence true',
      `persistence_location ${folder}/`,
      'max_queued_messages 100000',
      'log_dest stderr',
    ]
    // It drops its rights otherwise, and can't write into the folder then.
    await writeFile(file, [...own, 'user root', ...lines, ''].join('\n'))
    const mosquitto = new Mosquitto(port, file)
    await mosquitto.comeBack()
    return mosquitto
  }

  private constructor(port: number, configurationFile: string) {
    this.port = port
    this.#configurationFile = configurationFile
  }

  /** Stops it, in order: its Sessions are on disk then. */
  async stop(): Promise<void> {
    const program = this.#program
    this.#program = undefined
    await program?.[Symbol.asyncDispose]()
  }

  /** Starts it again on its port. */
  async comeBack(): Promise<void> {
    this.#program = new Program(PROGRAM, ['-c', this.#configurationFile])
    await this.#program.complaint(/mosquitto version \S+ running/)
  }
}

/**
 * A port that nobody listens on, below those that systems give away by themselves: while mosquitto is stopped, no connection of another test gets it.
 */
async function freePort(): Promise<number> {
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
