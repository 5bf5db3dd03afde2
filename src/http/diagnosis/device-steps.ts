/** The steps from the device to the broker: network server, device, events, codec. */
import type { Device } from '../../identity/devices/device.ts'
import type { Application } from '../../identity/tenants/applications.ts'
import { isObject } from '../../json.ts'
import type { StoredEvent } from '../../lorawan/uplinks/event-history.ts'
import type { KeptRefusal } from '../operation/broker-views.ts'
import { newestEvents, refusalsIn } from './diagnosis-parts.ts'
import type { Circle, DiagnosisParts } from './diagnosis-parts.ts'
import { remedyOf } from './remedies.ts'
import { at, ok, problem, unknown } from './steps.ts'
import type { Step } from './steps.ts'

/** Uplinks of which the usual interval of a device is taken. */
const UPLINKS_LOOKED_AT = 12
/** With fewer stored uplinks the interval is not known. */
const LEAST_UPLINKS = 4
/** A device is silent after so many of its usual intervals. */
const SILENT_INTERVALS = 3
/** A device that was heard within this time is not silent, however often it sent before. */
const LEAST_SILENCE_MS = 120_000
/** The battery level in percent from which on the advice names the battery. */
const LOW_BATTERY = 10
/** An error of a codec counts for the last uplink if it was stored so long before it at most. */
const CODEC_SLACK_MS = 5_000

/** The network servers of the organization. */
export async function networkServerStep(
  parts: DiagnosisParts,
  organizationId: string,
  application: Application | undefined,
): Promise<Step> {
  const { ofOrganization, ofDeployment } = await parts.sessions.networkServers(organizationId)
  const [newest] =
    application === undefined
      ? []
      : await newestEvents(parts, application, { devEui: undefined, kinds: undefined, maximumEvents: 1 })
  const facts = { lastEventOfApplicationAt: at(newest?.timeMs) }
  const heard = newest === undefined ? '' : ` The last event of the application came at ${at(newest.timeMs)}.`
  if (ofOrganization === 'connected' || ofDeployment === 'connected') {
    return ok('networkServer', `A network server is connected.${heard}`, facts)
  }
  const goneAtMs = Math.max(ofOrganization ?? 0, ofDeployment ?? 0)
  if (newest !== undefined && newest.timeMs > goneAtMs) {
    return ok('networkServer', `The network server is no client of the broker at present.${heard}`, facts)
  }
  if (goneAtMs > 0) {
    const told = [
      `The network server has been away since ${at(goneAtMs)}.`,
      'Start the network server, and look at its own log for the connection to Fieldgate.',
    ] as const
    return problem('networkServer', 'network_server_away', told, { ...facts, awaySince: at(goneAtMs) })
  }
  // A network server that is reached by its own API connects as no client.
  if ((await parts.registry.networkServers.list()).length > 0) {
    return unknown('networkServer', 'No network server has connected as a client, and no event is stored.', facts)
  }
  const told = [
    'No network server has connected yet.',
    'Create a service credential, and enter it in the network server as the page Network servers shows it.',
  ] as const
  return problem('networkServer', 'network_server_never_connected', told, facts)
}

/** The device and its life signs. `given` is the DevEUI that was asked for. */
export async function deviceStep(
  parts: DiagnosisParts,
  given: string,
  device: Device | undefined,
  uplinks: readonly StoredEvent[],
): Promise<Step> {
  if (device === undefined) {
    const told = [
      `No device with the DevEUI ${given} is registered in the organization.`,
      'Compare the DevEUI with the label of the device, or register the device.',
    ] as const
    return problem('device', 'device_unknown', told)
  }
  const lastHeardMs = lastHeard(device, uplinks)
  const everyMs = usualIntervalMs(uplinks)
  const facts = {
    applicationID: device.applicationId,
    name: device.name,
    lastHeardAt: at(lastHeardMs),
    usualIntervalSeconds: everyMs === undefined ? undefined : Math.round(everyMs / 1_000),
    batteryPercent: device.batteryLevel,
    marginDb: device.margin,
  }
  if (device.isDisabled) {
    const told = ['The device is disabled, and its events are refused.', remedyOf('device_disabled')] as const
    return problem('device', 'device_disabled', told, facts)
  }
  if (lastHeardMs === undefined) {
    const told = [
      'The device has never been heard.',
      'Check at the network server that the device has this DevEUI, and that it has joined.',
    ] as const
    return problem('device', 'device_never_heard', told, facts)
  }
  const silentMs = parts.clock.now() - lastHeardMs
  if (everyMs !== undefined && silentMs > Math.max(everyMs * SILENT_INTERVALS, LEAST_SILENCE_MS)) {
    const every = `It usually sends every ${durationText(everyMs)}`
    return problem(
      'device',
      'device_silent',
      [`The device was last heard at ${at(lastHeardMs)}. ${every}.`, adviceForSilent(device)],
      facts,
    )
  }
  return ok('device', `The device was last heard at ${at(lastHeardMs)}.`, facts)
}

function adviceForSilent({ batteryLevel }: Device): string {
  if (batteryLevel !== null && batteryLevel <= LOW_BATTERY) {
    return `Change its battery: the last level was ${batteryLevel} %.`
  }
  return 'Check its power, and the gateways near it at the network server.'
}

/** The events that the broker refused before they reached anybody. */
export async function eventsStep(
  parts: DiagnosisParts,
  circle: Circle,
  devEui: string,
  device: Device | undefined,
): Promise<Step> {
  if (circle.userId !== undefined) {
    return unknown('events', 'Only an admin of the organization sees the refused events of network servers.')
  }
  const refusals = await refusalsIn(parts, circle)
  const refused = refusals.find(({ kind, topic }) => kind === 'publish' && isEventOf(devEui, topic))
  if (refused !== undefined && refused.atMs >= (device?.lastSeenAtMs ?? 0)) return refusedStep(refused, device)
  const prefix = device && `application/${device.applicationId}/device/+/event/`
  const notice = refusals.find(({ kind, topic }) => kind === 'notice' && prefix && topic?.startsWith(prefix))
  if (notice !== undefined) {
    const told = [
      `Events go on, and programs can’t read them: ${notice.reason}.`,
      'Change this setting at the network server.',
    ] as const
    return problem('events', notice.code, told, { topic: notice.topic, at: at(notice.atMs) })
  }
  return ok('events', 'No event of the device was refused lately.')
}

function refusedStep({ code, reason, topic = '', atMs, count }: KeptRefusal, device: Device | undefined): Step {
  const facts = { topic, at: at(atMs), count }
  const sentence = `An event of the device was refused at ${at(atMs)}: ${reason} (${topic}).`
  const applicationId = topic.split('/')[1]
  if (device !== undefined && applicationId !== device.applicationId) {
    const advice = `Move the device to application ${applicationId}, or let the network server name application ${device.applicationId}.`
    return problem('events', 'event_of_other_application', [sentence, advice], facts)
  }
  return problem('events', code, [sentence, remedyOf(code)], facts)
}

function isEventOf(devEui: string, topic = ''): boolean {
  return topic.toLowerCase().includes(`/device/${devEui}/event/`)
}

/** The codec, by the newest error event of the device. */
export async function codecStep(
  parts: DiagnosisParts,
  device: Device,
  application: Application,
  uplinks: readonly StoredEvent[],
): Promise<Step> {
  const [newest] = await newestEvents(parts, application, {
    devEui: device.devEui,
    kinds: new Set(['error']),
    maximumEvents: 1,
    fromMs: (uplinks[0]?.timeMs ?? 0) - CODEC_SLACK_MS,
  })
  const message = newest && codecErrorOf(newest.payload)
  if (newest !== undefined && message !== undefined) {
    const told = [
      `The codec failed on an uplink at ${at(newest.timeMs)}: ${message}. The uplink went on without object.`,
      'Try the codec with this uplink on the page Codecs, and correct it.',
    ] as const
    return problem('codec', 'codec_failed', told, { at: at(newest.timeMs), error: message })
  }
  return ok('codec', 'The codec did not fail on the last uplink.')
}

/** The codec's message in an error event of either family; undefined for another error. */
function codecErrorOf(payload: Buffer): string | undefined {
  try {
    const event: unknown = JSON.parse(payload.toString())
    if (!isObject(event)) return undefined
    const { type, code, error, description } = event
    if (type !== 'UPLINK_CODEC' && code !== 'UPLINK_CODEC') return undefined
    const message = error ?? description
    return typeof message === 'string' ? message.replace(/\.$/, '') : ''
  } catch {
    return undefined
  }
}

/** The newest uplinks of the device, the newest first. */
export function newestUplinks(
  parts: DiagnosisParts,
  device: Device,
  application: Application,
): Promise<readonly StoredEvent[]> {
  const meant = { devEui: device.devEui, kinds: new Set(['up'] as const), maximumEvents: UPLINKS_LOOKED_AT }
  return newestEvents(parts, application, meant)
}

function lastHeard({ lastSeenAtMs }: Device, uplinks: readonly StoredEvent[]): number | undefined {
  const ms = Math.max(lastSeenAtMs ?? 0, uplinks[0]?.timeMs ?? 0)
  return ms === 0 ? undefined : ms
}

/** The median of the times between the uplinks; undefined with too few of them. */
function usualIntervalMs(uplinks: readonly StoredEvent[]): number | undefined {
  if (uplinks.length < LEAST_UPLINKS) return undefined
  const gaps = uplinks.slice(1).map(({ timeMs }, index) => (uplinks[index] as StoredEvent).timeMs - timeMs)
  return gaps.toSorted((one, other) => one - other)[Math.floor(gaps.length / 2)]
}

function durationText(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
