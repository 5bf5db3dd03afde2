/**
 * The web console's files: read once from the folder of its build, and served from memory,
 * compressed ahead of time.
 */
import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ASKED_EACH_TIME, KEPT_FOR_EVER, readStaticFiles, sendStaticFile } from './static-files.ts'

/** The built console, as the not-found handler asks for it. */
export interface ConsoleFiles {
  /**
   * Answers a GET of one of the console's files, of `/`, or of a path that a browser navigates to.
   * Returns false, and answers nothing, for all other requests.
   */
  answer(request: FastifyRequest, reply: FastifyReply): boolean
}

/** The placeholder that the build leaves in the page for the nonce of the answer. */
const NONCE_PLACEHOLDER = '{{nonce}}'

/** Paths of programs: a browser that opens one gets the API's own 404, never a page. */
const NOT_PAGES = /^\/(?:api|docs|metrics|mqtt|\.well-known|assets)(?:\/|$)/

/** A name of a file with its hash has this content for ever. */
const HASHED = /^\/assets\//

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Fieldgate</title>
<h1>The console is not built</h1>
<p>This service runs from a folder without the built console. Run <code>npm run build</code> there and start the service
again. Everything else works: the <a href="/docs">documentation</a> and the <a href="/api/docs">API reference</a> are here.</p></html>`

/** The console that was built into a folder. Where there is none, a page says so. */
export function openConsoleFiles(directory: string): ConsoleFiles {
  const files = readStaticFiles(directory)
  const page = files.get('/index.html')?.plain.toString('utf8')
  return {
    answer(request, reply) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false
      const path = request.url.split('?', 1)[0] as string
      const file = path === '/index.html' ? undefined : files.get(path)
      if (file !== undefined) {
        sendStaticFile(request, reply, file, HASHED.test(path) ? KEPT_FOR_EVER : ASKED_EACH_TIME)
        return true
      }
      if (!isNavigation(request, path)) return false
      sendPage(reply, page)
      return true
    },
  }
}

/**
 * Every path that a browser opens is a page of the console. Programs ask for other types and get
 * 404. But `/` answers everybody: load balancers and uptime monitors ask for it with any Accept or
 * none.
 */
function isNavigation(request: FastifyRequest, path: string): boolean {
  return path === '/' || ((request.headers.accept ?? '').includes('text/html') && !NOT_PAGES.test(path))
}

function sendPage(reply: FastifyReply, page: string | undefined): void {
  const nonce = randomBytes(16).toString('base64')
  reply.header('content-security-policy', pagePolicy(nonce)).type('text/html; charset=utf-8')
  if (page === undefined) void reply.code(503).send(NOT_BUILT)
  else void reply.send(page.replaceAll(NONCE_PLACEHOLDER, nonce))
}

/**
 * Scripts are files of this origin and nothing else. Style elements that the components add at run
 * time carry the answer's nonce. `connect-src 'self'` covers `wss:` of the same host and port.
 */
function pagePolicy(nonce: string): string {
  return (
    `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; img-src 'self' data:; font-src 'self'; ` +
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  )
}
