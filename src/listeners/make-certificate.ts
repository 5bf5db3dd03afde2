/**
 * Makes X.509 certificates (RFC 5280) for ECDSA P-256 keys. Its library takes a tenth of a second
 * to load: import this file only when a certificate has to be made.
 */
// This import comes first: the library's classes need it while they load.
// oxlint-disable-next-line import/no-unassigned-import -- it adds to Reflect and exports nothing
import 'reflect-metadata'
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate as CertificateToRead,
  X509CertificateGenerator,
} from '@peculiar/x509'
import type { Extension } from '@peculiar/x509'
import { createPublicKey } from 'node:crypto'
import type { KeyObject, X509Certificate, webcrypto } from 'node:crypto'
import { isIP } from 'node:net'

/**
 * The content of a certificate. Times are milliseconds since 1970, and are cut to whole seconds.
 */
export interface CertificateContent {
  /** The common name, cut to 64 characters, the bound of RFC 5280. */
  readonly subject: string
  readonly notBeforeMs: number
  readonly notAfterMs: number
  readonly publicKey: KeyObject
  /** The signer. Without a certificate the new one is self-signed. */
  readonly issuer: { readonly certificate?: X509Certificate; readonly privateKey: KeyObject }
  /**
   * An authority's certificate may only sign certificates of servers. A server's certificate names
   * hosts, each in the form of `certifiableName`.
   */
  readonly role: { readonly authority: true } | { readonly authority: false; readonly hostNames: readonly string[] }
}

/** The signed certificate in PEM, with a random serial number of 16 bytes (RFC 5280 §4.1.2.2). */
export async function makeCertificate(content: CertificateContent): Promise<string> {
  const subject = new Name([{ O: ['Fieldgate'] }, { CN: [content.subject.slice(0, 64)] }])
  const { certificate, privateKey } = content.issuer
  const made = await X509CertificateGenerator.create({
    subject,
    // The issuer is byte for byte the authority's name, because verifiers compare the bytes.
    issuer: certificate === undefined ? subject : new CertificateToRead(certificate.raw).subjectName,
    notBefore: wholeSeconds(content.notBeforeMs),
    notAfter: wholeSeconds(content.notAfterMs),
    publicKey: verifyingKey(content.publicKey),
    signingKey: privateKey.toCryptoKey(p256, false, ['sign']),
    signingAlgorithm: { name: 'ECDSA', hash: 'SHA-256' },
    extensions: await extensionsOf(content),
  })
  return `${made.toString('pem')}\n`
}

async function extensionsOf({ role, publicKey, issuer }: CertificateContent): Promise<Extension[]> {
  const keyIdentifiers = [
    await SubjectKeyIdentifierExtension.create(verifyingKey(publicKey)),
    await AuthorityKeyIdentifierExtension.create(verifyingKey(createPublicKey(issuer.privateKey))),
  ]
  if (role.authority) {
    return [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      ...keyIdentifiers,
    ]
  }
  const names = role.hostNames.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }) as const)
  return [
    new BasicConstraintsExtension(false, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension(names),
    ...keyIdentifiers,
  ]
}

const p256 = { name: 'ECDSA', namedCurve: 'P-256' }

function verifyingKey(publicKey: KeyObject): webcrypto.CryptoKey {
  return publicKey.toCryptoKey(p256, true, ['verify'])
}

/** A time in a certificate has no fraction (RFC 5280 §4.1.2.5). */
function wholeSeconds(ms: number): Date {
  return new Date(Math.floor(ms / 1000) * 1000)
}
