/** Two registries on one PostgreSQL, as two processes have them. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import {
  addApplication,
  addOrganization,
  addUser,
  createQuickHasher,
  createTestClock,
  nobody,
  valueOf,
} from '../../src/identity/registry.testing.ts'
import type { ChangeFeed } from '../../src/identity/postgres/outbox.ts'
import { openRegistry } from '../../src/identity/registry.ts'
import type { Registry } from '../../src/identity/registry.ts'
import type { Change } from '../../src/identity/store/changes.ts'
import { isUnavailable } from '../../src/identity/store/registry-unavailable.ts'
import { systemClock } from '../../src/clock.ts'
import { within } from '../support/bounded-wait.ts'
import { startTestServer } from './test-server.ts'
import type { TestServer } from './test-server.ts'

const server = await startTestServer('changes of several processes')
if (server !== undefined) {
  after(() => server.close())
  suite(server)
}

/** The connections of one process. */
const MAXIMUM_CONNECTIONS = 10

interface Pair extends AsyncDisposable {
  readonly url: string
  readonly one: Registry
  readonly other: Registry
  /** The changes in the order in which each registry told them. */
  readonly told: readonly [Change[], Change[]]
}

function suite({ server: database, newDatabase, run }: TestServer): void {
  async function openPair(feeds: readonly (ChangeFeed | undefined)[] = []): Promise<Pair> {
    const url = newDatabase()
    const open = (feed: ChangeFeed | undefined): Promise<Registry> =>
      openRegistry({
        postgres: { url },
        clock: systemClock,
        passwordHasher: createQuickHasher(),
        ...(feed === undefined ? {} : { feed }),
      })
    const [one, other] = await Promise.all([open(feeds[0]), open(feeds[1])])
    const told: [Change[], Change[]] = [[], []]
    one.changes.subscribe((change) => told[0].push(change))
    other.changes.subscribe((change) => told[1].push(change))
    return {
      url,
      one,
      other,
      told,
      async [Symbol.asyncDispose]() {
        await one.close()
        await other.close()
      },
    }
  }

  test('all changes are told at both, each once and in one order, and own ones before the answer', async () => {
    await using pair = await openPair()
    const { one, other, told } = pair
    const organizationId = await addOrganization(one, 'acme')
    const makeMany = async (registry: Registry, own: readonly Change[], word: string): Promise<void> => {
      for (let number = 0; number < 40; number += 1) {
        const applicationId = await addApplication(registry, organizationId, `${word} ${number}`)
        assert.ok(own.some((change) => change.kind === 'application_created' && change.applicationId === applicationId))
      }
    }
    await Promise.all([makeMany(one, told[0], 'one'), makeMany(other, told[1], 'other')])
    const last = await addApplication(one, organizationId, 'last')
    await heard(
      other,
      ({ kind, ...change }) => kind === 'application_created' && Object.values(change).includes(last),
      told[1],
    )
    assert.equal(idsOf(told[0]).length, 81)
    assert.deepEqual(idsOf(told[0]), idsOf(told[1]))
    assert.deepEqual(
      idsOf(told[0]),
      idsOf(told[0]).toSorted((a, b) => Number(a) - Number(b)),
    )
  })

  test('a bound that both change ends with the same value at both', async () => {
    await using pair = await openPair()
    const { one, other, told } = pair
    const organizationId = await addOrganization(one, 'acme')
    const set = (registry: Registry, value: number): Promise<unknown> =>
      registry.organizationBounds.change(organizationId, { connections: value }, nobody).then(valueOf)
    await Promise.all(Array.from({ length: 20 }, (_, number) => set(number % 2 === 0 ? one : other, 100 + number)))
    const applicationId = await addApplication(one, organizationId, 'last')
    await heard(other, (change) => 'applicationId' in change && change.applicationId === applicationId, told[1])
    const stored = await one.organizationBounds.of(organizationId)
    for (const changes of told) {
      const newest = changes.findLast((change) => change.kind === 'organization_bounds_changed')
      assert.deepEqual(newest?.kind === 'organization_bounds_changed' && newest.overrides, stored)
    }
  })

  test('a hint brings changes sooner than the next question would', async () => {
    const listeners = new Set<Parameters<ChangeFeed['subscribe']>[0]>()
    // A row that follows nothing: it is no more than a hint.
    const previous = { number: -1, id: 'unknown' }
    const feed: ChangeFeed = {
      committed: (row) => listeners.forEach((listener) => listener({ ...row, previous })),
      subscribe(listener) {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    }
    await using pair = await openPair([feed, feed])
    const { one, other, told } = pair
    const organizationId = await addOrganization(one, 'acme')
    const startedMs = performance.now()
    for (let number = 0; number < 10; number += 1) {
      const id = await addApplication(one, organizationId, `a ${number}`)
      await heard(other, (change) => 'applicationId' in change && change.applicationId === id, told[1])
    }
    // Without hints each of them waits for half a second.
    assert.ok(performance.now() - startedMs < 10 * 250)
  })

  test('a change with its content is told at once, without a question to the database', async () => {
    let listener: Parameters<ChangeFeed['subscribe']>[0] | undefined
    const toldToOther: { changes?: Pair['told'][1] } = {}
    const fed: string[] = []
    const from: ChangeFeed = {
      committed: (row) => {
        listener?.(row)
        // Nothing was asked in between: the change is told by now.
        const newest = toldToOther.changes?.at(-1)
        if (newest?.kind === 'application_created') fed.push(newest.applicationId)
      },
      subscribe: () => () => {},
    }
    const to: ChangeFeed = {
      committed: () => {},
      subscribe: (asking) => {
        listener = asking
        return () => {}
      },
    }
    await using pair = await openPair([from, to])
    toldToOther.changes = pair.told[1]
    const organizationId = await addOrganization(pair.one, 'acme')
    const made: string[] = []
    for (let number = 0; number < 5; number += 1)
      made.push(await addApplication(pair.one, organizationId, `a ${number}`))
    assert.deepEqual(fed, made)
  })

  test('a standing that another process changed is forgotten', async () => {
    await using pair = await openPair()
    const { one, other, told } = pair
    const userId = await addUser(one, 'ada')
    const session = await one.tokens.issueSession({ id: userId })
    assert.equal((await other.tokens.verifySession(session)).ok, true)
    valueOf(await one.tokens.signOutEverywhere(userId, nobody))
    await heard(other, ({ kind }) => kind === 'user_changed', told[1])
    assert.equal((await other.tokens.verifySession(session)).ok, false)
  })

  test('a token of a key that was made a moment ago elsewhere is good', async () => {
    await using pair = await openPair()
    const { one, other } = pair
    const userId = await addUser(one, 'ada')
    valueOf(await one.signingKeys.rotate(nobody))
    assert.equal((await other.tokens.verifySession(await one.tokens.issueSession({ id: userId }))).ok, true)
  })

  test('a set of applications that somebody holds is right again after changes were missed', async () => {
    await using pair = await openPair()
    const { url, one, other, told } = pair
    const organizationId = await addOrganization(one, 'acme')
    const stays = await addApplication(one, organizationId, 'stays')
    const goes = await addApplication(one, organizationId, 'goes')
    const held = await other.directory.applicationsOf(organizationId)
    assert.deepEqual(held, new Set([stays, goes]))
    await one.close()
    run(
      url,
      `begin; update applications set removed_at = 1 where id = ${goes}; delete from outbox;
        insert into outbox (id, content, told_at) values ('another', '[]', 0); commit`,
    )
    await heard(other, ({ kind }) => kind === 'resynchronized', told[1])
    assert.equal(await other.directory.applicationsOf(organizationId), held)
    assert.deepEqual(held, new Set([stays]))
  })

  test('a server that only reads makes changes unavailable, and all heals when it writes again', async () => {
    await using pair = await openPair()
    const { url, one } = pair
    run(url, 'alter system set default_transaction_read_only = on')
    run(url, 'select pg_reload_conf()')
    await settings(url, 'on')
    await assert.rejects(addOrganization(one, 'never'), { code: 'registry_unavailable' })
    run(`${url}?options=-cdefault_transaction_read_only%3Doff`, 'alter system reset default_transaction_read_only')
    run(url, 'select pg_reload_conf()')
    await settings(url, 'off')
    await addOrganization(one, 'again')
    assert.equal((await one.organizations.list({ userId: '1', isAdmin: true }, { limit: 5, offset: 0 })).totalCount, 1)
  })

  /** Resolves when the server has taken the setting over. */
  async function settings(url: string, wanted: string): Promise<void> {
    const startedMs = performance.now()
    while (run(url, 'show default_transaction_read_only') !== wanted) {
      assert.ok(performance.now() - startedMs < 10_000)
      await Promise.resolve()
    }
  }

  test('while the database is away, a remembered token is good for a minute', async () => {
    const clock = createTestClock()
    const registry = await openRegistry({
      postgres: { url: newDatabase() },
      clock,
      passwordHasher: createQuickHasher(),
    })
    try {
      const userId = await addUser(registry, 'ada')
      const session = await registry.tokens.issueSession({ id: userId })
      assert.equal((await registry.tokens.verifySession(session)).ok, true)
      await database.part.kill('SIGINT')
      clock.advance(60_000)
      assert.equal((await registry.tokens.verifySession(session)).ok, true)
      clock.advance(1)
      await assert.rejects(registry.tokens.verifySession(session), { code: 'registry_unavailable' })
      assert.match(registry.health(), /can’t be reached/)
      await database.part.start()
      assert.equal((await registry.tokens.verifySession(session)).ok, true)
      assert.equal(registry.health(), '')
    } finally {
      await registry.close()
    }
  })

  test('a question with NUL finds nothing, and a connection that another one ended is replaced', async () => {
    await using pair = await openPair()
    const { url, one } = pair
    assert.equal(await one.serviceCredentials.get('a\0b'), undefined)
    run(
      url,
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    // Each connection that the process still believes in may fail once.
    for (let tries = 1; ; tries += 1) {
      try {
        assert.equal((await one.users.list({ limit: 0, offset: 0 })).totalCount, 0)
        return
      } catch (error) {
        assert.ok(isUnavailable(error) && tries <= MAXIMUM_CONNECTIONS, String(error))
      }
    }
  })
}

function idsOf(changes: readonly Change[]): readonly string[] {
  return changes.flatMap((change) => (change.kind === 'application_created' ? [change.applicationId] : []))
}

/** Resolves when the registry has told such a change. */
async function heard(registry: Registry, isIt: (change: Change) => boolean, told: readonly Change[]): Promise<void> {
  if (told.some(isIt)) return
  const { promise, resolve } = Promise.withResolvers<void>()
  const end = registry.changes.subscribe((change) => {
    if (isIt(change)) resolve()
  })
  try {
    await within(promise, 'a change of another process', 5_000)
  } finally {
    end()
  }
}
