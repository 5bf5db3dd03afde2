/** The open network servers that are no clients of the broker. */
import type { NetworkServer } from '../lorawan/commands/network-server.ts'

/**
 * The list is in the order in which the network servers were opened: the first one that serves an
 * application takes its downlinks.
 */
export class NetworkServerList {
  readonly #open: NetworkServer[] = []

  add(networkServer: NetworkServer): void {
    this.#open.push(networkServer)
  }

  /** Takes the network server of this name out of the list; its caller closes it. */
  take(name: string): NetworkServer | undefined {
    const place = this.#open.findIndex((networkServer) => networkServer.name === name)
    return place < 0 ? undefined : this.#open.splice(place, 1)[0]
  }

  /** The network server for the devices of an application; undefined for clients of the broker. */
  serverOf(applicationId: string): NetworkServer | undefined {
    return this.#open.find((networkServer) => networkServer.serves(applicationId))
  }

  /** The names of the open network servers. */
  names(): readonly string[] {
    return this.#open.map(({ name }) => name)
  }

  async close(): Promise<void> {
    await Promise.all(this.#open.map((networkServer) => networkServer.close()))
  }
}
