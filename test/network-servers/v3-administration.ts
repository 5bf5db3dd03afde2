/** Sets a ChirpStack v3 up by its HTTP API, and reads its queues, as its own console would. */
import assert from 'node:assert/strict'
import type { DeviceKeys, ProfileSettings, QueueItem } from './v4-administration.ts'
import type { NetworkServerSide } from './place.ts'

/** The longest name of a profile, in characters. */
const MAXIMUM_NAME_LENGTH = 100

export class V3Administration implements NetworkServerSide {
  readonly #baseUrl: string
  readonly #jwt: string
  readonly #organizationId: string
  readonly #networkServerId: string
  readonly #serviceProfileId: string

  /**
   * Logs in as its first user and names its network server. The organization is the one that v3
   * makes by itself.
   */
  static async open(apiPort: number, networkServerPort: number): Promise<V3Administration> {
    const baseUrl = `http://127.0.0.1:${apiPort}`
    const { jwt } = await call(baseUrl, '', 'POST', '/api/internal/login', { email: 'admin', password: 'admin' })
    const token = textOf(jwt)
    const networkServer = { name: 'network server', server: `127.0.0.1:${networkServerPort}` }
    const networkServerId = textOf((await call(baseUrl, token, 'POST', '/api/network-servers', { networkServer })).id)
    const serviceProfile = {
      name: 'service profile',
      organizationID: '1',
      networkServerID: networkServerId,
      addGWMetaData: true,
      nwkGeoLoc: true,
      // Makes each device report its status with its first uplink.
      devStatusReqFreq: 1,
      reportDevStatusBattery: true,
      reportDevStatusMargin: true,
    }
    const serviceProfileId = textOf(
      (await call(baseUrl, token, 'POST', '/api/service-profiles', { serviceProfile })).id,
    )
    return new V3Administration(baseUrl, token, '1', networkServerId, serviceProfileId)
  }

  private constructor(
    baseUrl: string,
    jwt: string,
    organizationId: string,
    networkServerId: string,
    serviceProfileId: string,
  ) {
    this.#baseUrl = baseUrl
    this.#jwt = jwt
    this.#organizationId = organizationId
    this.#networkServerId = networkServerId
    this.#serviceProfileId = serviceProfileId
  }

  /** Makes an application. Returns its id, a number in digits. */
  async application(name: string): Promise<string> {
    const application = {
      name,
      description: name,
      organizationID: this.#organizationId,
      serviceProfileID: this.#serviceProfileId,
    }
    return textOf((await this.#ask('POST', '/api/applications', { application })).id)
  }

  /**
   * Sets up v3's own HTTP integration: it posts every event of the application to the URL, as
   * `json_v3`.
   */
  async httpIntegration(applicationId: string, url: string): Promise<void> {
    const integration = { applicationID: applicationId, marshaler: 'JSON_V3', eventEndpointURL: url, headers: [] }
    await this.#ask('POST', `/api/applications/${applicationId}/integrations/http`, { integration })
  }

  async deviceProfile(settings: ProfileSettings): Promise<string> {
    const { codecScript, deviceClass, acknowledgementSeconds: classCTimeout = 3 } = settings
    const deviceProfile = {
      name: JSON.stringify(settings).slice(0, MAXIMUM_NAME_LENGTH),
      organizationID: this.#organizationId,
      networkServerID: this.#networkServerId,
      macVersion: '1.0.3',
      regParamsRevision: 'A',
      rfRegion: 'EU868',
      supportsJoin: true,
      maxEIRP: 14,
      uplinkInterval: '3600s',
      adrAlgorithmID: 'default',
      ...(deviceClass === 'C' ? { supportsClassC: true, classCTimeout } : {}),
      ...(codecScript === undefined
        ? {}
        : { payloadCodec: 'CUSTOM_JS', payloadDecoderScript: codecScript, payloadEncoderScript: codecScript }),
    }
    return textOf((await this.#ask('POST', '/api/device-profiles', { deviceProfile }))['id'])
  }

  /** Makes a device of LoRaWAN 1.0 that may join with these keys. */
  async device(applicationId: string, deviceProfileId: string, keys: DeviceKeys): Promise<void> {
    const device = {
      devEUI: keys.devEui,
      name: `device ${keys.devEui}`,
      description: 'of a test',
      applicationID: applicationId,
      deviceProfileID: deviceProfileId,
      skipFCntCheck: false,
      referenceAltitude: 0,
      tags: { valley: 'north' },
    }
    await this.#ask('POST', '/api/devices', { device })
    // ChirpStack stores the one key of a device of LoRaWAN 1.0 in this member.
    const deviceKeys = { devEUI: keys.devEui, nwkKey: keys.appKey, appKey: '0'.repeat(32), genAppKey: '0'.repeat(32) }
    await this.#ask('POST', `/api/devices/${keys.devEui}/keys`, { deviceKeys })
  }

  async removeDevice(devEui: string): Promise<void> {
    await this.#ask('DELETE', `/api/devices/${devEui}`)
  }

  async gateway(gatewayId: string): Promise<void> {
    const gateway = {
      id: gatewayId,
      name: `gateway-${gatewayId}`,
      description: 'of a test',
      organizationID: this.#organizationId,
      networkServerID: this.#networkServerId,
      serviceProfileID: this.#serviceProfileId,
      location: { latitude: 47.1, longitude: 8.2, altitude: 400 },
      discoveryEnabled: false,
      boards: [],
    }
    await this.#ask('POST', '/api/gateways', { gateway })
  }

  /** The downlinks that wait for a device in the network server. They have no ids. */
  async queue(devEui: string): Promise<readonly Omit<QueueItem, 'id' | 'isPending'>[]> {
    const { deviceQueueItems } = await this.#ask('GET', `/api/devices/${devEui}/queue`)
    return deviceQueueItems as readonly Omit<QueueItem, 'id' | 'isPending'>[]
  }

  async flushQueue(devEui: string): Promise<void> {
    await this.#ask('DELETE', `/api/devices/${devEui}/queue`)
  }

  #ask(method: string, path: string, body?: object): Promise<Readonly<Record<string, unknown>>> {
    return call(this.#baseUrl, this.#jwt, method, path, body)
  }
}

async function call(
  baseUrl: string,
  jwt: string,
  method: string,
  path: string,
  body?: object,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: { 'grpc-metadata-authorization': `Bearer ${jwt}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(15_000),
  })
  const text = await response.text()
  assert.equal(response.status, 200, `${method} ${path}: ${response.status} ${text}`)
  return JSON.parse(text) as Readonly<Record<string, unknown>>
}

function textOf(value: unknown): string {
  assert.ok(typeof value === 'string' && value !== '', JSON.stringify(value))
  return value
}
