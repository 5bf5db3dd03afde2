/**
 * A stand-in of The Things Stack: it answers as the protobuf definitions and the source of the
 * Identity Server say (`end_device_services.proto`, `applicationserver.proto`).
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export const STAND_IN_KEY = 'NNSXS.KEY'

export interface Answer {
  readonly status?: number
  readonly body: unknown
}

export interface StandIn extends AsyncDisposable {
  readonly url: string
  readonly asked: URL[]
}

/** Starts it; the API key is NNSXS.KEY. */
export async function openStandIn(answerTo: (url: URL) => Answer): Promise<StandIn> {
  const asked: URL[] = []
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://localhost')
    asked.push(url)
    const isRight = request.headers.authorization === `Bearer ${STAND_IN_KEY}`
    const { status = 200, body } = isRight ? answerTo(url) : { status: 401, body: { code: 16 } }
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function deviceOf(number: number): object {
  const devEui = number.toString(16).toUpperCase().padStart(16, '0')
  const ids = { device_id: `meter-${number}`, application_ids: { application_id: 'meters' }, dev_eui: devEui }
  return {
    ids: { ...ids, join_eui: '70B3D57ED0000000' },
    name: `Meter ${number}`,
    attributes: { street: 'north' },
    version_ids: {
      brand_id: 'acme',
      model_id: 'flow',
      hardware_version: '1',
      firmware_version: '2.0',
      band_id: 'EU_863_870',
    },
  }
}

/** Lists so many devices, page by page, as the Identity Server does. */
export function listing(count: number, formatters: object = {}): (url: URL) => Answer {
  return ({ pathname, searchParams }) => {
    if (pathname === '/api/v3/applications/meters') {
      return { body: { ids: { application_id: 'meters' }, name: 'Meters of the valley' } }
    }
    if (pathname === '/api/v3/as/applications/meters/link') return { body: { default_formatters: formatters } }
    if (pathname !== '/api/v3/applications/meters/devices') return { status: 404, body: { code: 5 } }
    const limit = Number(searchParams.get('limit'))
    const from = (Number(searchParams.get('page')) - 1) * limit
    const devices = Array.from({ length: Math.max(0, Math.min(limit, count - from)) }, (_, index) =>
      deviceOf(from + index),
    )
    // The JSON of Protocol Buffers leaves an empty list out.
    return { body: devices.length === 0 ? {} : { end_devices: devices } }
  }
}

/** The text of a settings file that names the stand-in for the organization with the id 1. */
export function settingsFor({ url }: StandIn): string {
  const ids = { organizationId: '1', applicationId: 'meters', webhookId: 'fieldgate' }
  const entry = { name: 'ttn', kind: 'the-things-stack', ...ids, url, apiKey: STAND_IN_KEY }
  return JSON.stringify({ networkServers: [entry] })
}
