/**
 * Fieldgate between integrators and real ChirpStacks on every documented way: events, fates and
 * order of commands.
 */
import { after, before, describe } from 'node:test'
import { testContracts } from './contracts-suite.ts'
import { testEvents } from './events-suite.ts'
import { WORD_SECONDS, testFates } from './fates-suite.ts'
import { testOrder } from './order-suite.ts'
import { openPlaces } from './places.ts'
import type { Places } from './places.ts'
import { describeWithNetworkServers } from './programs.ts'
import { startServers } from './servers.ts'
import type { Servers } from './servers.ts'

const WAYS = ['v4-mqtt', 'v4-grpc', 'v4-bridge', 'v3'] as const
/** The suite takes a minute and a half if nothing else runs. */
const TIMEOUT_MS = 400_000
const ENVIRONMENT = { FIELDGATE_COMMAND_WORD_SECONDS: String(WORD_SECONDS) }

await describeWithNetworkServers('a real ChirpStack', { timeout: TIMEOUT_MS, concurrency: true }, (programs) => {
  let servers: Servers
  let opened: Places
  const places = (): Places => opened

  before(async () => {
    servers = await startServers(programs)
    opened = await openPlaces(servers, WAYS, { environment: ENVIRONMENT })
  })

  after(() => servers.close())

  for (const way of WAYS) {
    describe(way, { concurrency: 1, timeout: TIMEOUT_MS }, () => {
      testEvents(places, way)
      testOrder(places, way)
      testFates(places, way)
      testContracts(places, way)
    })
  }
})
