/** The connection to PostgreSQL over TLS, and by a password. */
import assert from 'node:assert/strict'
import { chown, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { systemClock } from '../../src/clock.ts'
import { openRegistry } from '../../src/identity/registry.ts'
import { createQuickHasher } from '../../src/identity/registry.testing.ts'
import { Authority } from '../support/authority.ts'
import { startTestServer } from './test-server.ts'
import type { TestServer } from './test-server.ts'

const server = await startTestServer('PostgreSQL over TLS')
if (server !== undefined) {
  after(() => server.close())
  suite(server)
}

function suite({ newDatabase, run }: TestServer): void {
  test('each sslmode checks what it says, and a password is sent', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'fieldgate-authority-'))
    const elsewhere = await mkdtemp(join(tmpdir(), 'fieldgate-authority-'))
    try {
      const authority = await Authority.create(folder)
      const stranger = await Authority.create(elsewhere)
      await authority.issue()
      const plain = newDatabase()
      await secure(plain, authority)
      const caFile = authority.caFile
      const at = (host: string, mode: string): string =>
        `${plain.replace('postgres://postgres@127.0.0.1', `postgres://fieldgate@${host}`)}?sslmode=${mode}`
      run(plain, `alter database ${plain.split('/').at(-1)} owner to fieldgate`)

      assert.equal(await encrypted(plain, { url: at('localhost', 'verify-full'), caFile, password: 'p@ss/word' }), 't')
      assert.equal(await encrypted(plain, { url: at('127.1', 'verify-ca'), caFile, password: 'p@ss/word' }), 't')
      assert.equal(await encrypted(plain, { url: at('localhost', 'require'), password: 'p@ss/word' }), 't')
      const unusable = { code: 'registry_unusable' }
      // 127.1 is another spelling of 127.0.0.1, for which the certificate is not.
      await assert.rejects(
        encrypted(plain, { url: at('127.1', 'verify-full'), caFile, password: 'p@ss/word' }),
        unusable,
      )
      for (const mode of ['verify-full', 'verify-ca', 'require']) {
        const options = { url: at('localhost', mode), caFile: stranger.caFile, password: 'p@ss/word' }
        await assert.rejects(encrypted(plain, options), unusable, mode)
      }
      await assert.rejects(encrypted(plain, { url: at('localhost', 'verify-full'), password: 'p@ss/word' }), unusable)
      await assert.rejects(encrypted(plain, { url: at('localhost', 'disable'), password: 'p@ss/word' }), unusable)
      await assert.rejects(
        encrypted(plain, { url: at('localhost', 'verify-full'), caFile, password: 'wrong' }),
        unusable,
      )
      await assert.rejects(encrypted(plain, { url: at('localhost', 'verify-full'), caFile: '/nowhere' }), unusable)
    } finally {
      await rm(folder, { recursive: true, force: true })
      await rm(elsewhere, { recursive: true, force: true })
    }
  })

  /** Makes the server take its user `fieldgate` by TLS and a password alone. */
  async function secure(url: string, authority: Authority): Promise<void> {
    const data = run(url, 'show data_directory')
    const { uid, gid } = await stat(data)
    for (const file of [authority.certFile, authority.keyFile]) await chown(file, uid, gid)
    await chown(dirname(authority.certFile), uid, gid)
    run(url, `create user fieldgate password 'p@ss/word'`)
    for (const setting of [
      `ssl_cert_file = '${authority.certFile}'`,
      `ssl_key_file = '${authority.keyFile}'`,
      'ssl = on',
    ]) {
      run(url, `alter system set ${setting}`)
    }
    const rules = ['hostssl all fieldgate all scram-sha-256', 'host all postgres all trust']
    run(url, `copy (values ${rules.map((rule) => `('${rule}')`).join(', ')}) to '${data}/pg_hba.conf'`)
    run(url, 'select pg_reload_conf()')
    const startedMs = performance.now()
    while (run(url, 'show ssl') !== 'on') assert.ok(performance.now() - startedMs < 10_000)
  }

  /** Opens a registry, and returns whether the server says that its connections are encrypted. */
  async function encrypted(
    owner: string,
    postgres: { readonly url: string; readonly password?: string; readonly caFile?: string },
  ): Promise<string> {
    const registry = await openRegistry({ postgres, clock: systemClock, passwordHasher: createQuickHasher() })
    try {
      return run(
        owner,
        `select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where usename = 'fieldgate'`,
      )
    } finally {
      await registry.close()
    }
  }
}
