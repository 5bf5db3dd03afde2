/** The certificate of the listeners, and its renewals. */
import { hostname } from 'node:os'
import { systemClock } from '../clock.ts'
import { loadCertificates } from '../listeners/certificates.ts'
import type { Certificates } from '../listeners/certificates.ts'
import type { StartContext } from './parts.ts'

type OnRenewal = (pair: Pick<Certificates, 'cert' | 'key'>) => void

/** The certificate at the start. */
export interface OpenedCertificates extends Pick<Certificates, 'cert' | 'key' | 'certFile' | 'caFile'> {
  /** From now on, calls the function with each renewed certificate. */
  follow(onRenewal: OnRenewal): void
}

/** Loads the certificate of the settings, or makes one; it is watched from here on. */
export async function openCertificates({
  settings,
  log,
  dataDirectory,
  shutdown,
}: StartContext): Promise<OpenedCertificates> {
  const followers: OnRenewal[] = []
  const certificates = await loadCertificates({
    certFile: settings.tlsCertFile,
    keyFile: settings.tlsKeyFile,
    dataDirectory: dataDirectory.path,
    hostNames: [settings.publicHost, hostname(), 'localhost', '127.0.0.1', '::1'],
    clock: systemClock,
    log: log.child({ room: 'listeners' }),
    onChange: (pair) => {
      for (const follower of followers) follower(pair)
    },
  })
  shutdown.add('certificates', () => certificates.close())
  const { cert, key, certFile, caFile } = certificates
  return { cert, key, certFile, caFile, follow: (onRenewal) => void followers.push(onRenewal) }
}
