/** The web console's files: read once from the folder of its build, and served from memory, compressed ahead of time. */
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { randomBytes } from 'node:crypto'

/** The built console, as the not-found handler asks for it. */
export interface ConsoleFiles {
  /**
   * Answers a GET of one of the console's files, of `/`, or of a path that a browser navigates to. False, and nothing is
   * answered, where the request is none of these.
   */
  answer(request: FastifyRequest, reply: FastifyReply): boolean
}

interface ConsoleFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer | undefined
  readonly brotli: Buffer | undefined
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** What the build leaves in the page where the nonce of the answer belongs. */
const NONCE_PLACEHOLDER = '{{nonce}}'

/** Paths of programs: a browser that opens one gets the API's own 404, never a page. */
const NOT_PAGES = /^\/(?:api|metrics|mqtt|\.well-known|assets)(?:\/|$)/

/** A name of a file with its hash has this content for ever. */
const HASHED = /^\/assets\//

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Fieldgate</title>
<h1>The console is not built</h1>
<p>This service runs from a folder without the built console. Run <code>npm run build</code> there and start the service
again. Everything else works: the <a href="/api/docs">API reference</a> is here.</p></html>`

/**
 * The console that was built into a folder. Where there is none, a page says so. The files are held in memory, some
 * megabytes, so that no request ever names a file of the disk.
 */
export async function openConsoleFiles(directory: string): Promise<ConsoleFiles> {
  const files = await readFiles(directory)
  const page = files.get('/index.html')?.plain.toString('utf8')
  return {
    answer(request, reply) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false
      const path = request.url.split('?', 1)[0] as string
      const file = path === '/index.html' ? undefined : files.get(path)
      if (file !== undefined) {
        sendFile(request, reply, path, file)
        return true
      }
      if (!isNavigation(request, path)) return false
      sendPage(reply, page)
      return true
    },
  }
}

/** Every path that a browser opens is a page of the console; programs ask for other types and get their 404. */
function isNavigation(request: FastifyRequest, path: string): boolean {
  return (request.headers.accept ?? '').includes('text/html') && !NOT_PAGES.test(path)
}

function sendPage(reply: FastifyReply, page: string | undefined): void {
  const nonce = randomBytes(16).toString('base64')
  reply.header('content-security-policy', pagePolicy(nonce)).type('text/html; charset=utf-8')
  if (page === undefined) void reply.code(503).send(NOT_BUILT)
  else void reply.send(page.replaceAll(NONCE_PLACEHOLDER, nonce))
}

/**
 * Scripts are files of this origin and nothing else. Style elements that the components add at run time carry the
 * answer's nonce. `connect-src 'self'` covers `wss:` of the same host and port.
 */
function pagePolicy(nonce: string): string {
  return (
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  )
}

function sendFile(request: FastifyRequest, reply: FastifyReply, path: string, file: ConsoleFile): void {
  reply
    .type(file.type)
    .header('vary', 'Accept-Encoding')
    .header('cache-control', HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache')
  const accepted = request.headers['accept-encoding'] ?? ''
  if (file.brotli !== undefined && /\bbr\b/.test(accepted)) {
    void reply.header('content-encoding', 'br').send(file.brotli)
  } else if (file.gzip !== undefined && /\bgzip\b/.test(accepted)) {
    void reply.header('content-encoding', 'gzip').send(file.gzip)
  } else {
    void reply.send(file.plain)
  }
}

async function readFiles(directory: string): Promise<ReadonlyMap<string, ConsoleFile>> {
  const names = new Set(await namesIn(directory))
  const files = new Map<string, ConsoleFile>()
  for (const name of names) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const read = async (suffix: string): Promise<Buffer | undefined> =>
      names.has(name + suffix) ? readFile(join(directory, name + suffix)) : undefined
    const [plain, gzip, brotli] = await Promise.all([readFile(join(directory, name)), read('.gz'), read('.br')])
    files.set(`/${name}`, { type, plain, gzip, brotli })
  }
  return files
}

/** Paths with slashes, below the folder; none where it does not exist. */
async function namesIn(directory: string): Promise<string[]> {
  try {
    const names = await readdir(directory, { recursive: true })
    return names.map((name) => name.replaceAll('\\', '/'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}
