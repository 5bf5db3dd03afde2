/**
 * The events of family A, as ChirpStack v3 writes them: ids and EUIs are `applicationID` and
 * `devEUI`, and a frame counter stands alone. The events of ChirpStack v3.17 are what is promised.
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
  EUI,
  frameCounter,
  orNull,
  texts,
  time,
  uplinkPort,
  word,
} from './schema-words.ts'

const common = {
  applicationID: applicationIdText('The application’s id. Never read it as a number: it may be a UUID.'),
  applicationName: Type.String({ description: 'The application’s name.' }),
  deviceName: Type.String({ description: 'The device’s name.' }),
  devEUI: devEuiText(),
  tags: Type.Optional(texts('The device’s tags. ChirpStack v3 leaves the member out where there are none.')),
}

const Location = Type.Object(
  {
    latitude: Type.Number({ description: 'Degrees in WGS 84.' }),
    longitude: Type.Number({ description: 'Degrees in WGS 84.' }),
    altitude: Type.Number({ description: 'Metres.' }),
  },
  { title: 'LocationA', description: 'A place.' },
)

const Reception = Type.Object(
  {
    gatewayID: Type.String({ description: 'The gateway’s id: 16 hexadecimal digits in lower case.', pattern: EUI }),
    uplinkID: Type.String({ description: 'A UUID.' }),
    name: Type.String({ description: 'The gateway’s name.' }),
    time: Type.Optional(time('When the gateway heard the uplink, if the gateway knows the time.')),
    rssi: Type.Integer({ description: 'dBm.' }),
    loRaSNR: Type.Number({ description: 'dB.' }),
    location: orNull(Location),
  },
  { title: 'UplinkReceptionA', description: 'The reception of an uplink by one gateway.' },
)

const Transmission = Type.Object(
  { frequency: Type.Integer({ description: 'Hz.' }), dr: dataRate() },
  { title: 'TransmissionA', description: 'The channel of a frame.' },
)

const receptions = Type.Optional(
  Type.Array(Reception, { description: 'One for each gateway. Left out where no gateway is told.' }),
)

const up = Type.Object(
  {
    ...common,
    deviceProfileName: Type.String({ description: 'Name of the device profile.' }),
    deviceProfileID: Type.String({ description: 'Id of the device profile.' }),
    rxInfo: receptions,
    txInfo: Transmission,
    adr: Type.Boolean({ description: 'True if the device lets the network choose its data rate.' }),
    fCnt: frameCounter('The uplink’s frame counter.'),
    fPort: uplinkPort(),
    data: orNull(base64('The decrypted payload. Null for an uplink without a payload.')),
    object: Type.Optional(decodedObject()),
  },
  { title: 'UpEventA', description: 'A device has sent data.' },
)

const join = Type.Object(
  { ...common, devAddr: devAddrText(), rxInfo: receptions, txInfo: Transmission },
  { title: 'JoinEventA', description: 'A device has joined the network. Its frame counters begin again.' },
)

const ack = Type.Object(
  {
    commandId: commandId(),
    ...common,
    acknowledged: Type.Boolean({ description: 'True if the device has acknowledged the confirmed downlink.' }),
    fCnt: frameCounter('The downlink’s frame counter.'),
  },
  { title: 'AckEventA', description: 'A device has acknowledged a confirmed downlink, or has not.' },
)

const ERROR_TYPES = [
  'UNKNOWN',
  'DOWNLINK_PAYLOAD_SIZE',
  'DOWNLINK_FCNT',
  'UPLINK_CODEC',
  'DOWNLINK_CODEC',
  'OTAA',
  'UPLINK_FCNT_RESET',
  'UPLINK_MIC',
  'UPLINK_FCNT_RETRANSMISSION',
  'DOWNLINK_GATEWAY',
] as const

const error = Type.Object(
  {
    commandId: commandId(),
    ...common,
    type: word(ERROR_TYPES, 'The kind of fault.'),
    error: Type.String({ description: 'A sentence for people.' }),
    fCnt: Type.Optional(frameCounter('The frame counter of the frame at fault, if there is one and it is not 0.')),
    code: Type.Optional(Type.String({ description: 'Of a command: the stable code of the page “Errors”.' })),
    member: Type.Optional(Type.String({ description: 'Of a command: the member at fault; empty for the whole.' })),
    level: Type.Optional(
      word(['ERROR', 'INFO'], 'Of a command: INFO if somebody has cancelled or replaced the command.'),
    ),
  },
  { title: 'ErrorEventA', description: 'A fault of a device, of a frame, of a codec or of a command.' },
)

const status = Type.Object(
  {
    ...common,
    margin: Type.Integer({
      description: 'Demodulation margin of the last status request, dB.',
      minimum: -32,
      maximum: 31,
    }),
    externalPowerSource: Type.Boolean({ description: 'True if the device has external power.' }),
    batteryLevel: Type.Number({
      description: 'Percent. 0 where it is not known, and with external power.',
      minimum: 0,
      maximum: 100,
    }),
    batteryLevelUnavailable: Type.Boolean({ description: 'True if the device can’t measure its battery.' }),
  },
  { title: 'StatusEventA', description: 'A device has told its battery and its margin.' },
)

const location = Type.Object(
  { ...common, location: Location },
  { title: 'LocationEventA', description: 'The place of a device was found.' },
)

const txack = Type.Object(
  {
    commandId: commandId(),
    ...common,
    fCnt: frameCounter('The downlink’s frame counter.'),
    gatewayID: Type.Optional(Type.String({ description: 'The gateway’s id. ChirpStack v3.17 does not tell it.' })),
    txInfo: Type.Optional(Transmission),
  },
  { title: 'TxackEventA', description: 'A gateway has sent a downlink.' },
)

const integration = Type.Object(
  {
    ...common,
    integrationName: Type.Optional(Type.String({ description: 'Name of the integration.' })),
    eventType: Type.Optional(Type.String({ description: 'Kind of the integration’s event.' })),
    object: Type.Optional(Type.Unknown({ description: 'The integration’s result: any value of JSON.' })),
  },
  { title: 'IntegrationEventA', description: 'A result of an integration of the network server itself.' },
)

/** The payload of each kind of event in family A. */
export const FAMILY_A = { up, join, ack, error, status, location, txack, integration } as const
