/**
 * Debian's mosquitto as a foreign broker: on its own port, with a disk, to be stopped and started.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { freePort } from './free-port.ts'
import { Program } from './program.ts'

/** Debian installs it where only root looks for programs. */
const PROGRAM = '/usr/sbin/mosquitto'

export class Mosquitto {
  readonly port: number
  readonly #configurationFile: string
  readonly #environment: Readonly<Record<string, string>>
  #program: Program | undefined

  /**
   * Writes its configuration into the folder and starts it; `lines` are added to the configuration.
   */
  static async start(
    folder: string,
    lines: readonly string[] = ['allow_anonymous true'],
    environment: Readonly<Record<string, string>> = {},
  ): Promise<Mosquitto> {
    const port = await freePort()
    const file = join(folder, 'mosquitto.conf')
    const own = [
      `listener ${port} 127.0.0.1`,
      'persistence true',
      `persistence_location ${folder}/`,
      'max_queued_messages 100000',
      'log_dest stderr',
    ]
    // Otherwise it would drop its rights, and could not write into the folder.
    await writeFile(file, [...own, 'user root', ...lines, ''].join('\n'))
    const mosquitto = new Mosquitto(port, file, environment)
    await mosquitto.comeBack()
    return mosquitto
  }

  private constructor(port: number, configurationFile: string, environment: Readonly<Record<string, string>>) {
    this.port = port
    this.#configurationFile = configurationFile
    this.#environment = environment
  }

  /** Stops it in order; its Sessions are on disk then. */
  async stop(): Promise<void> {
    const program = this.#program
    this.#program = undefined
    await program?.[Symbol.asyncDispose]()
  }

  /** Starts it again on its port. */
  async comeBack(): Promise<void> {
    this.#program = new Program(PROGRAM, ['-c', this.#configurationFile], { environment: this.#environment })
    await this.#program.complaint(/mosquitto version \S+ running/)
  }
}
