/**
 * The events of family B, as ChirpStack v4 writes them: `deviceInfo` names the device, and `log` is
 * beside `error`. Webhooks of The Things Stack become events of this family as well. Members of
 * gateways (`rxInfo`, `txInfo`, places) are left out where they are 0, false or empty.
 */
import { Type } from 'typebox'
import {
  applicationIdText,
  base64,
  commandId,
  dataRate,
  decodedObject,
  devAddrText,
  devEuiText,
  frameCounter,
  measurements,
  texts,
  time,
  uplinkPort,
  word,
} from './schema-words.ts'

const MAXIMUM_32_BITS = 4_294_967_295

const DeviceInfo = Type.Object(
  {
    tenantId: Type.String({ description: 'The tenant’s id in the network server; empty where it is not known.' }),
    tenantName: Type.String({ description: 'The tenant’s name in the network server; empty where it is not known.' }),
    applicationId: applicationIdText('The application’s id. Never read it as a number: it may be a UUID.'),
    applicationName: Type.String({ description: 'The application’s name.' }),
    deviceProfileId: Type.String({ description: 'Id of the device profile; empty where it is not known.' }),
    deviceProfileName: Type.String({ description: 'Name of the device profile; empty where it is not known.' }),
    deviceName: Type.String({ description: 'The device’s name.' }),
    devEui: devEuiText(),
    deviceClassEnabled: Type.Optional(
      word(['CLASS_A', 'CLASS_B', 'CLASS_C'], 'The device’s class, where the network server tells it.'),
    ),
    tags: texts('The device’s tags.'),
  },
  { title: 'DeviceInfoB', description: 'The device, with its application and its tenant.' },
)

const about = { time: time('When it happened.'), deviceInfo: DeviceInfo }

const common = {
  deduplicationId: Type.String({ description: 'A UUID: the same in all events of one uplink.', format: 'uuid' }),
  ...about,
}

const optionalDeduplicationId = Type.Optional(
  Type.String({ description: 'A UUID, where the network server tells it.', format: 'uuid' }),
)

const regionConfigId = Type.Optional(
  Type.String({ description: 'The id of the region’s configuration in ChirpStack, such as `eu868`.' }),
)

const Location = Type.Object(
  {
    latitude: Type.Optional(Type.Number({ description: 'Degrees in WGS 84.' })),
    longitude: Type.Optional(Type.Number({ description: 'Degrees in WGS 84.' })),
    altitude: Type.Optional(Type.Number({ description: 'Metres.' })),
    source: Type.Optional(Type.String({ description: 'How the place was found, such as `GPS`.' })),
    accuracy: Type.Optional(Type.Number({ description: 'Metres; 0 where it is not known.' })),
  },
  { title: 'LocationB', description: 'A place. A member that is 0 may be left out.' },
)

const LoraModulation = Type.Object(
  {
    bandwidth: Type.Integer({ description: 'Hz.' }),
    spreadingFactor: Type.Integer({ description: 'From 5 to 12.' }),
    codeRate: Type.Optional(Type.String({ description: 'The code rate, like `CR_4_5`.' })),
    polarizationInversion: Type.Optional(Type.Boolean({ description: 'True for a downlink.' })),
  },
  { title: 'LoraModulationB', description: 'LoRa modulation.' },
)

const Modulation = Type.Object(
  { lora: Type.Optional(LoraModulation) },
  { title: 'ModulationB', description: 'The modulation of a frame. `lora` is missing for FSK and LR-FHSS.' },
)

const Reception = Type.Object(
  {
    gatewayId: Type.String({
      description: 'The gateway’s id: 16 hexadecimal digits, or its name in The Things Stack.',
    }),
    uplinkId: Type.Optional(
      Type.Integer({ minimum: 0, maximum: MAXIMUM_32_BITS, description: 'Id of the reception.' }),
    ),
    gwTime: Type.Optional(time('When the gateway heard the uplink, if the gateway knows the time.')),
    nsTime: Type.Optional(time('When the network server received the uplink.')),
    timeSinceGpsEpoch: Type.Optional(
      Type.String({ description: 'Seconds since the GPS epoch, such as `1479383329.720s`.' }),
    ),
    rssi: Type.Optional(Type.Number({ description: 'dBm.' })),
    snr: Type.Optional(Type.Number({ description: 'dB. Left out where it is 0.' })),
    channel: Type.Optional(Type.Integer({ description: 'Index of the channel. Left out where it is 0.' })),
    location: Type.Optional(Location),
    context: Type.Optional(base64('The network server’s own.')),
    metadata: Type.Optional(texts('Further facts of the gateway.')),
    crcStatus: Type.Optional(Type.String({ description: 'The result of the check sum, like `CRC_OK`.' })),
  },
  { title: 'UplinkReceptionB', description: 'The reception of an uplink by one gateway.' },
)

const UplinkTransmission = Type.Object(
  { frequency: Type.Integer({ description: 'Hz.' }), modulation: Type.Optional(Modulation) },
  { title: 'UplinkTransmissionB', description: 'How the device has sent the uplink.' },
)

const DownlinkTransmission = Type.Object(
  {
    frequency: Type.Integer({ description: 'Hz.' }),
    power: Type.Optional(Type.Integer({ description: 'dBm.' })),
    modulation: Type.Optional(Modulation),
  },
  { title: 'DownlinkTransmissionB', description: 'How a gateway has sent the downlink.' },
)

const up = Type.Object(
  {
    ...common,
    devAddr: devAddrText(),
    adr: Type.Optional(Type.Boolean({ description: 'True if the device lets the network choose its data rate.' })),
    dr: Type.Optional(dataRate()),
    fCnt: frameCounter('The uplink’s frame counter.'),
    fPort: uplinkPort(),
    confirmed: Type.Boolean({ description: 'True if the device asked for an acknowledgement.' }),
    data: base64('The decrypted payload; empty for an uplink without a payload.'),
    object: Type.Optional(decodedObject()),
    normalized: Type.Optional(measurements()),
    rxInfo: Type.Array(Reception, { description: 'One for each gateway.' }),
    txInfo: UplinkTransmission,
    regionConfigId,
  },
  { title: 'UpEventB', description: 'A device has sent data.' },
)

const join = Type.Object(
  { ...common, devAddr: devAddrText(), regionConfigId },
  { title: 'JoinEventB', description: 'A device has joined the network.' },
)

const queueItemId = Type.String({
  description: 'The network server’s id of the downlink; empty for a downlink that another program enqueued.',
})

const ack = Type.Object(
  {
    commandId: commandId(),
    ...common,
    queueItemId,
    acknowledged: Type.Boolean({ description: 'True if the device has acknowledged the confirmed downlink.' }),
    fCntDown: frameCounter('The downlink’s frame counter.'),
  },
  { title: 'AckEventB', description: 'A device has acknowledged a confirmed downlink, or has not.' },
)

const txack = Type.Object(
  {
    commandId: commandId(),
    deduplicationId: optionalDeduplicationId,
    downlinkId: Type.Optional(Type.Integer({ minimum: 0, maximum: MAXIMUM_32_BITS, description: 'Id of the frame.' })),
    ...about,
    queueItemId,
    fCntDown: frameCounter('The downlink’s frame counter.'),
    gatewayId: Type.Optional(Type.String({ description: 'The gateway that has sent the downlink.' })),
    txInfo: Type.Optional(DownlinkTransmission),
  },
  { title: 'TxackEventB', description: 'A gateway has sent a downlink.' },
)

const fault = {
  commandId: commandId(),
  deduplicationId: optionalDeduplicationId,
  ...about,
  level: word(['INFO', 'WARNING', 'ERROR'], 'How grave it is.'),
  code: Type.String({
    description:
      'A code of the network server (such as `UPLINK_CODEC`), or, of a command, the stable code of the page “Errors”.',
    examples: ['UPLINK_CODEC', 'DOWNLINK_PAYLOAD_SIZE', 'DOWNLINK_GATEWAY', 'OTAA', 'EXPIRED', 'command_out_of_range'],
  }),
  description: Type.String({ description: 'A sentence for people.' }),
  context: texts('Further facts.'),
  member: Type.Optional(Type.String({ description: 'Of a command: the member at fault; empty for the whole.' })),
}

const error = Type.Object(fault, {
  title: 'ErrorEventB',
  description: 'A fault of a command, or a copy of a `log` event of the level ERROR.',
})

const log = Type.Object(fault, {
  title: 'LogEventB',
  description:
    'The network server tells of a fault or of an event of a device. The level ERROR comes on `error` as well.',
})

const status = Type.Object(
  {
    ...common,
    margin: Type.Integer({
      description: 'Demodulation margin of the last status request, dB.',
      minimum: -32,
      maximum: 31,
    }),
    externalPowerSource: Type.Boolean({ description: 'True if the device has external power.' }),
    batteryLevelUnavailable: Type.Boolean({ description: 'True if the device can’t measure its battery.' }),
    batteryLevel: Type.Number({
      description: 'Percent. 0 where it is not known, and with external power.',
      minimum: 0,
      maximum: 100,
    }),
  },
  { title: 'StatusEventB', description: 'A device has told its battery and its margin.' },
)

const location = Type.Object(
  { ...common, location: Location },
  { title: 'LocationEventB', description: 'The place of a device was found.' },
)

const integration = Type.Object(
  {
    ...common,
    integrationName: Type.String({ description: 'Name of the integration.' }),
    eventType: Type.String({ description: 'Kind of the integration’s event.' }),
    object: Type.Optional(Type.Unknown({ description: 'The integration’s result: any value of JSON.' })),
  },
  { title: 'IntegrationEventB', description: 'A result of an integration of the network server itself.' },
)

/** The payload of each kind of event in family B. */
export const FAMILY_B = { up, join, ack, error, status, location, txack, log, integration } as const
