/** A standby of a PostgreSQL, which can be promoted. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { startPostgreSqlOn } from '../network-servers/backing-servers.ts'
import type { BackingServer } from '../network-servers/backing-servers.ts'
import type { TestServer } from './test-server.ts'

/**
 * Starts a standby on which each change of the server at the port is, before the change is
 * answered.
 */
export async function startStandby(port: number, run: TestServer['run']): Promise<BackingServer> {
  const admin = `postgres://postgres@127.0.0.1:${port}/postgres`
  const folder = join(run(admin, 'show data_directory'), '..')
  const data = join(folder, `standby-${port}`)
  const programs = run(admin, `select setting from pg_config where name = 'BINDIR'`)
  const as = process.getuid?.() === 0 ? ['--reuid=postgres', '--regid=postgres', '--init-groups'] : []
  const copy = ['-D', data, '-R', '--no-sync', '-c', 'fast', '-d', `${admin}?application_name=standby`]
  execFileSync('setpriv', [...as, join(programs, 'pg_basebackup'), ...copy], { cwd: folder })
  const standby = await startPostgreSqlOn(data, {
    name: 'the standby',
    programsFolder: programs,
    folder,
    // A standby that was promoted starts again as a primary.
    ready: /database system is ready to accept (?:read-only )?connections/,
  })
  run(admin, `alter system set synchronous_standby_names = 'standby'`)
  run(admin, 'select pg_reload_conf()')
  return standby
}
