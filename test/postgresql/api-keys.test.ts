/** API keys at several services, each its own process, on one PostgreSQL. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, test } from 'node:test'
import { Administration } from '../support/administration.ts'
import { textIn } from '../support/https-client.ts'
import { assertLives, LiveConnections } from '../support/live-connections.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { codeOf } from '../support/wire-client.ts'
import type { WireClient } from '../support/wire-client.ts'
import { startTestServer } from './test-server.ts'
import type { TestServer } from './test-server.ts'

const SERVICES = 3
const ROUNDS = 10
/** The time in which the end of a key is to reach all services: the median of the rounds. */
const USUAL_MS = 1_000
/** As `USUAL_MS`, for a single round on a machine that is full of other work. */
const REACHED_MS = 10_000

/**
 * Reason Codes of a connection whose key has ended. A permit may be looked at again, after another
 * change, between the revocation and its news: then 0x87 comes, and not 0x98.
 */
const ENDED: ReadonlySet<number> = new Set([0x87, 0x98])

const server = await startTestServer('API keys at several services')
if (server !== undefined) {
  after(() => server.close())
  describe('API keys at several services', () => suite(server))
}

/** An API key, and a connection by a token of it at each service. */
interface Used {
  readonly organizationId: string
  readonly makerId: string
  /** The path under which the key is changed. */
  readonly path: string
  readonly key: string
  readonly clients: readonly WireClient[]
}

function suite({ newDatabase }: TestServer): void {
  let folders: readonly string[]
  let services: readonly RunningService[] = []
  let lives: readonly LiveConnections[] = []
  let administration: Administration

  before(async () => {
    const url = newDatabase()
    folders = await Promise.all(Array.from({ length: SERVICES }, makeFolder))
    services = await Promise.all(folders.map((folder) => startAsProcess(folder, { FIELDGATE_DATABASE_URL: url })))
    lives = services.map((service) => new LiveConnections(service))
    administration = new Administration(at(0))
  })

  after(async () => {
    for (const live of lives) live.closeAll()
    for (const service of services) await service.stop()
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  })

  function at(index: number): RunningService {
    const service = services[index]
    assert.ok(service !== undefined)
    return service
  }

  /** Makes a key at the first service, and uses it at all. */
  async function used(): Promise<Used> {
    const organizationId = await administration.organization()
    const { id: makerId, session } = await administration.person([{ organizationId, isAdmin: true }])
    const path = `/api/organizations/${organizationId}/api-keys`
    const json = { apiKey: { name: 'program', rights: ['events.read', 'devices.read'] } }
    const { body } = await at(0).http.ask('POST', path, { token: session, json })
    const key = textIn(body, 'key')
    const clients = await Promise.all(services.map((_, index) => connected(index, key, organizationId)))
    return { organizationId, makerId, path: `${path}/${textIn(body, 'id')}`, key, clients }
  }

  /** Gets a token for the key at a service, and connects with it there. */
  async function connected(index: number, key: string, organizationId: string): Promise<WireClient> {
    await answersSoon(index, key, 200)
    const json = { organizationId, ttlInSeconds: '3600' }
    const answer = await at(index).http.must('POST', '/api/mosquitto-auth/login', { token: key, json })
    const client = await lives[index]?.integrator(5, textIn(answer, 'jwtMqttAuth'))
    assert.ok(client !== undefined)
    return client
  }

  /** Resolves when the service answers the key with this status. Each attempt waits for it. */
  async function answersSoon(index: number, key: string, wanted: number): Promise<void> {
    const startedMs = performance.now()
    for (;;) {
      const { status } = await at(index).http.ask('GET', '/api/applications', { token: key })
      if (status === wanted) return
      assert.ok(performance.now() - startedMs < REACHED_MS, `service ${index} still answers ${status}`)
    }
  }

  /** The time until no service takes the key, and all connections by its tokens have ended. */
  async function endedEverywhere({ key, clients }: Used, end: () => Promise<void>): Promise<number> {
    const startedMs = performance.now()
    const disconnects = clients.map(async (client) => {
      const last = (await client.rest()).at(-1)
      assert.ok(last?.cmd === 'disconnect', String(last?.cmd))
      assert.ok(ENDED.has(codeOf(last)), `Reason Code ${codeOf(last)}`)
    })
    await end()
    const refusals = services.map((_, index) => answersSoon(index, key, 401))
    await Promise.all([...disconnects, ...refusals])
    return performance.now() - startedMs
  }

  const must = async (method: string, path: string, json?: unknown): Promise<void> => {
    await administration.must(method, path, json)
  }
  for (const [title, end] of [
    ['is revoked', ({ path }: Used) => must('DELETE', path)],
    ['is rotated without an overlap', ({ path }: Used) => must('POST', `${path}/rotate`, { overlapSeconds: 0 })],
    [
      'loses its maker as a member',
      ({ organizationId, makerId }: Used) => must('DELETE', `/api/organizations/${organizationId}/users/${makerId}`),
    ],
    ['loses its maker', ({ makerId }: Used) => must('DELETE', `/api/users/${makerId}`)],
    ['loses its organization', ({ organizationId }: Used) => must('DELETE', `/api/organizations/${organizationId}`)],
  ] as const) {
    test(`a key that ${title} ends at all services within a second, with all of its tokens`, async (context) => {
      const bystander = await used()
      const durations: number[] = []
      for (let round = 0; round < ROUNDS; round += 1) {
        const one = await used()
        durations.push(await endedEverywhere(one, () => end(one)))
      }
      durations.sort((a, b) => a - b)
      const median = durations[ROUNDS / 2] ?? Infinity
      context.diagnostic(`p50 ${median.toFixed(0)} ms, longest ${durations.at(-1)?.toFixed(0)} ms`)
      assert.ok(median < USUAL_MS, `${median} ms`)
      await assertLives(...bystander.clients)
    })
  }

  test('both secrets of a rotated key are good at all services during the overlap, and then the new one', async () => {
    const { organizationId, path, key, clients } = await used()
    const rotated = await administration.must('POST', `${path}/rotate`, { overlapSeconds: 5 })
    const fresh = textIn(rotated, 'key')
    const ofFresh = await Promise.all(services.map((_, index) => connected(index, fresh, organizationId)))
    for (const service of services) {
      assert.equal((await service.http.ask('GET', '/api/applications', { token: key })).status, 200)
    }
    await assertLives(...clients, ...ofFresh)
    await Promise.all(services.map((_, index) => answersSoon(index, key, 401)))
    await Promise.all(services.map((_, index) => answersSoon(index, fresh, 200)))
    await assertLives(...clients, ...ofFresh)
    const all = { organizationId, makerId: '', path, key: fresh, clients: [...clients, ...ofFresh] }
    assert.ok((await endedEverywhere(all, () => must('DELETE', path))) < REACHED_MS)
  })
}
