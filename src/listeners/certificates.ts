/**
 * The certificate of the listeners. The configured files are read again when they change; a
 * certificate of the local authority is renewed in time. A change concerns new connections alone:
 * open connections keep their certificate.
 */
import { X509Certificate, createHash, createPrivateKey } from 'node:crypto'
import { watch } from 'node:fs'
import type { FSWatcher } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { createSecureContext } from 'node:tls'
import type { Clock } from '../clock.ts'
import type { Logger } from '../logger.ts'
import { issueServerCertificate } from './local-authority.ts'
import type { CertificatePair } from './local-authority.ts'

/**
 * How long to wait after a change until the files are read: certificate and key are seldom replaced
 * in one step.
 */
const SETTLE_MS = 250
/**
 * How often files and dates are checked without a notice. Network file systems send no notices, and
 * a certificate expires without one.
 */
const CHECK_INTERVAL_MS = 60_000

export interface CertificateOptions {
  /**
   * The configured certificate with its chain, in PEM. It is configured together with `keyFile`, or
   * not at all.
   */
  readonly certFile?: string | undefined
  /** The private key of the configured certificate, in PEM. */
  readonly keyFile?: string | undefined
  /** The directory of the local authority's files, which are used when no files are configured. */
  readonly dataDirectory: string
  /** Names and addresses that the local authority's certificate must carry. */
  readonly hostNames: readonly string[]
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** Called with each later pair; the caller gives it to `tls.Server.setSecureContext`. */
  readonly onChange: (pair: CertificatePair) => void
}

/** The first pair, and the watch over its successors. */
export interface Certificates extends CertificatePair {
  /** The file of the certificate that is served. */
  readonly certFile: string
  /**
   * The certificate that clients must trust: the local authority's; undefined when files are
   * configured.
   */
  readonly caFile: string | undefined
  /** Ends the watch. */
  readonly close: () => void
}

/** A configured certificate can't be used. The message names the file and its fault. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError'
  readonly code = 'certificate_unusable'
}

/**
 * Loads the certificate and watches it until `close`. Throws CertificateError when a configured
 * file can't be used. A later fault of a file is logged (`certificate.refused`), and the pair in
 * use stays.
 */
export async function loadCertificates(options: CertificateOptions): Promise<Certificates> {
  const { certFile, keyFile } = options
  if (certFile === undefined || keyFile === undefined) return watchLocal(options)
  return watchConfigured(options, certFile, keyFile)
}

async function watchLocal(options: CertificateOptions): Promise<Certificates> {
  const { pair, certFile, caFile } = await issueServerCertificate(options)
  const check = async () => {
    const next = await issueServerCertificate(options)
    if (next.renewed) options.onChange(next.pair)
  }
  const timer = setInterval(() => {
    check().catch((error: unknown) => options.log.error({ error }, 'certificate.renewal_failed'))
  }, CHECK_INTERVAL_MS)
  timer.unref()
  return { ...pair, certFile, caFile, close: () => clearInterval(timer) }
}

async function watchConfigured(options: CertificateOptions, certFile: string, keyFile: string): Promise<Certificates> {
  const { log, clock } = options
  const first = await readPair(certFile, keyFile)
  checkPair(first, certFile, keyFile, clock.now())
  let seen = digest(first)
  let toldFault = ''
  let settling: NodeJS.Timeout | undefined
  let isClosed = false

  const reload = async () => {
    try {
      const pair = await readPair(certFile, keyFile)
      // Each state of the files is checked once, so that a fault is not logged again at every
      // check.
      if (isClosed || digest(pair) === seen) return
      seen = digest(pair)
      checkPair(pair, certFile, keyFile, clock.now())
      options.onChange(pair)
      toldFault = ''
      log.info({ certFile, validTo: new X509Certificate(pair.cert).validTo }, 'certificate.reloaded')
    } catch (error) {
      if (isClosed || messageOf(error) === toldFault) return
      toldFault = messageOf(error)
      log.error({ error }, 'certificate.refused')
    }
  }
  const settle = () => {
    clearTimeout(settling)
    settling = setTimeout(() => void reload(), SETTLE_MS)
    settling.unref()
  }
  const watchers = watchFolders([certFile, keyFile], settle, log)
  const timer = setInterval(() => void reload(), CHECK_INTERVAL_MS)
  timer.unref()
  const close = () => {
    isClosed = true
    clearTimeout(settling)
    clearInterval(timer)
    for (const watcher of watchers) watcher.close()
  }
  return { ...first, certFile, caFile: undefined, close }
}

/**
 * Watches folders, not files: after a rename or a new symbolic link, the name stands for another
 * file, which a watch of the former file would miss.
 */
function watchFolders(files: readonly string[], onEvent: () => void, log: Logger): FSWatcher[] {
  return [...new Set(files.map((file) => dirname(file)))].flatMap((folder) => {
    try {
      const watcher = watch(folder, { persistent: false }, onEvent)
      watcher.on('error', (error) => log.warn({ folder, error }, 'certificate.watch_failed'))
      return [watcher]
    } catch (error) {
      // The system has no watches left, or the file system has none: the check every minute
      // remains.
      log.warn({ folder, error }, 'certificate.watch_failed')
      return []
    }
  })
}

async function readPair(certFile: string, keyFile: string): Promise<CertificatePair> {
  return { cert: await readText(certFile), key: await readText(keyFile) }
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new CertificateError(`The TLS file ${file} can’t be read: ${messageOf(error)}.`)
  }
}

/** Throws CertificateError when the pair can't be used now. */
function checkPair({ cert, key }: CertificatePair, certFile: string, keyFile: string, nowMs: number): void {
  const certificate = attempt(
    `The TLS certificate ${certFile} is no certificate in PEM`,
    () => new X509Certificate(cert),
  )
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    throw new CertificateError(
      `The TLS key ${keyFile} is encrypted; it must be a private key in PEM without a pass phrase.`,
    )
  }
  const privateKey = attempt(`The TLS key ${keyFile} is no private key in PEM`, () => createPrivateKey(key))
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new CertificateError(`The TLS key ${keyFile} is not the key of the certificate ${certFile}.`)
  }
  if (nowMs >= Date.parse(certificate.validTo)) {
    throw new CertificateError(`The TLS certificate ${certFile} has expired: it was valid to ${certificate.validTo}.`)
  }
  if (nowMs < Date.parse(certificate.validFrom)) {
    throw new CertificateError(
      `The TLS certificate ${certFile} is not valid yet: it will be from ${certificate.validFrom} on.`,
    )
  }
  attempt(`The TLS files ${certFile} and ${keyFile} are refused by OpenSSL`, () => createSecureContext({ cert, key }))
}

function attempt<Result>(fault: string, run: () => Result): Result {
  try {
    return run()
  } catch (error) {
    throw new CertificateError(`${fault}: ${messageOf(error)}.`)
  }
}

function digest({ cert, key }: CertificatePair): string {
  return createHash('sha256').update(cert).update('\0').update(key).digest('hex')
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
