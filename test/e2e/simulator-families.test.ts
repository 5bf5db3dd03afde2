/**
 * The simulator as a network server of either family against the started service, observed by an
 * integrator.
 */
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { Program } from '../support/program.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const SIMULATOR = fileURLToPath(new URL('../../simulator/main.ts', import.meta.url))
/** A join takes some eight seconds. */
const LONGEST_WAIT_MS = 25_000
const IDS = ['0b0e6c3a-92d5-4f0e-8d8e-111111111111', '0b0e6c3a-92d5-4f0e-8d8e-222222222222'] as const

type Family = 'A' | 'B'

/** An event of family A. The simulator is told to write the command's id as `queueItemId`. */
interface FateEvent {
  readonly commandId?: string
  readonly acknowledged?: boolean
}

let service: RunningService
let folder: string
before(async () => {
  folder = await makeFolder()
  service = await startInProcess()
})
after(async () => {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

/**
 * An application with devices, a network server's credential for its organization, and an
 * integrator who reads its events.
 */
class Town implements AsyncDisposable {
  readonly #events: { readonly devEui: string; readonly kind: string; readonly payload: Record<string, unknown> }[] = []
  readonly #waiting = new Set<() => void>()
  readonly applicationId: string
  readonly devEuis: readonly string[]
  readonly #credential: ServiceCredential
  readonly #client: MqttClient

  static async create(deviceCount: number): Promise<Town> {
    const administration = new Administration(service)
    const organizationId = await administration.organization(`town-${crypto.randomUUID()}`)
    const applicationId = await administration.application(organizationId)
    const first = BigInt(`0x02${crypto.randomUUID().slice(0, 8)}000000`)
    const devEuis = Array.from({ length: deviceCount }, (_device, index) =>
      (first + BigInt(index)).toString(16).padStart(16, '0'),
    )
    for (const devEUI of devEuis) {
      await administration.must('POST', '/api/devices', { device: { devEUI, applicationID: applicationId } })
    }
    const credential = await administration.serviceCredential(organizationId)
    const username = await administration.brokerToken(service.adminSession, organizationId)
    const url = `mqtts://localhost:${service.mqttsPort}`
    const client = await connectAsync(url, { ca: service.ca, username, password: 'default', protocolVersion: 5 })
    await client.subscribeAsync(`application/${applicationId}/device/+/event/+`, { qos: 1 })
    return new Town(applicationId, devEuis, credential, client)
  }

  private constructor(
    applicationId: string,
    devEuis: readonly string[],
    credential: ServiceCredential,
    client: MqttClient,
  ) {
    this.applicationId = applicationId
    this.devEuis = devEuis
    this.#credential = credential
    this.#client = client
    client.on('message', (topicName, bytes) => {
      const [, , , devEui = '', , kind = ''] = topicName.split('/')
      this.#events.push({ devEui, kind, payload: JSON.parse(bytes.toString()) as Record<string, unknown> })
      for (const look of this.#waiting) look()
    })
  }

  async simulator(family: Family, args: readonly string[]): Promise<Program> {
    const path = join(folder, `${this.applicationId}.json`)
    await writeFile(
      path,
      JSON.stringify(this.devEuis.map((devEUI, index) => deviceOf(this.applicationId, devEUI, index))),
    )
    const url = `mqtts://localhost:${service.mqttsPort}`
    const air = ['--loss', '0', '--repeat', '0', '--confirmed', '0', '--codec-errors', '0', '--rejoin', '0']
    const own = ['--url', url, '--ca', service.caFile, '--devices', path, '--family', family, '--carry-ids', ...air]
    const program = new Program(process.execPath, [SIMULATOR, ...own, ...args], {
      environment: {
        SIMULATOR_USER_NAME: this.#credential.userName,
        SIMULATOR_PASSWORD: this.#credential.password,
      },
    })
    try {
      await program.complaint(/^Connected to /m, LONGEST_WAIT_MS)
    } catch (error) {
      await program[Symbol.asyncDispose]()
      throw error
    }
    return program
  }

  /** The events of a kind so far, of one device or of all, once there are at least `count`. */
  async events(kind: string, count: number, devEui?: string): Promise<Record<string, unknown>[]> {
    const { promise, resolve } = Promise.withResolvers<Record<string, unknown>[]>()
    const look = (): void => {
      const found = this.#events.filter((event) => event.kind === kind && (devEui ?? event.devEui) === event.devEui)
      if (found.length >= count) resolve(found.map(({ payload }) => payload))
    }
    this.#waiting.add(look)
    look()
    try {
      return await within(promise, `${count} events ${kind}`, LONGEST_WAIT_MS)
    } catch (error) {
      const seen = this.#events.map((event) => `${event.kind} of ${event.devEui}`).join(', ')
      throw new Error(`${String(error)}; there were ${seen}`, { cause: error })
    } finally {
      this.#waiting.delete(look)
    }
  }

  /** Publishes a command in the family's form; resolves when the service owns it. */
  async command(devEui: string, members: object): Promise<void> {
    const command = { confirmed: true, fPort: 10, data: 'AQ==', devEui, ...members }
    const topicName = `application/${this.applicationId}/device/${devEui}/command/down`
    await this.#client.publishAsync(topicName, JSON.stringify(command), { qos: 1 })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client.endAsync(true)
  }
}

function deviceOf(applicationID: string, devEUI: string, index: number): object {
  const models = ['temperature-humidity', 'door-contact', 'gps-tracker', 'water-meter', 'valve-actuator']
  return {
    applicationID,
    applicationName: 'town',
    deviceName: `device-${index}`,
    devEUI,
    model: models[index % models.length],
    // Far apart, so that each device has its own gateway. A shared gateway has no time for all join
    // accepts, and chance decides when the last device has joined.
    location: { latitude: 46.6 + index * 0.05, longitude: 7.9, altitude: 800 },
  }
}

for (const family of ['A', 'B'] as const) {
  describe(`a network server of family ${family}`, () => {
    it('lets devices join, and sends their measurements in its own spelling', async () => {
      await using town = await Town.create(5)
      await using simulator = await town.simulator(family, ['--interval', '1s', '--start-window', '100ms'])
      const [joinEvent] = await town.events('join', 5)
      assert.match(String(joinEvent?.['devAddr']), /^[0-9a-f]{8}$/)
      const ups = await town.events('up', 10)
      const identity = ups.map((up) => (family === 'A' ? up : (up['deviceInfo'] as Record<string, unknown>)))
      for (const each of identity) {
        assert.equal(each[family === 'A' ? 'applicationID' : 'applicationId'], town.applicationId)
        assert.ok(town.devEuis.includes(String(each[family === 'A' ? 'devEUI' : 'devEui'])))
      }
      for (const { fPort, data, object } of ups) {
        assert.ok(typeof fPort === 'number' && typeof data === 'string' && typeof object === 'object')
      }
      const [, , tracker = ''] = town.devEuis
      const [location] = await town.events('location', 1, tracker)
      const place = location?.['location'] as { latitude: unknown } | undefined
      assert.equal(typeof place?.latitude, 'number')
      await town.events('status', 5)
      simulator.signal('SIGTERM')
      const { code, stderr } = await simulator.ended()
      assert.equal(code, 0)
      assert.doesNotMatch(stderr, /Refused|Dropped|refused/)
    })

    it('answers a confirmed command with txack and ack, in order and by its id', async () => {
      await using town = await Town.create(5)
      await using simulator = await town.simulator(family, ['--interval', '1s', '--resumed', '1'])
      const valve = town.devEuis[4] ?? ''
      await town.events('up', 1, valve)
      for (const id of IDS) await town.command(valve, { id })
      const [, second] = (await town.events('ack', 2, valve)) as FateEvent[]
      assert.equal(second?.acknowledged, true)
      for (const kind of ['txack', 'ack']) {
        const fates = (await town.events(kind, 2, valve)) as FateEvent[]
        assert.deepEqual(
          fates.map(({ commandId }) => commandId),
          IDS,
          kind,
        )
      }
      assert.ok(simulator.pid !== undefined)
    })

    it('sends a command to a device of class C at once', async () => {
      await using town = await Town.create(1)
      await using simulator = await town.simulator(family, [
        '--interval',
        '1h',
        '--start-window',
        '100ms',
        '--class-c',
        '1',
      ])
      const [devEui = ''] = town.devEuis
      await town.events('up', 1)
      await town.command(devEui, { id: IDS[0] })
      const [ack] = (await town.events('ack', 1)) as FateEvent[]
      assert.deepEqual([ack?.acknowledged, ack?.commandId], [true, IDS[0]])
      assert.equal((await town.events('txack', 1)).length, 1)
      assert.ok(simulator.pid !== undefined)
    })

    it('that was killed gets the commands of its absence when it returns, each once', async () => {
      await using town = await Town.create(5)
      const settings = ['--interval', '1s', '--resumed', '1']
      const valve = town.devEuis[4] ?? ''
      {
        await using simulator = await town.simulator(family, settings)
        await town.events('up', 1, valve)
        simulator.signal('SIGKILL')
        await simulator.ended()
      }
      for (const id of IDS) await town.command(valve, { id })
      await using returned = await town.simulator(family, settings)
      await town.events('ack', 2, valve)
      const fates = (await town.events('txack', 2, valve)) as FateEvent[]
      assert.deepEqual(
        fates.map(({ commandId }) => commandId),
        IDS,
      )
      assert.ok(returned.pid !== undefined)
    })

    it('that is killed in mid-queue has the rest when it returns, and what was acknowledged is not sent again', async () => {
      await using town = await Town.create(2)
      const settings = ['--interval', '500ms', '--resumed', '1', '--state', join(folder, `${town.applicationId}.state`)]
      const [devEui = '', other = ''] = town.devEuis
      {
        await using simulator = await town.simulator(family, settings)
        await town.events('up', 1, devEui)
        for (const id of IDS) await town.command(devEui, { id })
        await town.events('ack', 1)
        // The commit of the ack may own the first of these events as well; the second is published
        // after the answer to the ack.
        await town.events('up', (await town.events('up', 0, other)).length + 2, other)
        simulator.signal('SIGKILL')
        await simulator.ended()
      }
      await using returned = await town.simulator(family, settings)
      const [first, second] = (await town.events('ack', 2)) as FateEvent[]
      assert.deepEqual([first?.commandId, second?.commandId], IDS)
      const sent = (await town.events('txack', 2)) as FateEvent[]
      assert.equal(sent.filter(({ commandId }) => commandId === IDS[0]).length, 1)
      assert.ok(returned.pid !== undefined)
    })

    it('tells of a command that is too long for the data rate', async () => {
      await using town = await Town.create(1)
      await using simulator = await town.simulator(family, [
        '--interval',
        '1s',
        '--resumed',
        '1',
        '--region',
        'AS923',
        '--class-c',
        '1',
      ])
      const [devEui = ''] = town.devEuis
      await town.events('up', 1)
      await town.command(devEui, { id: IDS[0], data: Buffer.alloc(12).toString('base64') })
      const kind = family === 'A' ? 'error' : 'log'
      const [fault] = await town.events(kind, 1)
      assert.equal(fault?.[family === 'A' ? 'type' : 'code'], 'DOWNLINK_PAYLOAD_SIZE')
      assert.equal(fault?.['commandId'], IDS[0])
      assert.ok(simulator.pid !== undefined)
    })
  })
}
