/** The forms in which the HTTP APIs of ChirpStack and The Things Stack take downlinks. */
import type { Downlink } from '../../commands/network-server.ts'
import type { RestForm } from './rest-network-server.ts'

/** The form of ChirpStack v3's own API, and of chirpstack-rest-api in front of v4. */
export function chirpStackForm(version: 'v3' | 'v4'): RestForm {
  return {
    enqueue: (downlink) => ({
      path: queuePath(downlink.devEui),
      body: version === 'v3' ? bodyOfV3(downlink) : bodyOfV4(downlink),
    }),
    flushPath: queuePath,
    namesNoCommand: version === 'v3',
  }
}

function queuePath(devEui: string): string {
  return `/api/devices/${devEui}/queue`
}

/** ChirpStack v3 takes the object as JSON within a text. */
function bodyOfV3({ devEui, confirmed, fPort, data, object }: Downlink): unknown {
  const content = data === undefined ? { jsonObject: JSON.stringify(object) } : { data: base64Of(data) }
  return { deviceQueueItem: { devEUI: devEui, confirmed, fPort, ...content } }
}

function bodyOfV4({ id, confirmed, fPort, data, object, expiresAtMs }: Downlink): unknown {
  const expiry = expiresAtMs === undefined ? {} : { expiresAt: new Date(expiresAtMs).toISOString() }
  const content = data === undefined ? { object } : { data: base64Of(data) }
  return { queueItem: { id, confirmed, fPort, ...content, ...expiry } }
}

function base64Of(data: Buffer): string {
  return data.toString('base64')
}

/** The prefix of the correlation id by which The Things Stack's events name a downlink. */
export const CORRELATION_PREFIX = 'fieldgate:'

export interface TheThingsStackFormSettings {
  readonly applicationId: string
  readonly webhookId: string
  /** The Things Stack's id of a device. */
  readonly deviceIdOf: (devEui: string) => string | Promise<string>
}

/** The form of The Things Stack: `down/push` of the webhook. */
export function theThingsStackForm({ applicationId, webhookId, deviceIdOf }: TheThingsStackFormSettings): RestForm {
  return {
    async enqueue({ devEui, id, fPort, confirmed, data, object }) {
      const deviceId = encodeURIComponent(await deviceIdOf(devEui))
      const path =
        `/api/v3/as/applications/${encodeURIComponent(applicationId)}/webhooks/${encodeURIComponent(webhookId)}` +
        `/devices/${deviceId}/down/push`
      const downlink = {
        f_port: fPort,
        ...(data === undefined ? { decoded_payload: object } : { frm_payload: base64Of(data) }),
        confirmed,
        priority: 'NORMAL',
        correlation_ids: [CORRELATION_PREFIX + id],
      }
      return { path, body: { downlinks: [downlink] } }
    },
  }
}
