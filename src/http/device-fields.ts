/** What a device looks like in bodies and answers; shared by the routes of devices and their import. */
import { Type, type Static } from 'typebox'
import type { Device, DeviceFields } from '../identity/devices.ts'
import { applicationIdInBody, flag, idText, text, timestamp, Timestamp, TimestampOrNull } from './fields.ts'
import { RULE } from './validate.ts'

const Pairs = (description: string) =>
  Type.Record(Type.String({ maxLength: 100 }), Type.String({ maxLength: 1000 }), {
    description,
    [RULE]: 'must be an object of strings',
  })

/** Members of a device that a body may set, beyond its DevEUI. */
export const WritableDevice = {
  name: Type.Optional(text(100, 'Name; the DevEUI when not given.')),
  applicationID: Type.Optional(applicationIdInBody('Application id.')),
  description: Type.Optional(text(1000, 'For people.')),
  deviceProfileID: Type.Optional(text(64, 'Device profile of the network server.')),
  deviceProfileName: Type.Optional(text(100, 'Name of the device profile.')),
  tags: Type.Optional(Pairs('Labels; they go out with every event.')),
  variables: Type.Optional(Pairs('Values for the codec; they stay inside.')),
  isDisabled: Type.Optional(flag('Events and commands of a disabled device are refused.')),
}

const WritableDeviceSchema = Type.Object(WritableDevice)

/** What a body says of a device. */
export type GivenDevice = Static<typeof WritableDeviceSchema>

/** Exactly the members that a body may set, as the registry takes them; whatever else it carries stays behind here. */
export function deviceChanges(given: GivenDevice): Partial<DeviceFields> {
  return {
    ...(given.name === undefined ? {} : { name: given.name }),
    ...(given.applicationID === undefined ? {} : { applicationId: idText(given.applicationID) }),
    ...(given.description === undefined ? {} : { description: given.description }),
    ...(given.deviceProfileID === undefined ? {} : { deviceProfileId: given.deviceProfileID }),
    ...(given.deviceProfileName === undefined ? {} : { deviceProfileName: given.deviceProfileName }),
    ...(given.tags === undefined ? {} : { tags: given.tags }),
    ...(given.variables === undefined ? {} : { variables: given.variables }),
    ...(given.isDisabled === undefined ? {} : { isDisabled: given.isDisabled }),
  }
}

/** A device in a list. */
export const DeviceItem = Type.Object(
  {
    devEUI: Type.String(),
    name: Type.String(),
    applicationID: Type.String(),
    organizationID: Type.String(),
    description: Type.String(),
    deviceProfileID: Type.String(),
    deviceProfileName: Type.String(),
    isDisabled: Type.Boolean(),
    deviceStatusBatteryLevel: Type.Union([Type.Number(), Type.Null()], { description: 'Percent; null when unknown.' }),
    deviceStatusMargin: Type.Union([Type.Number(), Type.Null()], { description: 'dB; null when unknown.' }),
    lastSeenAt: TimestampOrNull,
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  { description: 'Device' },
)

/** A device by itself. */
export const DeviceDetail = Type.Object({
  device: Type.Object({
    devEUI: Type.String(),
    name: Type.String(),
    applicationID: Type.String(),
    description: Type.String(),
    deviceProfileID: Type.String(),
    deviceProfileName: Type.String(),
    tags: Type.Record(Type.String(), Type.String()),
    variables: Type.Record(Type.String(), Type.String()),
    isDisabled: Type.Boolean(),
  }),
  organizationID: Type.String(),
  deviceStatusBatteryLevel: Type.Union([Type.Number(), Type.Null()]),
  deviceStatusMargin: Type.Union([Type.Number(), Type.Null()]),
  lastSeenAt: TimestampOrNull,
  createdAt: Timestamp,
  updatedAt: Timestamp,
})

/** A device as a list writes it. */
export function deviceItem(device: Device): Static<typeof DeviceItem> {
  return {
    devEUI: device.devEui,
    name: device.name,
    applicationID: device.applicationId,
    organizationID: device.organizationId,
    description: device.description,
    deviceProfileID: device.deviceProfileId,
    deviceProfileName: device.deviceProfileName,
    isDisabled: device.isDisabled,
    ...statusOf(device),
  }
}

/** A device as it is written by itself. */
export function deviceDetail(device: Device): Static<typeof DeviceDetail> {
  return {
    device: {
      devEUI: device.devEui,
      name: device.name,
      applicationID: device.applicationId,
      description: device.description,
      deviceProfileID: device.deviceProfileId,
      deviceProfileName: device.deviceProfileName,
      tags: { ...device.tags },
      variables: { ...device.variables },
      isDisabled: device.isDisabled,
    },
    organizationID: device.organizationId,
    ...statusOf(device),
  }
}

function statusOf(device: Device) {
  return {
    deviceStatusBatteryLevel: device.batteryLevel,
    deviceStatusMargin: device.margin,
    lastSeenAt: device.lastSeenAtMs === null ? null : timestamp(device.lastSeenAtMs),
    createdAt: timestamp(device.createdAtMs),
    updatedAt: timestamp(device.updatedAtMs),
  }
}
