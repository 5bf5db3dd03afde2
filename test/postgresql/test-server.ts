/** A real PostgreSQL for tests: one server for a test file, and a database for each test. */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startPostgreSql } from '../network-servers/backing-servers.ts'
import type { PostgreSql } from '../network-servers/backing-servers.ts'
import { findPostgreSql } from '../network-servers/programs.ts'

/** A server, with the means to make databases and to break it. */
export interface TestServer {
  readonly server: PostgreSql
  /** Makes an empty database, and returns its URL. */
  readonly newDatabase: () => string
  /** Runs a statement as the server's owner. Returns its output without a frame. */
  readonly run: (url: string, statement: string) => string
  close(): Promise<void>
}

/**
 * Starts a server. On a machine without PostgreSQL the title counts as one skipped test, which says
 * what is missing, and the result is undefined.
 */
export async function startTestServer(title: string): Promise<TestServer | undefined> {
  const postgreSqlFolder = findPostgreSql()
  if (postgreSqlFolder === undefined) {
    const missing = 'PostgreSQL is not here (Debian: apt-get install postgresql)'
    console.error(`SKIPPED: ${title}: ${missing}`)
    await test(title, { skip: missing }, () => {})
    return undefined
  }
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-postgresql-'))
  // PostgreSQL runs as another user, and has its data in this folder.
  await chmod(folder, 0o755)
  const server = await startPostgreSql({ postgreSqlFolder }, folder)
  const address = `postgres://postgres@127.0.0.1:${server.port}`
  const run = (url: string, statement: string): string =>
    execFileSync(
      join(postgreSqlFolder, 'psql'),
      [`--dbname=${url}`, '--quiet', '--tuples-only', '--no-align', '--set=ON_ERROR_STOP=1', `--command=${statement}`],
      { encoding: 'utf8' },
    ).trim()
  return {
    server,
    newDatabase() {
      const name = `fieldgate_${randomBytes(6).toString('hex')}`
      run(`${address}/postgres`, `create database ${name}`)
      return `${address}/${name}`
    },
    run,
    async close() {
      await server.part.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
