/** The one certificate of a comparison: ECDSA P-256, self-signed, trusted by the load generators alone. */
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeCertificate } from '../src/listeners/certificate-encoding.ts'

const VALID_MS = 7 * 24 * 3_600_000
/** Clocks of processes on one machine agree; the encoding cuts to whole seconds. */
const BACKDATED_MS = 60_000

/** PEM files, and the certificate's text. */
export interface Certificate {
  readonly certFile: string
  readonly keyFile: string
  readonly pem: string
}

/** Makes the certificate in `directory`, which must exist. */
export function makeCertificate(directory: string): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const nowMs = Date.now()
  const pem = encodeCertificate({
    subject: 'localhost',
    issuer: 'localhost',
    notBeforeMs: nowMs - BACKDATED_MS,
    notAfterMs: nowMs + VALID_MS,
    publicKey,
    issuerPublicKey: publicKey,
    issuerPrivateKey: privateKey,
    role: { authority: false, hostNames: ['localhost', '127.0.0.1'] },
  })
  const certFile = join(directory, 'certificate.pem')
  const keyFile = join(directory, 'key.pem')
  writeFileSync(certFile, pem)
  writeFileSync(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }), { mode: 0o600 })
  return { certFile, keyFile, pem }
}
