/** Headers of the PROXY protocol, for tests. */

/** Version 1, for a client with an IPv4 address. */
export function v1Header(address: string, port: number): Buffer {
  return Buffer.from(`PROXY TCP4 ${address} 203.0.113.7 ${port} 8883\r\n`)
}

/** Version 2, with the byte of version and command, the byte of the family, and the rest. */
export function v2Header(versionAndCommand: number, family: number, rest: Buffer): Buffer {
  const head = Buffer.from('0d0a0d0a000d0a515549540a00000000', 'hex')
  head[12] = versionAndCommand
  head[13] = family
  head.writeUInt16BE(rest.length, 14)
  return Buffer.concat([head, rest])
}
