/**
 * The certificate authority of a deployment without a configured certificate. It is made at the
 * first start and signs the server's certificate; clients trust its own certificate (`ca.pem`). It
 * can only sign certificates of servers, never of another authority.
 */
import { X509Certificate, createPrivateKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { chmod, mkdir, open, readFile, rename } from 'node:fs/promises'
import { isIP } from 'node:net'
import { join } from 'node:path'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { certifiableName } from './certifiable-name.ts'
import type { CertificateContent } from './make-certificate.ts'

const DAY_MS = 86_400_000
const AUTHORITY_DAYS = 3650
/**
 * How long a server's certificate is valid: below the 398 days that browsers allow a public server,
 * and the 825 that they allow a private one.
 */
const SERVER_DAYS = 397
/** A certificate with less than this left is made anew. */
const RENEWAL_DAYS = 30
/** How far before the present a certificate begins, for clients whose clocks are late. */
const BACKDATE_MS = 3_600_000

/** The PEM texts of a certificate and of its private key. */
export interface CertificatePair {
  readonly cert: string
  readonly key: string
}

/** The files under `<data directory>/tls`. */
interface Files {
  readonly folder: string
  readonly authority: string
  readonly authorityKey: string
  readonly server: string
  readonly serverKey: string
}

/**
 * The server's certificate for these host names, signed by the local authority. It is the one on
 * disk, or a new one (`renewed`) when that is missing, does not name every host, or has less than
 * 30 days left. Throws when the authority's certificate has lost its key.
 */
export async function issueServerCertificate(options: {
  readonly dataDirectory: string
  readonly hostNames: readonly string[]
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
}): Promise<{
  readonly pair: CertificatePair
  readonly certFile: string
  readonly caFile: string
  readonly renewed: boolean
}> {
  const folder = join(options.dataDirectory, 'tls')
  const files: Files = {
    folder,
    authority: join(folder, 'ca.pem'),
    authorityKey: join(folder, 'ca-key.pem'),
    server: join(folder, 'server.pem'),
    serverKey: join(folder, 'server-key.pem'),
  }
  const kept = { certFile: files.server, caFile: files.authority }
  const nowMs = options.clock.now()
  // The folder is open to readers of ca.pem, whatever the process's umask is; the files of the keys
  // are closed.
  if ((await mkdir(folder, { recursive: true })) !== undefined) await chmod(folder, 0o755)
  const authority = await readAuthority(files, nowMs, options.log)
  const hostNames = certifiableNames(options.hostNames, options.log)
  const present = await readServerPair(files, authority.certificate, hostNames, nowMs)
  if (present !== undefined) return { pair: present, ...kept, renewed: false }
  const pair = await makeServerPair(authority, hostNames, nowMs)
  await writeWhole(files.serverKey, pair.key, 0o600)
  await writeWhole(files.server, pair.cert, 0o644)
  options.log.info(
    { file: files.server, hostNames, validTo: new X509Certificate(pair.cert).validTo },
    'certificate.issued',
  )
  return { pair, ...kept, renewed: true }
}

interface Authority {
  readonly certificate: X509Certificate
  readonly privateKey: KeyObject
}

async function readAuthority(files: Files, nowMs: number, log: Logger): Promise<Authority> {
  const cert = await readIfThere(files.authority)
  if (cert === undefined) return makeAuthority(files, nowMs, log)
  const key = await readIfThere(files.authorityKey)
  const fault = `Restore it, or remove both and start again: then clients must be given the new ${files.authority}.`
  if (key === undefined)
    throw new Error(
      `The local authority’s certificate ${files.authority} is without its key ${files.authorityKey}. ${fault}`,
    )
  const certificate = new X509Certificate(cert)
  const privateKey = createPrivateKey(key)
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new Error(
      `${files.authorityKey} is not the key of the local authority’s certificate ${files.authority}. ${fault}`,
    )
  }
  if (isFresh(certificate, nowMs)) return { certificate, privateKey }
  log.warn({ file: files.authority, validTo: certificate.validTo }, 'authority.expired')
  return makeAuthority(files, nowMs, log)
}

/**
 * Makes the authority. The key is written first: a crash can leave a key without a certificate,
 * which is then made again.
 */
async function makeAuthority(files: Files, nowMs: number, log: Logger): Promise<Authority> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  // Each authority has its own name, so that those of two deployments can be told apart in one
  // trust store.
  const subject = `Fieldgate local CA ${randomBytes(4).toString('hex')}`
  const cert = await makeCertificate({
    subject,
    notBeforeMs: nowMs - BACKDATE_MS,
    notAfterMs: nowMs + AUTHORITY_DAYS * DAY_MS,
    publicKey,
    issuer: { privateKey },
    role: { authority: true },
  })
  await writeWhole(files.authorityKey, pemOf(privateKey), 0o600)
  await writeWhole(files.authority, cert, 0o644)
  log.info({ file: files.authority }, 'authority.created')
  return { certificate: new X509Certificate(cert), privateKey }
}

/**
 * The pair on disk, if it can still be used. Otherwise undefined: a new pair replaces it, whatever
 * its fault is.
 */
async function readServerPair(
  files: Files,
  authority: X509Certificate,
  hostNames: readonly string[],
  nowMs: number,
): Promise<CertificatePair | undefined> {
  const cert = await readIfThere(files.server)
  const key = await readIfThere(files.serverKey)
  if (cert === undefined || key === undefined) return undefined
  try {
    const certificate = new X509Certificate(cert)
    const isGood =
      certificate.checkPrivateKey(createPrivateKey(key)) &&
      certificate.verify(authority.publicKey) &&
      isFresh(certificate, nowMs) &&
      hostNames.every((hostName) => namesHost(certificate, hostName))
    return isGood ? { cert, key } : undefined
  } catch {
    return undefined
  }
}

async function makeServerPair(
  authority: Authority,
  hostNames: readonly string[],
  nowMs: number,
): Promise<CertificatePair> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const cert = await makeCertificate({
    subject: hostNames[0] ?? 'localhost',
    notBeforeMs: nowMs - BACKDATE_MS,
    notAfterMs: Math.min(nowMs + SERVER_DAYS * DAY_MS, Date.parse(authority.certificate.validTo)),
    publicKey,
    issuer: authority,
    role: { authority: false, hostNames },
  })
  return { cert, key: pemOf(privateKey) }
}

function isFresh(certificate: X509Certificate, nowMs: number): boolean {
  return nowMs >= Date.parse(certificate.validFrom) && nowMs < Date.parse(certificate.validTo) - RENEWAL_DAYS * DAY_MS
}

function namesHost(certificate: X509Certificate, hostName: string): boolean {
  return isIP(hostName) === 0
    ? certificate.checkHost(hostName, { subject: 'never', wildcards: false }) !== undefined
    : certificate.checkIP(hostName) !== undefined
}

/**
 * Each name once, without unspecified addresses (`0.0.0.0`) and names that no certificate can
 * carry.
 */
function certifiableNames(hostNames: readonly string[], log: Logger): string[] {
  const names = new Set<string>()
  for (const hostName of hostNames) {
    const name = certifiableName(hostName)
    if (name === undefined) log.warn({ hostName }, 'certificate.name_skipped')
    else if (name !== '0.0.0.0' && name !== '::') names.add(name)
  }
  return [...names]
}

/** Loads the library only when it is needed: most starts find a certificate that can be used. */
async function makeCertificate(content: CertificateContent): Promise<string> {
  const library = await import('./make-certificate.ts')
  return library.makeCertificate(content)
}

function pemOf(privateKey: KeyObject): string {
  return privateKey.export({ type: 'pkcs8', format: 'pem' })
}

async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * Replaces a file as a whole. The file has this mode from its first byte on, whatever the process's
 * umask is.
 */
async function writeWhole(file: string, text: string, mode: number): Promise<void> {
  const handle = await open(`${file}.new`, 'w', 0o600)
  try {
    await handle.chmod(mode)
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.new`, file)
}
