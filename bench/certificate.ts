/**
 * The one certificate of a comparison: ECDSA P-256, self-signed, trusted only by the load
 * generators.
 */
// oxlint-disable-next-line import/no-unassigned-import -- x509 needs it at import
import 'reflect-metadata'
import { KeyObject } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { SubjectAlternativeNameExtension, X509CertificateGenerator } from '@peculiar/x509'

const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
const VALID_MS = 7 * 24 * 3_600_000
/** A certificate's times are cut to whole seconds, and it must not begin in the future. */
const BACKDATED_MS = 60_000

/** The paths of the PEM files, and the certificate's text. */
export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
  readonly pem: string
}

/** Makes the certificate in `directory`, which must exist. */
export async function makeCertificate(directory: string): Promise<Certificate> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify'])
  const names = new SubjectAlternativeNameExtension([
    { type: 'dns', value: 'localhost' },
    { type: 'ip', value: '127.0.0.1' },
  ])
  const nowMs = Date.now()
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=localhost',
    notBefore: new Date(nowMs - BACKDATED_MS),
    notAfter: new Date(nowMs + VALID_MS),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [names],
  })
  const pem = certificate.toString('pem')
  const certFile = join(directory, 'certificate.pem')
  const keyFile = join(directory, 'key.pem')
  writeFileSync(certFile, `${pem}\n`)
  const key = KeyObject.from(keys.privateKey).export({ type: 'pkcs8', format: 'pem' })
  writeFileSync(keyFile, key, { mode: 0o600 })
  return { certFile, keyFile, pem }
}
