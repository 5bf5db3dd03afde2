/**
 * The deployment that the console's tests show: a service with two organizations, their devices,
 * and a network server that publishes for them.
 */
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { Administration, PASSWORD } from '../support/administration.ts'
import { textIn } from '../support/https-client.ts'
import { ADMIN_PASSWORD, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

/** A deployment with people, devices and a connected network server. */
export interface World {
  readonly service: RunningService
  readonly organizationId: string
  readonly applicationId: string
  readonly devices: readonly WorldDevice[]
  /** An admin of both organizations. */
  readonly anna: SignIn
  /** The global admin. */
  readonly admin: SignIn
  /** Publishes an event of a device, and resolves when the broker owns it. */
  publish(device: WorldDevice, kind: string, members: object): Promise<void>
  /** Commands in the order in which they reach the network server. */
  readonly commands: AsyncIterableIterator<ReceivedCommand>
  [Symbol.asyncDispose](): Promise<void>
}

/** The user name and the password of a user. */
export interface SignIn {
  readonly userName: string
  readonly password: string
}

export interface WorldDevice {
  readonly devEui: string
  readonly name: string
}

export interface ReceivedCommand {
  readonly topicName: string
  readonly text: string
}

const SITES = [
  'climate-pump-house-1',
  'climate-pump-house-2',
  'climate-treatment-plant',
  'door-pump-house-1',
  'energy-pump-1',
  'level-lower-reservoir',
  'level-upper-reservoir',
  'pressure-north-main',
  'pressure-south-main',
  'soil-spring-zone-1',
  'valve-north-main',
  'valve-south-main',
  'water-meter-bakery',
  'water-meter-dairy',
  'water-meter-school',
]

interface WorldOptions {
  /** Makes the list of devices long. */
  readonly furtherDevices?: number
  /** Settings of the service. */
  readonly environment?: Readonly<Record<string, string>>
}

/** Starts the deployment. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const { environment = {} } = options
  const service = await startInProcess({ environment })
  const administration = new Administration(service)
  const organization = async (name: string, displayName: string): Promise<string> =>
    textIn(await administration.must('POST', '/api/organizations', { organization: { name, displayName } }), 'id')
  const organizationId = await organization('alpine-valley-water', 'Alpine Valley Water')
  const second = await organization('harbour-city', 'Harbour City')
  const user = { user: { email: 'anna' }, password: PASSWORD }
  const organizations = [organizationId, second].map((id) => ({ organizationID: id, isAdmin: true }))
  await administration.must('POST', '/api/users', { ...user, organizations })
  const applicationId = await administration.application(organizationId, {
    name: 'water-network',
    payloadCodec: 'CAYENNE_LPP',
  })
  const devices: WorldDevice[] = SITES.map((name, index) => ({ name, devEui: euiOf(index) }))
  const rows = devices.map(({ devEui, name }) => ({ devEUI: devEui, name, tags: { line: 'north' } }))
  for (let index = 0; index < (options.furtherDevices ?? 0); index += 1) {
    rows.push({ devEUI: euiOf(1000 + index), name: `meter-${String(index).padStart(5, '0')}`, tags: { line: 'south' } })
  }
  await importDevices(service, applicationId, rows)
  const credential = await administration.serviceCredential(organizationId)
  const client = await connectAsync(`mqtts://localhost:${service.mqttsPort}`, {
    ca: service.ca,
    username: credential.userName,
    password: credential.password,
    protocolVersion: 5,
    reconnectPeriod: 0,
  })
  const commands = await commandsOf(client)
  const nameOf = new Map(devices.map(({ devEui, name }) => [devEui, name]))
  return {
    service,
    organizationId,
    applicationId,
    devices,
    anna: { userName: 'anna', password: PASSWORD },
    admin: { userName: 'admin', password: ADMIN_PASSWORD },
    commands,
    publish: async ({ devEui }, kind, members) => {
      const common = {
        applicationID: applicationId,
        applicationName: 'water-network',
        deviceName: nameOf.get(devEui),
        devEUI: devEui,
      }
      const event = JSON.stringify({ ...common, tags: { line: 'north' }, ...members })
      await client.publishAsync(`application/${applicationId}/device/${devEui}/event/${kind}`, event, { qos: 1 })
    },
    [Symbol.asyncDispose]: async () => {
      await client.endAsync(true)
      await service.stop()
    },
  }
}

/** An uplink of a climate sensor; temperature and humidity change with its frame counter. */
export function climateUplink(fCnt: number): object {
  const temperature = Math.round((18 + 4 * Math.sin(fCnt / 6)) * 10) / 10
  const humidity = Math.round((52 + 9 * Math.cos(fCnt / 9)) * 2) / 2
  const bytes = Buffer.from([1, 0x67, 0, 0, 2, 0x68, humidity * 2])
  bytes.writeInt16BE(temperature * 10, 2)
  return {
    deviceProfileName: 'Temperature and humidity',
    deviceProfileID: '1',
    rxInfo: [
      { gatewayID: '00005eef20000001', rssi: -118, loRaSNR: -6.2 },
      {
        gatewayID: '00005eef20000002',
        rssi: Math.round(-92 + 6 * Math.sin(fCnt / 4)),
        loRaSNR: Math.round(80 + 20 * Math.cos(fCnt / 5)) / 10,
      },
    ],
    txInfo: { frequency: 868_100_000, dr: 5 },
    adr: true,
    fCnt,
    fPort: 2,
    data: bytes.toString('base64'),
    object: { temperatureSensor: { 1: temperature }, humiditySensor: { 2: humidity } },
  }
}

/** A DevEUI of the block in RFC 9542 that no maker owns. */
function euiOf(index: number): string {
  return `00005eef10${index.toString(16).padStart(6, '0')}`
}

async function importDevices(service: RunningService, applicationId: string, rows: readonly object[]): Promise<void> {
  const bytes = rows.map((row) => JSON.stringify(row)).join('\n')
  const report = await service.http.must('POST', `/api/devices/import?applicationID=${applicationId}`, {
    token: service.adminSession,
    headers: { 'content-type': 'application/x-ndjson' },
    bytes,
  })
  if (report['refusedCount'] !== '0') throw new Error(JSON.stringify(report))
}

async function commandsOf(client: MqttClient): Promise<AsyncIterableIterator<ReceivedCommand>> {
  const waiting: ReceivedCommand[] = []
  let wake: (() => void) | undefined
  client.on('message', (topicName, payload) => {
    waiting.push({ topicName, text: payload.toString() })
    wake?.()
  })
  await client.subscribeAsync('application/+/device/+/command/down', { qos: 1 })
  async function* read(): AsyncGenerator<ReceivedCommand> {
    for (;;) {
      const next = waiting.shift()
      if (next !== undefined) yield next
      else {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await promise
      }
    }
  }
  return read()
}
