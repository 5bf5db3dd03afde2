/**
 * Finds the program `nats-server` for tests: `FIELDGATE_TEST_NATS_SERVER`, the PATH, or the
 * project's cache. Where it is in none of them, Go builds it into the cache. Debian has no current
 * one, and npm has none.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isCurrentServer } from './server-version.ts'

const VERSION = '2.15.2'
const BUILD_MS = 240_000
const cache = fileURLToPath(new URL(`../../../node_modules/.cache/nats-server-${VERSION}`, import.meta.url))

/** The program, or why there is none. */
export type FoundServer = { readonly program: string } | { readonly missing: string }

let found: FoundServer | undefined

/**
 * The program. The first call may take minutes, for Go builds it then; `npm test` calls it before
 * all tests.
 */
export function natsServerProgram(): FoundServer {
  found ??= find()
  if ('missing' in found) console.error(`SKIPPED: ${found.missing}`)
  return found
}

function find(): FoundServer {
  const given = process.env['FIELDGATE_TEST_NATS_SERVER']
  if (given !== undefined && given !== '') return { program: given }
  const cached = join(cache, 'nats-server')
  for (const program of ['nats-server', cached]) {
    const { stdout } = spawnSync(program, ['-v'], { encoding: 'utf8' })
    if (typeof stdout === 'string' && isCurrentServer(/v(\S+)/.exec(stdout)?.[1] ?? '')) return { program }
  }
  mkdirSync(cache, { recursive: true })
  const source = `github.com/nats-io/nats-server/v2@v${VERSION}`
  const environment = { ...process.env, GOBIN: cache }
  const built = spawnSync('go', ['install', source], { encoding: 'utf8', env: environment, timeout: BUILD_MS })
  if (built.status === 0 && existsSync(cached)) return { program: cached }
  const why = built.error === undefined ? `“go install ${source}” failed: ${built.stderr}` : 'go is not installed'
  return { missing: `no nats-server: FIELDGATE_TEST_NATS_SERVER is not set, none is in the PATH, and ${why}` }
}
