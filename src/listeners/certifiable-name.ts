/** Host names and IP addresses as certificates carry them. */
import { isIP } from 'node:net'

/**
 * The form of a host name or IP address in a certificate: lower case, IPv6 without a zone and in
 * hexadecimal groups alone (also an embedded IPv4 address). Undefined when no certificate can carry
 * the name: a name is ASCII, of at most 253 characters.
 */
export function certifiableName(hostName: string): string | undefined {
  const family = isIP(hostName)
  if (family === 4) return hostName
  // The URL parser turns every spelling of an IPv6 address into one.
  if (family === 6) return new URL(`http://[${hostName.replace(/%.*$/, '')}]/`).hostname.slice(1, -1)
  const isName = /^(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*$/.test(hostName.slice(0, 254))
  return isName && hostName.length <= 253 ? hostName.toLowerCase() : undefined
}
