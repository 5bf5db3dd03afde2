/** The simulator with `--lorawan` against real ChirpStacks, as docs/simulator.md describes it. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { outputOf } from '../support/program.ts'
import { startChirpStackV3 } from './chirpstack-v3.ts'
import { startChirpStackV4 } from './chirpstack-v4.ts'
import { Part } from './part.ts'
import { describeWithNetworkServers } from './programs.ts'
import { startServers } from './servers.ts'
import type { Servers } from './servers.ts'
import { V3Administration } from './v3-administration.ts'

const MAIN = fileURLToPath(new URL('../../simulator/main.ts', import.meta.url))
const LIVELY = [
  '--generate',
  '3',
  '--class-c',
  '0.3',
  '--interval',
  '1s',
  '--start-window',
  '100ms',
  '--confirmed',
  '0.5',
]
/** The first device has class C, the second class A. */
const DEV_EUIS = ['0200000000000001', '0200000000000003'] as const

await describeWithNetworkServers('the simulator with --lorawan', { timeout: 180_000 }, (programs) => {
  let servers: Servers
  let broker: MqttClient
  let url: string

  before(async () => {
    servers = await startServers(programs)
    url = `mqtt://127.0.0.1:${servers.gatewayBroker.port}`
    broker = await connectAsync(url)
    servers.closing(() => broker.endAsync())
  })
  after(() => servers.close())

  it('makes its devices in a ChirpStack v4, joins, sends, and gets its commands', async () => {
    const v4 = await startChirpStackV4({
      ...servers,
      name: 'v4sim',
      redisDatabase: 4,
      integration: integration('v4sim'),
    })
    servers.closing(() => v4.close())
    const simulator = started(
      [
        '--lorawan',
        '--url',
        url,
        '--topic-prefix',
        v4.topicPrefix,
        '--verbose',
        ...LIVELY,
        '--provision',
        `http://127.0.0.1:${v4.apiPort}`,
        '--api-key',
        v4.apiKey,
      ],
      /ChirpStack has the gateways and devices \(new 4, there already 0\)/,
    )
    await simulator.start()
    const [, applicationId] = await simulator.says(/application (\S+) "Fieldgate simulator"/)
    await livesWell(simulator, applicationId ?? '')
  })

  it('plays the devices of a list for a ChirpStack v3', async () => {
    const v3 = await startChirpStackV3({
      ...servers,
      name: 'v3sim',
      redisDatabase: 6,
      integration: integration('v3sim'),
    })
    servers.closing(() => v3.close())
    const list = await outputOf(process.execPath, [MAIN, '--lorawan', '--print-devices', ...LIVELY])
    const file = join(servers.folder, 'devices.csv')
    await writeFile(file, list)
    const applicationId = await enter(await V3Administration.open(v3.apiPort, v3.networkServerPort), list)
    const simulator = started(
      ['--lorawan', '--chirpstack', '3', '--url', url, '--verbose', '--devices', file, ...LIVELY.slice(4)],
      /Connected to/,
    )
    await simulator.start()
    await livesWell(simulator, applicationId)
  })

  function integration(clientId: string) {
    const server = `tcp://127.0.0.1:${servers.gatewayBroker.port}`
    return { server, userName: '', password: '', clientId, caFile: '' }
  }

  function started(args: readonly string[], ready: RegExp): Part {
    const part = new Part({
      name: 'the simulator',
      command: process.execPath,
      args: [MAIN, ...args],
      ready,
      folder: servers.folder,
    })
    servers.closing(() => part.stop())
    return part
  }

  async function livesWell(simulator: Part, applicationId: string): Promise<void> {
    for (const devEui of DEV_EUIS) {
      await simulator.says(new RegExp(`joined +${devEui}`))
      await simulator.says(new RegExp(`uplink +${devEui} fCnt 0`))
    }
    await simulator.says(/frame .*acknowledges/)
    await simulator.says(/frame .*DevStatusReq/)
    for (const devEui of DEV_EUIS) {
      const command = JSON.stringify({ devEui, confirmed: true, fPort: 8, data: 'AQ==' })
      await broker.publishAsync(`application/${applicationId}/device/${devEui}/command/down`, command, { qos: 1 })
      await simulator.says(new RegExp(`command +${devEui} fCnt \\d+, fPort 8, 01, confirmed`))
    }
    await simulator.stop()
    assert.match(simulator.text, /joins 3\nUplinks \d+.*\nDownlinks of applications 2\n/)
  }
})

/** Makes the listed devices one by one, as docs/simulator.md says. */
async function enter(v3: V3Administration, list: string): Promise<string> {
  const applicationId = await v3.application('simulated')
  await v3.gateway('0200000000ff0001')
  const profiles = { A: await v3.deviceProfile({ deviceClass: 'A' }), C: await v3.deviceProfile({ deviceClass: 'C' }) }
  for (const line of list.trim().split('\n').slice(1)) {
    const [devEui = '', joinEui = '', appKey = '', , , deviceClass] = line.split(',')
    await v3.device(applicationId, profiles[deviceClass === 'C' ? 'C' : 'A'], { devEui, joinEui, appKey })
  }
  return applicationId
}
