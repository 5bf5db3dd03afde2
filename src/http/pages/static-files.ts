/**
 * Files of a folder of the build: read once, held in memory, and sent in the encoding that the
 * browser takes.
 */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** One file, as it is sent. */
export interface StaticFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer | undefined
  readonly brotli: Buffer | undefined
  /**
   * The ETag of the content, without quotes. Each encoding has a suffix of its own (RFC 9110
   * §8.8.3.3).
   */
  readonly tag: string
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.webp': 'image/webp',
}

/** For a file whose name has the hash of its content. */
export const KEPT_FOR_EVER = 'public, max-age=31536000, immutable'

/** For a document that changes with a new release at most. */
export const KEPT_FOR_AN_HOUR = 'public, max-age=3600'

/** For a file that the browser keeps, and asks about by its ETag before each use. */
export const ASKED_EACH_TIME = 'no-cache'

/**
 * The files of a folder by their path below it, `/assets/main-1a2b3c.js`; none where there is no
 * such folder. Files of unknown types are left out. The files are held in memory, some megabytes,
 * so that no request ever names a file of the disk. Reads them in one go, because this is part of a
 * start: asynchronous reads took 256 KB of memory for each of 250 files at the same time.
 */
export function readStaticFiles(directory: string): ReadonlyMap<string, StaticFile> {
  const names = new Set(namesIn(directory))
  const files = new Map<string, StaticFile>()
  for (const name of names) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const read = (suffix: string): Buffer | undefined =>
      names.has(name + suffix) ? readFileSync(join(directory, name + suffix)) : undefined
    const plain = readFileSync(join(directory, name))
    files.set(`/${name}`, { type, plain, gzip: read('.gz'), brotli: read('.br'), tag: tagOf(plain) })
  }
  return files
}

/** A file that the service makes by itself, not read. Compresses it: some milliseconds. */
export function staticFile(extension: '.html' | '.json', text: string): StaticFile {
  const plain = Buffer.from(text)
  return { type: TYPES[extension] as string, plain, gzip: gzipSync(plain), brotli: undefined, tag: tagOf(plain) }
}

/** Sends a file, or 304 where the browser has it (RFC 9110 §13.1.2). */
export function sendStaticFile(
  request: FastifyRequest,
  reply: FastifyReply,
  file: StaticFile,
  cacheControl: typeof KEPT_FOR_EVER | typeof KEPT_FOR_AN_HOUR | typeof ASKED_EACH_TIME,
): void {
  const { encoding, bytes } = encodedFor(request.headers['accept-encoding'] ?? '', file)
  const etag = `"${file.tag}${encoding === undefined ? '' : `-${encoding}`}"`
  reply.headers({ vary: 'Accept-Encoding', 'cache-control': cacheControl, etag })
  const known = (request.headers['if-none-match'] ?? '').split(',').map((one) => one.trim().replace(/^W\//, ''))
  if (known.includes(etag)) {
    void reply.code(304).send()
    return
  }
  if (encoding !== undefined) reply.header('content-encoding', encoding)
  void reply.type(file.type).send(bytes)
}

function encodedFor(
  accepted: string,
  { plain, gzip, brotli }: StaticFile,
): { readonly encoding: 'br' | 'gzip' | undefined; readonly bytes: Buffer } {
  if (brotli !== undefined && /\bbr\b/.test(accepted)) return { encoding: 'br', bytes: brotli }
  if (gzip !== undefined && /\bgzip\b/.test(accepted)) return { encoding: 'gzip', bytes: gzip }
  return { encoding: undefined, bytes: plain }
}

function tagOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22)
}

/** Paths with slashes, below the folder; none where it does not exist. */
function namesIn(directory: string): string[] {
  try {
    const names = readdirSync(directory, { recursive: true, encoding: 'utf8' })
    return names.map((name) => name.replaceAll('\\', '/'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
