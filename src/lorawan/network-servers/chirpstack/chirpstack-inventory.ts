/** The inventory of a ChirpStack v4, by its gRPC API. */
import grpc from '@grpc/grpc-js'
import type {
  InventoryApplication,
  InventoryDevice,
  InventoryProfile,
  InventorySource,
} from '../../inventory/inventory.ts'
import { InventoryUnreadable } from '../../inventory/inventory.ts'
import { ChirpStackApi } from './chirpstack-api.ts'
import type { ChirpStackAddress, ChirpStackDevice, ChirpStackProfile } from './chirpstack-api.ts'
import { faultOf } from './grpc-fault.ts'

/** Devices whose details are asked for at the same time. The list leaves them out. */
const DETAILS_AT_ONCE = 8

/** Reads these tenants; undefined for all tenants that the API key may see. */
export class ChirpStackInventory implements InventorySource {
  readonly #api: ChirpStackApi
  readonly #tenantIds: readonly string[] | undefined

  constructor(address: ChirpStackAddress, tenantIds: readonly string[] | undefined) {
    this.#api = new ChirpStackApi(address)
    this.#tenantIds = tenantIds
  }

  async *applications(): AsyncGenerator<InventoryApplication> {
    try {
      if (this.#tenantIds === undefined) {
        for await (const { id } of this.#api.tenants()) yield* this.#api.applications(id)
        return
      }
      for (const id of this.#tenantIds) yield* this.#api.applications(id)
    } catch (error) {
      throw unreadable(error)
    }
  }

  async *devices(applicationId: string): AsyncGenerator<InventoryDevice> {
    try {
      let group: ChirpStackDevice[] = []
      for await (const device of this.#api.devices(applicationId)) {
        group.push(device)
        if (group.length < DETAILS_AT_ONCE) continue
        yield* await this.#withDetails(group)
        group = []
      }
      yield* await this.#withDetails(group)
    } catch (error) {
      throw unreadable(error)
    }
  }

  async profile(profileId: string): Promise<InventoryProfile | undefined> {
    try {
      const profile = await this.#api.profile(profileId)
      return profile && profileOf(profile)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw unreadable(error)
    }
  }

  close(): void {
    this.#api.close()
  }

  /** A device that has gone since it was listed is left out. */
  async #withDetails(devices: readonly ChirpStackDevice[]): Promise<readonly InventoryDevice[]> {
    const found = await Promise.all(
      devices.map(async ({ devEui, name, description, deviceProfileId, deviceProfileName, tags }) => {
        const details = await this.#detailsOf(devEui)
        const listed = { devEui, name, description, tags, profileId: deviceProfileId, profileName: deviceProfileName }
        return details && { ...listed, ...details }
      }),
    )
    return found.filter((device) => device !== undefined)
  }

  async #detailsOf(devEui: string): ReturnType<ChirpStackApi['details']> {
    try {
      return await this.#api.details(devEui)
    } catch (error) {
      if (isNotFound(error)) return undefined
      throw error
    }
  }
}

function profileOf(profile: ChirpStackProfile): InventoryProfile {
  const { codec, script, supportsClassB, supportsClassC, uplinkIntervalSeconds, ...members } = profile
  return {
    id: members.id,
    name: members.name,
    description: members.description,
    vendor: '',
    model: '',
    firmwareVersion: members.firmwareVersion,
    region: members.region,
    deviceClass: supportsClassC ? 'C' : supportsClassB ? 'B' : 'A',
    payloadCodec: codec === 'js' ? 'CUSTOM_JS' : codec === 'cayenneLpp' ? 'CAYENNE_LPP' : '',
    // ChirpStack has one script for both directions.
    payloadDecoderScript: codec === 'js' ? script : '',
    payloadEncoderScript: codec === 'js' && /\b[eE]ncode(?:Downlink|r)?\b/.test(script) ? script : '',
    expectedIntervalSeconds: uplinkIntervalSeconds,
    tags: members.tags,
  }
}

const CODES: Readonly<Partial<Record<number, InventoryUnreadable['code']>>> = {
  [grpc.status.UNAVAILABLE]: 'inventory_unreachable',
  [grpc.status.DEADLINE_EXCEEDED]: 'inventory_too_slow',
  [grpc.status.UNAUTHENTICATED]: 'inventory_key_refused',
  [grpc.status.PERMISSION_DENIED]: 'inventory_key_refused',
}

function isNotFound(error: unknown): boolean {
  const notFound: number = grpc.status.NOT_FOUND
  return faultOf(error).code === notFound
}

function unreadable(error: unknown): InventoryUnreadable {
  if (error instanceof InventoryUnreadable) return error
  const { code, reason } = faultOf(error)
  return new InventoryUnreadable(CODES[code] ?? 'inventory_failed', `ChirpStack's API: ${reason}`)
}
