/**
 * A service in this process, with an organization, a network server, and a member
 * whose program uses the SDK.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '../../sdk/typescript/src/index.ts'
import type { ConnectOptions, Fieldgate, FieldgateEvent, LogEntry } from '../../sdk/typescript/src/index.ts'
import { Administration, PASSWORD } from '../support/administration.ts'
import type { Person } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { textIn } from '../support/https-client.ts'
import { LiveConnections, publish } from '../support/live-connections.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { WireClient } from '../support/wire-client.ts'

/** A device in an application of its own. */
export interface Place {
  readonly application: string
  readonly device: string
  /** The Topic Name of the device's events, without the kind. */
  readonly topicPrefix: string
  /** Publishes an uplink, and resolves with PUBACK. */
  readonly uplink: (fCnt: number) => Promise<void>
  /** Publishes an event of any kind. */
  readonly publish: (kind: string, members: object) => Promise<void>
}

export interface SdkWorld {
  readonly service: RunningService
  readonly administration: Administration
  readonly organizationId: string
  readonly member: Person
  readonly networkServer: WireClient
  /** A folder for positions. */
  readonly folder: string
  /** The entries of the SDK's log. */
  readonly logged: readonly LogEntry[]
  /** The options of `connect`, for the member. */
  readonly options: ConnectOptions
  connect(more?: Partial<ConnectOptions>): Promise<Fieldgate>
  /** Makes an API key of the organization. `limits` restricts it. */
  apiKey(rights: readonly string[], limits?: object): Promise<string>
  /** Makes an application with a device. */
  place(): Promise<Place>
  [Symbol.asyncDispose](): Promise<void>
}

export async function startSdkWorld(environment: Readonly<Record<string, string>> = {}): Promise<SdkWorld> {
  const service = await startInProcess({ environment })
  const folder = await mkdtemp(join(tmpdir(), 'fieldgate-sdk-'))
  const administration = new Administration(service)
  const organizationId = await administration.organization()
  const member = await administration.person([{ organizationId }])
  const live = new LiveConnections(service)
  const networkServer = await live.networkServer(await administration.serviceCredential(organizationId))
  const logged: LogEntry[] = []
  let keys = 0
  const options: ConnectOptions = {
    url: service.https,
    ca: service.ca,
    username: member.userName,
    password: PASSWORD,
    retry: { firstMs: 20, maximumMs: 200 },
    log: (entry) => void logged.push(entry),
  }
  const emit = async (topicName: string, payload: object): Promise<void> => {
    const code = await publish(networkServer, topicName, JSON.stringify(payload))
    if (code >= 0x80) throw new Error(`${topicName} was refused: ${code}`)
  }
  const world: SdkWorld = {
    service,
    administration,
    organizationId,
    member,
    networkServer,
    folder,
    logged,
    options,
    connect: (more = {}) => connect({ ...options, ...more }),
    apiKey: async (rights, limits = {}) => {
      keys += 1
      const apiKey = { name: `key-${keys}`, rights, ...limits }
      return textIn(
        await administration.must('POST', `/api/organizations/${organizationId}/api-keys`, { apiKey }),
        'key',
      )
    },
    place: async () => {
      const application = await administration.application(organizationId)
      const device = await administration.device(application)
      const prefix = `application/${application}/device/${device}/event`
      return {
        application,
        device,
        topicPrefix: prefix,
        uplink: (fCnt) => emit(`${prefix}/up`, uplinkOf(application, device, fCnt)),
        publish: (kind, members) => emit(`${prefix}/${kind}`, members),
      }
    },
    [Symbol.asyncDispose]: async () => {
      live.closeAll()
      await service.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
  return world
}

/** An uplink of family A. */
function uplinkOf(applicationID: string, devEUI: string, fCnt: number): object {
  return {
    applicationID,
    applicationName: 'meters',
    deviceName: `meter ${devEUI}`,
    deviceProfileName: '',
    deviceProfileID: '',
    devEUI,
    rxInfo: [],
    txInfo: { frequency: 868_100_000, dr: 5 },
    adr: true,
    fCnt,
    fPort: 2,
    data: 'AQI=',
    tags: { site: 'north' },
  }
}

/** The next event of a stream, within the usual time. */
export async function nextOf(stream: AsyncIterator<FieldgateEvent, undefined>): Promise<FieldgateEvent> {
  const { value } = await within(stream.next(), 'the next event')
  if (value === undefined) throw new Error('the stream has ended')
  return value
}

/** The frame counter of an uplink; the kind of any other event. */
export function fCntOf(event: FieldgateEvent): number | string {
  return event.kind === 'up' ? event.fCnt : event.kind
}
