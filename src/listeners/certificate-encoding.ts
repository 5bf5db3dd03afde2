/**
 * Writes X.509 certificates (RFC 5280, DER of X.690) for ECDSA P-256 keys: as much as the local authority needs, no parser. Keys,
 * signatures and the reading of certificates are node:crypto's.
 */
import { createHash, randomBytes, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { isIP } from 'node:net'

/** What a certificate says. Times are milliseconds since 1970 and are cut to whole seconds. */
export interface CertificateContent {
  readonly subject: string
  readonly issuer: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly publicKey: KeyObject
  /** The key that signs; a self-signed certificate is signed by its own. */
  readonly issuerPublicKey: KeyObject
  readonly issuerPrivateKey: KeyObject
  /** An authority's certificate may sign servers' certificates, and nothing else; a server's one names hosts. */
  readonly role: { readonly authority: true } | { readonly authority: false; readonly hostNames: readonly string[] }
}

/** The certificate in PEM, signed, with a random serial number of 127 bits (RFC 5280 §4.1.2.2). */
export function encodeCertificate(content: CertificateContent): string {
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    signatureAlgorithm,
    name(content.issuer),
    sequence(time(content.notBeforeMs), time(content.notAfterMs)),
    name(content.subject),
    content.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...extensions(content))),
  )
  const signature = sign('sha256', body, content.issuerPrivateKey)
  const der = sequence(body, signatureAlgorithm, bitString(0, signature))
  const lines = der.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`
}

/** Whether a name can stand in a certificate: an IP address, or a host name in ASCII of at most 253 characters. */
export function isCertifiableName(hostName: string): boolean {
  return isIP(hostName) !== 0 || /^(?!-)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*$/.test(hostName.slice(0, 254))
}

/** The bytes of an IP address, 4 or 16, as they stand in a certificate. */
export function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number))
  // The URL parser brings every spelling of IPv6, embedded IPv4 included, to hexadecimal groups with at most one `::`.
  const groups = new URL(`http://[${address.replace(/%.*$/, '')}]/`).hostname.slice(1, -1)
  const [head = '', tail] = groups.split('::')
  const before = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(8 - before.length - after.length).fill('0')
  return Buffer.from([...before, ...zeros, ...after].map((group) => group.padStart(4, '0')).join(''), 'hex')
}

function extensions({ role, publicKey, issuerPublicKey }: CertificateContent): Buffer[] {
  const keyIds = [
    extension(oids.subjectKeyIdentifier, false, octetString(keyIdentifier(publicKey))),
    extension(oids.authorityKeyIdentifier, false, sequence(tagged(0x80, keyIdentifier(issuerPublicKey)))),
  ]
  if (role.authority) {
    return [
      extension(oids.basicConstraints, true, sequence(boolean(true), integer(Buffer.from([0])))),
      // keyCertSign and cRLSign: bits 5 and 6.
      extension(oids.keyUsage, true, bitString(1, Buffer.from([0b0000_0110]))),
      ...keyIds,
    ]
  }
  const names = role.hostNames.map((hostName) =>
    isIP(hostName) === 0 ? tagged(0x82, Buffer.from(hostName, 'ascii')) : tagged(0x87, addressBytes(hostName)),
  )
  return [
    extension(oids.basicConstraints, true, sequence()),
    // digitalSignature: bit 0.
    extension(oids.keyUsage, true, bitString(7, Buffer.from([0b1000_0000]))),
    extension(oids.extendedKeyUsage, false, sequence(oids.serverAuthentication)),
    extension(oids.subjectAlternativeName, false, sequence(...names)),
    ...keyIds,
  ]
}

/** SHA-1 of the public key's bits (RFC 5280 §4.2.1.2, method 1): an uncompressed P-256 point is the last 65 bytes. */
function keyIdentifier(publicKey: KeyObject): Buffer {
  return createHash('sha1')
    .update(publicKey.export({ type: 'spki', format: 'der' }).subarray(-65))
    .digest()
}

/** Positive, of 16 bytes, without a leading zero byte. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = ((bytes[0] ?? 0) & 0x7f) | 0x40
  return bytes
}

function name(commonName: string): Buffer {
  const attribute = (type: Buffer, value: string) => set(sequence(type, utf8String(value)))
  return sequence(attribute(oids.organizationName, 'Fieldgate'), attribute(oids.commonName, commonName.slice(0, 64)))
}

/** UTCTime through 2049, GeneralizedTime from 2050 on (RFC 5280 §4.1.2.5). */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/\.\d+|[-:T]/g, '')
  return digits < '2050' ? tagged(0x17, Buffer.from(digits.slice(2))) : tagged(0x18, Buffer.from(digits))
}

function extension(type: Buffer, critical: boolean, value: Buffer): Buffer {
  return sequence(type, ...(critical ? [boolean(true)] : []), octetString(value))
}

/** One tag, the length in its shortest form, the contents. */
function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents)
  if (content.length < 0x80) return Buffer.concat([Buffer.from([tag, content.length]), content])
  const hex = content.length.toString(16)
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')
  return Buffer.concat([Buffer.from([tag, 0x80 | length.length]), length, content])
}

function sequence(...contents: readonly Buffer[]): Buffer {
  return tagged(0x30, ...contents)
}

function set(...contents: readonly Buffer[]): Buffer {
  return tagged(0x31, ...contents)
}

function explicit(number: number, content: Buffer): Buffer {
  return tagged(0xa0 | number, content)
}

function boolean(value: boolean): Buffer {
  return tagged(0x01, Buffer.from([value ? 0xff : 0x00]))
}

/** Big-endian, the caller's top bit clear: the number is not negative. */
function integer(bytes: Buffer): Buffer {
  return tagged(0x02, bytes)
}

function bitString(unusedBits: number, bytes: Buffer): Buffer {
  return tagged(0x03, Buffer.from([unusedBits]), bytes)
}

function octetString(bytes: Buffer): Buffer {
  return tagged(0x04, bytes)
}

function utf8String(value: string): Buffer {
  return tagged(0x0c, Buffer.from(value))
}

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  const bytes = [first * 40 + second, ...rest].flatMap((arc) => {
    const septets = [arc & 0x7f]
    for (let left = Math.floor(arc / 128); left > 0; left = Math.floor(left / 128))
      septets.unshift((left & 0x7f) | 0x80)
    return septets
  })
  return tagged(0x06, Buffer.from(bytes))
}

const oids = {
  commonName: objectIdentifier('2.5.4.3'),
  organizationName: objectIdentifier('2.5.4.10'),
  subjectKeyIdentifier: objectIdentifier('2.5.29.14'),
  keyUsage: objectIdentifier('2.5.29.15'),
  subjectAlternativeName: objectIdentifier('2.5.29.17'),
  basicConstraints: objectIdentifier('2.5.29.19'),
  authorityKeyIdentifier: objectIdentifier('2.5.29.35'),
  extendedKeyUsage: objectIdentifier('2.5.29.37'),
  serverAuthentication: objectIdentifier('1.3.6.1.5.5.7.3.1'),
}

/** ecdsa-with-SHA256 (RFC 5758 §3.2), without parameters. */
const signatureAlgorithm = sequence(objectIdentifier('1.2.840.10045.4.3.2'))
