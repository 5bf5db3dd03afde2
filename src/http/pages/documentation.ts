/**
 * The documentation at /docs: pages that the build made of docs/, for everybody, without a login.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ASKED_EACH_TIME, KEPT_FOR_EVER, readStaticFiles, sendStaticFile, staticFile } from './static-files.ts'
import type { StaticFile } from './static-files.ts'

/** Where the pages are. */
const DOCUMENTATION_PATH = '/docs'

/**
 * Nothing is loaded that is not a file of this origin, and nothing stands in the page itself:
 * neither script nor style. The search fetches its index from here.
 */
export const DOCUMENTATION_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** The built documentation. */
export interface Documentation {
  /**
   * Answers a GET of a path below /docs; for an unknown path with a page that says so. Returns
   * false, and answers nothing, for all other requests.
   */
  answer(request: FastifyRequest, reply: FastifyReply): boolean
  /**
   * The frame of a page that the service makes of its own: everything around the content, with
   * `content` in its place.
   */
  framed(parts: FramedParts): string
}

/** The parts that go into the frame, as HTML. */
export interface FramedParts {
  readonly content: string
  /** The list of the page's sections. */
  readonly contents: string
}

const CONTENT_PLACEHOLDER = '<!--content-->'
const CONTENTS_PLACEHOLDER = '<!--contents-->'

/** Names of assets have the hash of their content. */
const HASHED = /^\/assets\//

const NOT_BUILT = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fieldgate documentation</title></head>
<body><main><h1>The documentation is not built</h1>
<p>This service runs from a folder without the built documentation. Run <code>npm run build</code> there and start the service
again.</p></main></body></html>`

const BARE_FRAME = `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Fieldgate API reference</title></head>
<body>${CONTENTS_PLACEHOLDER}<main>${CONTENT_PLACEHOLDER}</main></body></html>`

/**
 * The documentation that was built into a folder. Where there is none, a page says so, and frames
 * are bare.
 */
export function openDocumentation(directory: string | undefined): Documentation {
  const files = directory === undefined ? new Map<string, StaticFile>() : readStaticFiles(directory)
  const frame = files.get('/frame.html')?.plain.toString('utf8') ?? BARE_FRAME
  const unknown = files.get('/unknown.html') ?? staticFile('.html', NOT_BUILT)
  return {
    answer(request, reply) {
      if (request.method !== 'GET' && request.method !== 'HEAD') return false
      const path = request.url.split('?', 1)[0] as string
      if (path !== DOCUMENTATION_PATH && !path.startsWith(`${DOCUMENTATION_PATH}/`)) return false
      reply.header('content-security-policy', DOCUMENTATION_POLICY)
      const below = path.slice(DOCUMENTATION_PATH.length)
      const source = /^(.*?)(?:\/README)?\.md$/.exec(below)
      if (source !== null) {
        void reply.redirect(`${DOCUMENTATION_PATH}${source[1] === '/index' ? '' : source[1]}`, 308)
        return true
      }
      const file = fileAt(files, below)
      if (file !== undefined) sendStaticFile(request, reply, file, HASHED.test(below) ? KEPT_FOR_EVER : ASKED_EACH_TIME)
      else
        void reply
          .code(files.size === 0 ? 503 : 404)
          .type(unknown.type)
          .send(unknown.plain)
      return true
    },
    framed: ({ content, contents }) =>
      // A function as the replacement: a `$` in the content must not be read as a pattern.
      frame.replace(CONTENT_PLACEHOLDER, () => content).replace(CONTENTS_PLACEHOLDER, () => contents),
  }
}

/** A page has no ending in its address: `/errors` is `errors.html`. */
function fileAt(files: ReadonlyMap<string, StaticFile>, below: string): StaticFile | undefined {
  if (below === '' || below === '/') return files.get('/index.html')
  if (below === '/frame.html' || below === '/unknown.html') return undefined
  return files.get(below) ?? files.get(`${below.replace(/\/$/, '')}.html`)
}
