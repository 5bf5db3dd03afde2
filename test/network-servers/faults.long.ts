/**
 * Faults of Fieldgate and of real ChirpStacks while events and commands pass. `npm run
 * network-servers` runs this.
 */
import { after, before } from 'node:test'
import { FillingDisk } from '../support/filling-disk.ts'
import { OUTAGES_OF_FIELDGATE, OUTAGES_OF_OTHERS, testOutages } from './outages-suite.ts'
import { openPlaces } from './places.ts'
import type { Places } from './places.ts'
import { describeWithNetworkServers } from './programs.ts'
import { startServers } from './servers.ts'
import type { Servers } from './servers.ts'
import { TROUBLES_OF_THE_PATH, TROUBLES_OF_THE_PROCESS, fullDisk, testUplinks } from './uplinks-suite.ts'

const WAYS = ['v4-mqtt', 'v4-grpc', 'v4-bridge', 'v3'] as const
/** Events of `v4-grpc` come on the same way as those of `v4-mqtt`. */
const EVENT_WAYS = ['v4-mqtt', 'v4-bridge', 'v3'] as const

await describeWithNetworkServers('Fieldgate in a process of its own', { timeout: 3_600_000 }, (programs) => {
  let servers: Servers
  let opened: Places
  before(async () => {
    servers = await startServers(programs)
    opened = await openPlaces(servers, WAYS, { asProcess: true })
  })
  after(() => servers.close())
  testUplinks(() => opened, EVENT_WAYS, [...TROUBLES_OF_THE_PROCESS, ...TROUBLES_OF_THE_PATH])
  testOutages(() => opened, WAYS, [...OUTAGES_OF_FIELDGATE, ...OUTAGES_OF_OTHERS])
})

await describeWithNetworkServers('Fieldgate on a disk that fills', { timeout: 3_600_000 }, (programs) => {
  const disk = new FillingDisk()
  let servers: Servers
  let opened: Places
  before(async () => {
    servers = await startServers(programs)
    opened = await openPlaces(servers, EVENT_WAYS, { disk })
  })
  after(() => servers.close())
  testUplinks(() => opened, EVENT_WAYS, [fullDisk(disk, 12)])
  // The MQTT client of v3 waits 30 s to write a message, and then keeps it until it connects again.
  testUplinks(() => opened, ['v3'], [fullDisk(disk, 45)])
})
