/**
 * Makes real ChirpStacks send all their kinds of events, and records these. The stand-ins of other
 * tests are compared with the recordings.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { LorawanDevice } from '../../simulator/lorawan/device.ts'
import { connectGateway } from '../../simulator/lorawan/gateway.ts'
import type { LorawanGateway } from '../../simulator/lorawan/gateway.ts'
import { refuseAll, sendFirst } from '../../simulator/lorawan/transmit-policy.ts'
import type { RecordedEvent, RecordedForm, RecordedVersion } from '../recordings/recordings.ts'
import { within } from '../support/bounded-wait.ts'
import { askChirpStack } from '../support/chirpstack-questions.ts'
import type { GivenAnswers } from '../support/chirpstack-questions.ts'
import { startChirpStackV3 } from './chirpstack-v3.ts'
import type { ChirpStackV3 } from './chirpstack-v3.ts'
import { startChirpStackV4 } from './chirpstack-v4.ts'
import type { ChirpStackV4 } from './chirpstack-v4.ts'
import type { EventForm } from './mqtt-integration.ts'
import type { NetworkServerSide } from './place.ts'
import type { Servers } from './servers.ts'
import { V3Administration } from './v3-administration.ts'
import { V4Administration } from './v4-administration.ts'
import type { DeviceKeys, ProfileSettings } from './v4-administration.ts'

/** The first gateway has a GPS receiver, the second has none. */
const GATEWAY_IDS = ['0102030405060799', '010203040506079a'] as const
const GATEWAY_LOCATION = { latitude: 47.1, longitude: 8.2, altitude: 400 }
/** Makes a codec script of ChirpStack fail. */
const BAD_PAYLOAD = 'ff'
/** More bytes than DR0 carries. */
const TOO_LONG_BYTES = 60

const CODECS = {
  v4: `
    function decodeUplink(input) {
      if (input.bytes[0] === 255) throw new Error("a bad payload")
      return { data: { temperature: input.bytes[0] / 2, open: true, label: "x", nested: { list: [1, 2] } } }
    }
    function encodeDownlink(input) { throw new Error("nothing can be encoded") }`,
  v3: `
    function Encode(fPort, obj, variables) { throw new Error("nothing can be encoded") }
    function Decode(fPort, bytes, variables) {
      if (bytes[0] === 255) throw new Error("a bad payload")
      return { temperature: bytes[0] / 2, open: true, label: "x", nested: { list: [1, 2] } }
    }`,
} as const

interface Recorded {
  readonly protocol: RecordedVersion
  readonly form: EventForm
  readonly applicationId: string
  readonly networkServer: NetworkServerSide
  readonly gateways: readonly LorawanGateway[]
  readonly broker: MqttClient
}

/** Receives the events of one application, and waits for the events of each step. */
export class EventRecorder {
  readonly #recorded: Recorded
  readonly #events: RecordedEvent[] = []
  readonly #watchers = new Set<() => void>()
  readonly #devices: LorawanDevice[] = []

  constructor(recorded: Recorded) {
    this.#recorded = recorded
    recorded.broker.on('message', (topicName, payload) => {
      const [, applicationId, , devEui, , kind] = topicName.split('/')
      if (applicationId !== recorded.applicationId || kind === undefined || kind === 'down') return
      const event = { kind, devEui: devEui ?? '' }
      if (recorded.form === 'json') this.#events.push({ ...event, payload: JSON.parse(payload.toString()) as object })
      else this.#events.push({ ...event, payload })
      for (const look of this.#watchers) look()
    })
  }

  get events(): readonly RecordedEvent[] {
    return this.#events
  }

  /** Causes every event of a ChirpStack that a test can cause. */
  async run(): Promise<void> {
    const { protocol } = this.#recorded
    await this.#liveOfClassA()
    await this.#liveOfClassC()
    for (const battery of [0, 255]) await this.#status(battery)
    await this.#codecs()
    await this.#tooLong()
    await this.#refusedJoin()
    if (protocol === 'v4') await this.#expired()
  }

  /** The first events of a device, in any form. */
  async firstBytes(form: RecordedForm['form']): Promise<readonly RecordedForm[]> {
    const device = await this.device()
    await device.uplink(10, Buffer.from('010203', 'hex'))
    await this.#next(device, 'join', 1)
    await this.#next(device, 'up', 1)
    return this.#events.map(({ kind, devEui, payload }) => ({
      form,
      kind,
      devEui,
      hex: Buffer.from(payload as Uint8Array).toString('hex'),
    }))
  }

  async close(): Promise<void> {
    for (const device of this.#devices) device.close()
    await Promise.all(this.#recorded.gateways.map((gateway) => gateway.close()))
    await this.#recorded.broker.endAsync()
  }

  /** Makes a device that has joined. */
  async device(settings: ProfileSettings = {}, keys: DeviceKeys = this.#newKeys()): Promise<LorawanDevice> {
    const { applicationId, networkServer, gateways } = this.#recorded
    await networkServer.device(applicationId, await networkServer.deviceProfile(settings), keys)
    const device = new LorawanDevice({ ...keys, deviceClass: settings.deviceClass ?? 'A', gateways })
    this.#devices.push(device)
    await device.join({ devNonce: 1 })
    return device
  }

  #newKeys(): DeviceKeys {
    const devEui = `a0b1c2d5${this.#devices.length.toString(16).padStart(8, '0')}`
    return { devEui, joinEui: '0101010101010101', appKey: randomBytes(16).toString('hex') }
  }

  async #liveOfClassA(): Promise<void> {
    const device = await this.device({ statusRequestsPerDay: 1 })
    const asked = device.nextFrame(({ macCommands }) => macCommands.some(({ name }) => name === 'DevStatusReq'))
    await device.uplink(10, Buffer.from('010203', 'hex'))
    await asked
    const faults = this.#recorded.protocol === 'v4' ? 'log' : 'error'
    await device.repeat()
    await this.#next(device, faults, 1)
    await device.uplink(10, Buffer.from('010204', 'hex'), { isConfirmed: true })
    await this.#next(device, 'status', 1)
    await this.#next(device, 'up', 2)
    await device.repeat()
    await this.#next(device, faults, 2)
    await this.#command(device, { fPort: 10, data: 'AQID' })
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'txack', 1)
    await this.#command(device, { fPort: 10, data: 'AQID', confirmed: true })
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'txack', 2)
    await device.emptyUplink()
    await this.#next(device, 'ack', 1)
    device.isAcknowledging = false
    await this.#command(device, { fPort: 10, data: 'AQID', confirmed: true })
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'txack', 3)
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'ack', 2)
    for (const gateway of this.#recorded.gateways) gateway.policy = refuseAll('COLLISION_PACKET')
    await this.#command(device, { fPort: 10, data: 'AQID' })
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#nextFault(device, 'DOWNLINK_GATEWAY')
    for (const gateway of this.#recorded.gateways) gateway.policy = sendFirst
  }

  async #liveOfClassC(): Promise<void> {
    const device = await this.device({ deviceClass: 'C', statusRequestsPerDay: 1 })
    const answered = device.nextFrame()
    await device.uplink(10, Buffer.from('01', 'hex'))
    await answered
    await this.#command(device, { fPort: 10, data: 'AQID', confirmed: true })
    await this.#next(device, 'txack', 1)
    await this.#next(device, 'ack', 1)
    await this.#next(device, 'status', 1)
  }

  /**
   * Causes the status of a device with external power, or of one that can't measure its battery.
   */
  async #status(battery: number): Promise<void> {
    const device = await this.device({ statusRequestsPerDay: 1 })
    device.mac.battery = battery
    device.mac.margin = -5
    const asked = device.nextFrame(({ macCommands }) => macCommands.some(({ name }) => name === 'DevStatusReq'))
    await device.uplink(10, Buffer.from('01', 'hex'))
    await asked
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'status', 1)
  }

  /** Causes events of a codec script that decodes, and of one that fails. */
  async #codecs(): Promise<void> {
    const { protocol } = this.#recorded
    const device = await this.device({ codecScript: CODECS[protocol] })
    // Uplinks with the counters 0, 1 and 2.
    for (const [fCnt, payload] of [BAD_PAYLOAD, '2a', BAD_PAYLOAD].entries()) {
      await device.uplink(10, Buffer.from(payload, 'hex'))
      await this.#next(device, 'up', fCnt + 1)
    }
    await this.#next(device, protocol === 'v4' ? 'log' : 'error', 2)
    // Version 4 writes these only into its own log.
    if (protocol === 'v4') return
    await this.#publish(device, { fPort: 10, object: { led: true } })
    await this.#nextFault(device, 'DOWNLINK_CODEC')
  }

  /** Causes the error with the counter 0, and with a counter above it. */
  async #tooLong(): Promise<void> {
    const device = await this.device({ statusRequestsPerDay: 1 })
    device.isAdaptive = false
    device.mac.dataRate = 0
    const answered = device.nextFrame()
    const data = Buffer.alloc(TOO_LONG_BYTES).toString('base64')
    // A command right behind the first frame may still get the counter 0.
    for (let count = 1; count <= 2 || (count <= 5 && !this.#hasFaultWithCounter(device)); count += 1) {
      await this.#command(device, { fPort: 10, data })
      await device.uplink(10, Buffer.from('01', 'hex'))
      await this.#next(device, this.#recorded.protocol === 'v4' ? 'log' : 'error', count)
      await answered
    }
  }

  /** Version 3 leaves the counter 0 out. */
  #hasFaultWithCounter({ devEui }: LorawanDevice): boolean {
    if (this.#recorded.protocol === 'v4') return true
    return this.#events.some(({ kind, devEui: of, payload }) => kind === 'error' && of === devEui && 'fCnt' in payload)
  }

  async #refusedJoin(): Promise<void> {
    const device = await this.device()
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'join', 1)
    await device.join({ devNonce: 1, timeoutMs: 1500 }).catch(() => {})
    await this.#nextFault(device, 'OTAA')
  }

  /** Version 3 has no time after which a downlink expires. */
  async #expired(): Promise<void> {
    const device = await this.device()
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#next(device, 'up', 1)
    const expiresAt = new Date(Date.now() - 1000).toISOString()
    await this.#command(device, { fPort: 10, data: 'AQID', expiresAt })
    await device.uplink(10, Buffer.from('01', 'hex'))
    await this.#nextFault(device, 'EXPIRED')
  }

  async #publish({ devEui }: LorawanDevice, members: object): Promise<void> {
    const { applicationId, broker } = this.#recorded
    const message = JSON.stringify({ confirmed: false, devEui, ...members })
    await broker.publishAsync(`application/${applicationId}/device/${devEui}/command/down`, message, { qos: 1 })
  }

  /** Publishes a command, and resolves when it waits in the device's queue. */
  async #command(device: LorawanDevice, members: object): Promise<void> {
    const { devEui, deviceClass } = device
    const { networkServer } = this.#recorded
    await this.#publish(device, members)
    // Class C gets it at once.
    if (deviceClass === 'C') return
    while ((await networkServer.queue(devEui)).length === 0) await sleep(20)
  }

  async #next({ devEui }: LorawanDevice, kind: string, count: number): Promise<void> {
    await this.#until(`${kind} ${count} of ${devEui}`, () => {
      return this.#events.filter((event) => event.devEui === devEui && event.kind === kind).length >= count
    })
  }

  async #nextFault({ devEui }: LorawanDevice, code: string): Promise<void> {
    await this.#until(`${code} of ${devEui}`, () =>
      this.#events.some(
        ({ kind, devEui: of, payload }) =>
          (kind === 'log' || kind === 'error') && of === devEui && JSON.stringify(payload).includes(code),
      ),
    )
  }

  async #until(what: string, isThere: () => boolean): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const look = (): void => {
      if (isThere()) resolve()
    }
    this.#watchers.add(look)
    look()
    try {
      await within(promise, what, 30_000)
    } finally {
      this.#watchers.delete(look)
    }
  }
}

/** Numbers of Redis databases by form: a v4 uses this number, a v3 the two behind it. */
const REDIS_DATABASES: Readonly<Record<EventForm, number>> = { json: 8, protobuf: 4, 'base64-ids': 12 }

export interface RecordedV4 {
  readonly recorder: EventRecorder
  readonly chirpStack: ChirpStackV4
  readonly applicationId: string
}

/**
 * Opens a ChirpStack v4 that also sends its events to the gateways' broker. It is closed with the
 * servers.
 */
export async function openV4Recorder(servers: Servers, form: EventForm = 'json'): Promise<RecordedV4> {
  const chirpStack = await startChirpStackV4({
    ...servers,
    name: `v4rec${REDIS_DATABASES[form]}`,
    redisDatabase: REDIS_DATABASES[form],
    integration: own(servers, `v4rec${REDIS_DATABASES[form]}`, form),
  })
  servers.closing(() => chirpStack.close())
  const administration = new V4Administration(chirpStack)
  servers.closing(async () => administration.close())
  const tenantId = await administration.tenant('Valley')
  const applicationId = await administration.application(tenantId, 'meters')
  for (const gatewayId of GATEWAY_IDS) await administration.gateway(tenantId, gatewayId)
  const networkServer: NetworkServerSide = {
    deviceProfile: (settings) =>
      administration.deviceProfile(tenantId, JSON.stringify(settings).slice(0, 100), settings),
    device: (application, profile, keys) => administration.device(application, profile, keys),
    removeDevice: (devEui) => administration.removeDevice(devEui),
    queue: (devEui) => administration.queue(devEui),
    flushQueue: (devEui) => administration.flushQueue(devEui),
  }
  const { topicPrefix } = chirpStack
  const recorder = await openRecorder(servers, { protocol: 'v4', form, applicationId, networkServer, topicPrefix })
  return { recorder, chirpStack, applicationId }
}

export interface RecordedV3 {
  readonly recorder: EventRecorder
  readonly chirpStack: ChirpStackV3
}

/** Opens a ChirpStack v3 in the same way. */
export async function openV3Recorder(servers: Servers, form: EventForm = 'json'): Promise<RecordedV3> {
  const chirpStack = await startChirpStackV3({
    ...servers,
    name: `v3rec${REDIS_DATABASES[form]}`,
    redisDatabase: REDIS_DATABASES[form] + 1,
    integration: own(servers, `v3rec${REDIS_DATABASES[form]}`, form),
  })
  servers.closing(() => chirpStack.close())
  const networkServer = await V3Administration.open(chirpStack.apiPort, chirpStack.networkServerPort)
  const applicationId = await networkServer.application('meters')
  for (const gatewayId of GATEWAY_IDS) await networkServer.gateway(gatewayId)
  const recorder = await openRecorder(servers, { protocol: 'v3', form, applicationId, networkServer, topicPrefix: '' })
  return { recorder, chirpStack }
}

async function openRecorder(
  servers: Servers,
  settings: Pick<Recorded, 'protocol' | 'form' | 'applicationId' | 'networkServer'> & { readonly topicPrefix: string },
): Promise<EventRecorder> {
  const { protocol, topicPrefix } = settings
  const url = `mqtt://127.0.0.1:${servers.gatewayBroker.port}`
  const gateways = await Promise.all(
    GATEWAY_IDS.map((gatewayId, index) => {
      const gpsLocation = index === 0 ? GATEWAY_LOCATION : undefined
      return connectGateway({ url, gatewayId, protocol, topicPrefix, gpsLocation })
    }),
  )
  // ChirpStack knows the gateway's location from now on.
  for (const gateway of gateways) await gateway.sendStats()
  const broker = await connectAsync(url)
  await broker.subscribeAsync('application/#', { qos: 1 })
  const recorder = new EventRecorder({ ...settings, gateways, broker })
  servers.closing(() => recorder.close())
  return recorder
}

function own(
  { gatewayBroker }: Servers,
  name: string,
  form: EventForm,
): Parameters<typeof startChirpStackV4>[0]['integration'] {
  const server = `tcp://127.0.0.1:${gatewayBroker.port}`
  return { server, userName: '', password: '', clientId: `chirpstack-${name}`, caFile: '', form }
}

/**
 * The join and the first uplink of a device, as written by a ChirpStack that is set to another
 * form.
 */
export async function recordForm(
  servers: Servers,
  version: RecordedVersion,
  form: RecordedForm['form'],
): Promise<readonly RecordedForm[]> {
  const opened = version === 'v4' ? await openV4Recorder(servers, form) : await openV3Recorder(servers, form)
  const forms = await opened.recorder.firstBytes(form)
  // Two ChirpStacks would hear each other's gateways.
  await opened.recorder.close()
  await opened.chirpStack.close()
  return forms
}

/** The answers of its gRPC API to questions about commands, with and without its database. */
export async function recordAnswers({ recorder, chirpStack }: RecordedV4): Promise<GivenAnswers> {
  const { devEui } = await recorder.device()
  const { apiPort, apiKey, databasePath } = chirpStack
  const asked = { target: `127.0.0.1:${apiPort}`, apiKey, devEui }
  const answers = await askChirpStack(asked)
  databasePath.cut()
  const { 'a command': withoutDatabase } = await askChirpStack(asked)
  databasePath.mend()
  assert.ok(withoutDatabase !== undefined)
  return { ...answers, 'a command without its database': withoutDatabase }
}
