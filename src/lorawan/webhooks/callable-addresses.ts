/**
 * The IP addresses that a webhook may call. The receiver's address comes from a tenant. Without
 * these rules a tenant could make the service call what only the service can reach: its own
 * machine, the operator's network, and the metadata of the cloud.
 */
import { BlockList, isIP } from 'node:net'

/**
 * Addresses that are not in the public Internet (RFC 6890 and the registries of IANA). Public, and
 * yet blocked: 168.63.129.16, at which Azure answers its own virtual machines.
 */
const NOT_PUBLIC_IPV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
] as const

/** The public addresses of IPv6 (RFC 4291 §2.4). */
const PUBLIC_IPV6 = '2000::/3'
/**
 * Addresses in that range for special purposes, or with an IPv4 address within: Teredo and 6to4.
 */
const NOT_PUBLIC_IPV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'] as const

export class CallableAddresses {
  readonly #allowed = new BlockList()
  readonly #notPublic = new BlockList()
  readonly #public = new BlockList()

  /**
   * `allowedNetworks`: the addresses and ranges that the operator allows beside the public ones,
   * like `10.0.0.0/8`. Throws for other texts.
   */
  constructor(allowedNetworks: readonly string[]) {
    for (const network of allowedNetworks) add(this.#allowed, network)
    for (const network of [...NOT_PUBLIC_IPV4, ...NOT_PUBLIC_IPV6]) add(this.#notPublic, network)
    add(this.#public, PUBLIC_IPV6)
  }

  /** True for an IP address that may be called. A text that is no address never may. */
  has(address: string): boolean {
    const family = isIP(address)
    if (family === 0 || address.includes('%')) return false
    if (family === 4) return this.#allowed.check(address, 'ipv4') || !this.#notPublic.check(address, 'ipv4')
    const mapped = mappedIpv4(address)
    if (mapped !== undefined) return this.has(mapped)
    if (this.#allowed.check(address, 'ipv6')) return true
    return this.#public.check(address, 'ipv6') && !this.#notPublic.check(address, 'ipv6')
  }
}

function add(list: BlockList, network: string): void {
  const [address = '', prefix] = network.split('/', 2)
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (prefix === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(prefix), family)
}

/**
 * The IPv4 address within an IPv6 address, which the machine would connect to (RFC 4291 §2.5.5.2).
 */
function mappedIpv4(address: string): string | undefined {
  // The URL parser writes each address in one way: `::ffff:a00:1`.
  const written = new URL(`http://[${address}]/`).hostname.slice(1, -1)
  const groups = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(written)
  if (groups === null) return undefined
  const [high, low] = [Number.parseInt(groups[1] as string, 16), Number.parseInt(groups[2] as string, 16)]
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.')
}
