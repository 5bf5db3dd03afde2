/** The proxies that may name the address of the client for which they speak. */
import { BlockList, isIP } from 'node:net'

export class TrustedProxies {
  readonly #networks = new BlockList()

  /** The proxies of the settings; undefined when there are none. */
  static of(networks: readonly string[]): TrustedProxies | undefined {
    return networks.length === 0 ? undefined : new TrustedProxies(networks)
  }

  /** Each network is an IP address, or a range like `10.0.0.0/8`. Throws for other texts. */
  private constructor(networks: readonly string[]) {
    for (const network of networks) {
      const [address = '', prefix] = network.split('/', 2)
      const family = familyOf(address)
      if (prefix === undefined) this.#networks.addAddress(address, family)
      else this.#networks.addSubnet(address, Number(prefix), family)
    }
  }

  /** Whether the address is the address of a trusted proxy. A text that is no address never is. */
  has(address: string | undefined): boolean {
    return address !== undefined && isIP(address) !== 0 && this.#networks.check(address, familyOf(address))
  }

  /**
   * The client's address: the last address of `X-Forwarded-For` that is not a trusted proxy. The
   * addresses before it may be invented by the client. The header of another peer is not read.
   */
  clientOf(peerAddress: string, forwardedFor: string | readonly string[] | undefined): string {
    let client = peerAddress
    const named = (typeof forwardedFor === 'string' ? forwardedFor : (forwardedFor?.join(',') ?? '')).split(',')
    for (const text of named.toReversed()) {
      const address = text.trim()
      if (address === '' || !this.has(client)) break
      client = address
    }
    return client
  }
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIP(address) === 6 ? 'ipv6' : 'ipv4'
}
