/**
 * A way between Fieldgate and a real network server, with the same calls for each kind of network
 * server.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { LorawanDevice } from '../../simulator/lorawan/device.ts'
import type { DeviceSettings } from '../../simulator/lorawan/device.ts'
import type { LorawanGateway } from '../../simulator/lorawan/gateway.ts'
import type { EventPosts } from './event-posts.ts'
import type { FieldgateSide } from './fieldgate-side.ts'
import type { Integrator } from './integrator.ts'
import { ask } from './radio-pump.ts'
import type { DeviceKeys, ProfileSettings, QueueItem } from './v4-administration.ts'

/**
 * The ways. `v4-mqtt`: a ChirpStack v4 with Fieldgate as its broker. `v4-grpc`: another tenant of
 * the same ChirpStack, with commands by gRPC. `v4-bridge`: a ChirpStack v4 that keeps its broker.
 * `v3`: a ChirpStack v3 with Fieldgate as its broker.
 */
export type Way = 'v4-mqtt' | 'v4-grpc' | 'v4-bridge' | 'v3'

export interface DeviceOptions extends ProfileSettings, Pick<Partial<DeviceSettings>, 'rssi' | 'snr'> {
  /** False for a device that is registered only in Fieldgate. */
  readonly isKnownThere?: boolean
}

/** The calls that both versions of ChirpStack have. */
export interface NetworkServerSide {
  deviceProfile(settings: ProfileSettings): Promise<string>
  device(applicationId: string, deviceProfileId: string, keys: DeviceKeys): Promise<unknown>
  removeDevice(devEui: string): Promise<void>
  queue(devEui: string): Promise<readonly Pick<QueueItem, 'fPort' | 'confirmed' | 'data'>[]>
  flushQueue(devEui: string): Promise<void>
}

export interface PlaceParts {
  readonly way: Way
  readonly organizationId: string
  readonly applicationId: string
  readonly fieldgate: FieldgateSide
  readonly integrator: Integrator
  readonly gateway: LorawanGateway
  /** The posts of ChirpStack's own HTTP integration about the devices of all places. */
  readonly posts: EventPosts
  readonly networkServer: NetworkServerSide
}

const MAXIMUM_JOINS = 3

let serial = 0

export class Place {
  readonly way: Way
  readonly organizationId: string
  readonly applicationId: string
  readonly fieldgate: FieldgateSide
  readonly integrator: Integrator
  readonly gateway: LorawanGateway
  readonly posts: EventPosts
  readonly networkServer: NetworkServerSide
  readonly #profiles = new Map<string, Promise<string>>()
  readonly #devices: LorawanDevice[] = []

  constructor(parts: PlaceParts) {
    this.way = parts.way
    this.organizationId = parts.organizationId
    this.applicationId = parts.applicationId
    this.fieldgate = parts.fieldgate
    this.integrator = parts.integrator
    this.gateway = parts.gateway
    this.posts = parts.posts
    this.networkServer = parts.networkServer
  }

  /** Makes a device that both sides know; it has not joined. */
  async device(options: DeviceOptions = {}): Promise<LorawanDevice> {
    const { isKnownThere = true, rssi, snr, ...profile } = options
    serial += 1
    const keys: DeviceKeys = {
      devEui: `a0b1c2d4${serial.toString(16).padStart(8, '0')}`,
      joinEui: '0101010101010101',
      appKey: randomBytes(16).toString('hex'),
    }
    // First here, before a deployment that synchronises registers the device itself.
    await this.fieldgate.device(this.applicationId, keys.devEui)
    if (isKnownThere) {
      await this.networkServer.device(this.applicationId, await this.#profile(profile), keys)
    }
    const device = new LorawanDevice({
      ...keys,
      deviceClass: profile.deviceClass ?? 'A',
      gateways: [this.gateway],
      ...(rssi === undefined ? {} : { rssi }),
      ...(snr === undefined ? {} : { snr }),
    })
    this.#devices.push(device)
    return device
  }

  /**
   * Makes a device that has joined and sent an uplink. Only with this uplink does v3's application
   * server get the device's key; the device can't read downlinks that v3 encrypts before.
   */
  async joinedDevice(options: DeviceOptions = {}): Promise<LorawanDevice> {
    const device = await this.device(options)
    await join(device)
    await ask(device)
    await this.integrator.find('the first uplink', ({ devEui, kind }) => devEui === device.devEui && kind === 'up')
    return device
  }

  /**
   * Resolves when `count` commands wait in the network server. It has no event for that, so it is
   * asked again and again.
   */
  async untilQueued(devEui: string, count: number, withinMs = 30_000): Promise<void> {
    const deadline = performance.now() + withinMs
    for (;;) {
      const { length } = await this.networkServer.queue(devEui)
      if (length >= count) return
      assert.ok(performance.now() < deadline, `${this.way}: ${length} of ${count} commands of ${devEui} wait there`)
      await sleep(20)
    }
  }

  async close(): Promise<void> {
    for (const device of this.#devices) device.close()
    await this.integrator.close()
    await this.gateway.close()
  }

  #profile(settings: ProfileSettings): Promise<string> {
    const key = JSON.stringify(settings)
    const known = this.#profiles.get(key) ?? this.networkServer.deviceProfile(settings)
    this.#profiles.set(key, known)
    return known
  }
}

/** Joins, with several attempts: a busy network server sometimes answers too late. */
export async function join(device: LorawanDevice): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await device.join()
      return
    } catch (error) {
      if (tries === MAXIMUM_JOINS) throw error
    }
  }
}
