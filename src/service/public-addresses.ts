/** The addresses by which people and programs reach the service. */
import { isIP } from 'node:net'
import type { Settings } from '../settings/settings.ts'

/**
 * The public host with the ports. Until the listeners are open, the ports are the ports of the
 * settings. Then port 0 is replaced by the port that the system chose.
 */
export class PublicAddresses {
  readonly #host: string
  #httpsPort: number
  #mqttsPort: number

  constructor({ publicHost, httpsPort, mqttsPort }: Pick<Settings, 'publicHost' | 'httpsPort' | 'mqttsPort'>) {
    this.#host = publicHost
    this.#httpsPort = httpsPort
    this.#mqttsPort = mqttsPort
  }

  /** The listeners are open, on these ports. */
  opened(ports: { readonly httpsPort: number; readonly mqttsPort: number }): void {
    this.#httpsPort = ports.httpsPort
    this.#mqttsPort = ports.mqttsPort
  }

  get httpsPort(): number {
    return this.#httpsPort
  }

  /** `https://<public host>:<port>`. */
  get https(): string {
    const host = isIP(this.#host) === 6 ? `[${this.#host}]` : this.#host
    return `https://${host}:${this.#httpsPort}`
  }

  get mqtts(): { readonly host: string; readonly port: number } {
    return { host: this.#host, port: this.#mqttsPort }
  }
}
