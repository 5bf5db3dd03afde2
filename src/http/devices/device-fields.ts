/**
 * The members of a device in bodies and answers, shared by the routes of devices and their import.
 */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { MAXIMUM_ENTRIES, MAXIMUM_ENTRY_KEY, MAXIMUM_ENTRY_VALUE } from '../../identity/devices/device-rows.ts'
import { DEVICE_STATES } from '../../identity/devices/device.ts'
import type { Device, DeviceFields } from '../../identity/devices/device.ts'
import {
  A_LINE,
  A_NAME,
  A_PARAGRAPH,
  applicationId,
  applicationIdInBody,
  choice,
  DevEui,
  flag,
  id,
  idText,
  ruledText,
  timestamp,
  Times,
  timesOf,
  TimestampOrNull,
} from '../api/fields.ts'
import { given } from '../../given.ts'
import { DOCUMENTED, NAME } from '../api/schema-keywords.ts'
import { RULE } from '../api/validate.ts'

/** Tags or variables in a body. */
export const Pairs = (description: string) =>
  Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 1000 }), {
    description,
    examples: [{ floor: '1' }],
    [RULE]: 'must be an object of strings',
    [DOCUMENTED]: {
      type: 'object',
      maxProperties: MAXIMUM_ENTRIES,
      propertyNames: { type: 'string', minLength: 1, maxLength: MAXIMUM_ENTRY_KEY, ...A_LINE },
      additionalProperties: { type: 'string', maxLength: MAXIMUM_ENTRY_VALUE, ...A_PARAGRAPH },
    },
  })

/** Tags or variables in an answer. */
export const WrittenPairs = Type.Unsafe<Record<string, string>>({
  type: 'object',
  additionalProperties: { type: 'string' },
})

/** Members of a device that a body may set, beyond its DevEUI. */
export const WritableDevice = {
  name: Type.Optional(ruledText(100, 'Name.', A_NAME)),
  applicationID: Type.Optional(applicationIdInBody('Application id.')),
  description: Type.Optional(ruledText(1000, 'For people.', A_PARAGRAPH)),
  deviceProfileID: Type.Optional(
    ruledText(64, 'Id of a device profile of the organization, or of the network server.', A_LINE),
  ),
  deviceProfileName: Type.Optional(ruledText(100, 'Name of the device profile.', A_LINE)),
  tags: Type.Optional(Pairs('Labels; they go out with every event.')),
  variables: Type.Optional(Pairs('Values for the codec; they stay inside.')),
  isDisabled: Type.Optional(flag('Events and commands of a disabled device are refused.')),
}

const WritableDeviceSchema = Type.Object(WritableDevice)

/** The members of a device in a body. */
export type GivenDevice = Static<typeof WritableDeviceSchema>

/**
 * Exactly the members that a body may set, as the registry takes them. Other members of the body
 * are dropped here.
 */
export function deviceChanges(body: GivenDevice): Partial<DeviceFields> {
  const { name, description, deviceProfileID, deviceProfileName, tags, variables, isDisabled } = body
  const place = { applicationId: body.applicationID === undefined ? undefined : idText(body.applicationID) }
  const profile = { deviceProfileId: deviceProfileID, deviceProfileName }
  return given({ name, ...place, description, ...profile, tags, variables, isDisabled })
}

/** The state of a device. */
const State = choice(DEVICE_STATES, {
  description:
    'How the device is heard, by its interval: `ON_TIME`, `LATE` after two intervals without a sign of life, `SILENT` after three, `NEVER_HEARD`.',
  [NAME]: 'DeviceState',
})

const numberOrNull = (description: string) => Type.Union([Type.Number(), Type.Null()], { description })

const Health = {
  state: State,
  stateSince: TimestampOrNull,
  lowBattery: Type.Boolean({
    description: 'The battery is below the limit of the device profile, or below 20 percent without one.',
  }),
  weakSignal: Type.Boolean({
    description:
      'The mean SNR above what the spreading factor needs is below the limit of the device profile, or below 5 dB without one.',
  }),
  losingFrames: Type.Boolean({ description: 'At least a tenth of the uplinks does not arrive.' }),
  intervalSeconds: numberOrNull(
    'The time between two uplinks, in seconds, as the device profile expects it, or else as it was learned; null when it is not known.',
  ),
  lossPercent: numberOrNull('Uplinks that did not arrive, by the frame counter; null when it is not known.'),
  rssi: numberOrNull('dBm, at the gateway that heard the device best; null when it is not known.'),
  snr: numberOrNull('dB, at the same gateway; null when it is not known.'),
}

const Status = {
  ...Health,
  deviceStatusBatteryLevel: Type.Union([Type.Number(), Type.Null()], { description: 'Percent; null when unknown.' }),
  deviceStatusMargin: Type.Union([Type.Number(), Type.Null()], { description: 'dB; null when unknown.' }),
  lastSeenAt: TimestampOrNull,
  ...Times,
}
const Members = {
  devEUI: DevEui,
  name: Type.String({ examples: ['Meter 1'] }),
  applicationID: applicationId('Application id.'),
  description: Type.String(),
  deviceProfileID: Type.String(),
  deviceProfileName: Type.String(),
  isDisabled: Type.Boolean(),
}

/** A device in a list. */
export const DeviceItem = Type.Object(
  { ...Members, organizationID: id('Organization id.'), ...Status },
  { description: 'Device', [NAME]: 'Device' },
)

/** A device by itself. */
export const DeviceDetail = Type.Object(
  {
    device: Type.Object({ ...Members, tags: WrittenPairs, variables: WrittenPairs }, { [NAME]: 'DeviceFields' }),
    organizationID: id('Organization id.'),
    ...Status,
  },
  { description: 'A device by itself', [NAME]: 'DeviceDetails' },
)

/** A device as a list writes it. */
export function deviceItem(device: Device): Static<typeof DeviceItem> {
  return { ...membersOf(device), organizationID: device.organizationId, ...statusOf(device) }
}

/** A device as it is written by itself. */
export function deviceDetail(device: Device): Static<typeof DeviceDetail> {
  return {
    device: { ...membersOf(device), tags: { ...device.tags }, variables: { ...device.variables } },
    organizationID: device.organizationId,
    ...statusOf(device),
  }
}

function membersOf(device: Device) {
  return {
    devEUI: device.devEui,
    name: device.name,
    applicationID: device.applicationId,
    description: device.description,
    deviceProfileID: device.deviceProfileId,
    deviceProfileName: device.deviceProfileName,
    isDisabled: device.isDisabled,
  }
}

function statusOf(device: Device) {
  return {
    ...healthOf(device),
    deviceStatusBatteryLevel: device.batteryLevel,
    deviceStatusMargin: device.margin,
    lastSeenAt: device.lastSeenAtMs === null ? null : timestamp(device.lastSeenAtMs),
    ...timesOf(device),
  }
}

function healthOf(device: Device) {
  const { state, stateSinceMs, lowBattery, weakSignal, losingFrames, intervalSeconds, lossPercent, rssi, snr } = device
  const stateSince = stateSinceMs === null ? null : timestamp(stateSinceMs)
  return { state, stateSince, lowBattery, weakSignal, losingFrames, intervalSeconds, lossPercent, rssi, snr }
}
