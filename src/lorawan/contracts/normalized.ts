/**
 * The events of the shape NORMALIZED, into which the service brings the events of an application on
 * wish: one spelling for all network servers. Ids are texts, and all counters are `fCnt`.
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
  texts,
  time,
  uplinkPort,
} from './schema-words.ts'

const percent = (description: string) => Type.Optional(Type.Number({ description, minimum: 0, maximum: 100 }))
const ppm = (description: string) => Type.Optional(Type.Number({ description, minimum: 0, maximum: 1_000_000 }))
const celsius = (description: string) => Type.Optional(Type.Number({ description, minimum: -273.15 }))
const positive = (description: string) => Type.Optional(Type.Number({ description, minimum: 0 }))

/**
 * The measurements of The Things Stack's normalized payload. Its schema is `lib/payload.json` of
 * TheThingsNetwork/lorawan-devices.
 */
const Measurement = Type.Object(
  {
    time: Type.Optional(time('When it was measured; otherwise the time of the event.')),
    soil: Type.Optional(
      Type.Object(
        {
          depth: positive('Depth below the surface, cm.'),
          moisture: percent('Percent.'),
          temperature: celsius('Degrees Celsius.'),
          ec: positive('Electrical conductivity, dS/m.'),
          pH: Type.Optional(Type.Number({ description: 'The pH value.', minimum: 0, maximum: 14 })),
          n: ppm('Nitrogen, ppm.'),
          p: ppm('Phosphorus, ppm.'),
          k: ppm('Potassium, ppm.'),
        },
        { title: 'SoilMeasurement', description: 'Measurements in the soil.' },
      ),
    ),
    air: Type.Optional(
      Type.Object(
        {
          temperature: celsius('Degrees Celsius.'),
          relativeHumidity: percent('Percent.'),
          pressure: positive('Atmospheric pressure, hPa.'),
          co2: ppm('Carbon dioxide, ppm.'),
          lightIntensity: positive('Lux.'),
        },
        { title: 'AirMeasurement', description: 'Measurements in the air.' },
      ),
    ),
    wind: Type.Optional(
      Type.Object(
        {
          speed: positive('Metres in a second.'),
          direction: Type.Optional(Type.Number({ description: 'Degrees.', minimum: 0, exclusiveMaximum: 360 })),
        },
        { title: 'WindMeasurement', description: 'Measurements of the wind.' },
      ),
    ),
  },
  { title: 'Measurement', description: 'One measurement, in the units of The Things Stack’s normalized payload.' },
)

const Place = Type.Object(
  {
    latitude: Type.Number({ description: 'Degrees in WGS 84.' }),
    longitude: Type.Number({ description: 'Degrees in WGS 84.' }),
    altitude: Type.Number({ description: 'Metres.' }),
    source: Type.Optional(Type.String({ description: 'How the place was found, such as `GPS`.' })),
    accuracy: Type.Optional(Type.Number({ description: 'Metres; 0 where it is not known.' })),
  },
  { title: 'NormalizedPlace', description: 'A place.' },
)

const Reception = Type.Object(
  {
    gatewayId: Type.String({ description: 'The gateway’s EUI in lower case, or its name in The Things Stack.' }),
    gatewayName: Type.String({ description: 'The gateway’s name; empty where it is not known.' }),
    uplinkId: Type.Optional(Type.String({ description: 'A UUID of the reception.' })),
    time: Type.Optional(time('When the gateway heard the uplink, if the gateway knows the time.')),
    rssi: Type.Number({ description: 'dBm.' }),
    snr: Type.Number({ description: 'dB.' }),
    channel: Type.Optional(Type.Integer({ description: 'Index of the channel.' })),
    location: Type.Optional(Place),
  },
  { title: 'NormalizedReception', description: 'The reception of an uplink by one gateway.' },
)

const Transmission = Type.Object(
  {
    frequency: Type.Integer({ description: 'Hz.' }),
    dr: Type.Optional(dataRate()),
    bandwidth: Type.Optional(Type.Integer({ description: 'Hz.' })),
    spreadingFactor: Type.Optional(Type.Integer({ description: 'From 5 to 12.' })),
    codeRate: Type.Optional(Type.String({ description: 'The code rate, like `CR_4_5`.' })),
    power: Type.Optional(Type.Number({ description: 'dBm.' })),
  },
  { title: 'NormalizedTransmission', description: 'How a frame was sent.' },
)

const maybeAddress = Type.Optional(devAddrText())
const queueItemId = Type.String({ description: 'The network server’s id of the downlink; empty where it tells none.' })

function event<Kind extends string, Members extends object>(
  kind: Kind,
  members: Members,
  title: string,
  description: string,
) {
  return Type.Object(
    {
      shape: Type.Literal('NORMALIZED', { description: 'Only events of this shape have the member.' }),
      kind: Type.Literal(kind, { description: 'The kind of the event, as in its topic.' }),
      commandId: commandId(),
      deduplicationId: Type.String({ description: 'A UUID: the same when the event comes again.', format: 'uuid' }),
      time: time('When it happened; if the network server tells no time, when the event came in.'),
      applicationId: applicationIdText('The application’s id, as in the topic. Never read it as a number.'),
      applicationName: Type.String({ description: 'The application’s name in the network server.' }),
      devEui: devEuiText(),
      deviceName: Type.String({ description: 'The device’s name in the network server.' }),
      deviceProfileId: Type.String({ description: 'Id of the device profile; empty where it is not known.' }),
      deviceProfileName: Type.String({ description: 'Name of the device profile; empty where it is not known.' }),
      tenantId: Type.String({ description: 'The tenant’s id in the network server; empty where it is not known.' }),
      tenantName: Type.String({ description: 'The tenant’s name in the network server; empty where it is not known.' }),
      deviceClass: Type.Optional(Type.String({ description: 'CLASS_A, CLASS_B or CLASS_C, where it is known.' })),
      tags: texts('The device’s tags.'),
      ...members,
    },
    { title, description },
  )
}

const fault = {
  level: Type.String({ description: 'INFO, WARNING or ERROR.' }),
  code: Type.String({
    description: 'A code of ChirpStack v4, or, of a command, the stable code of the page “Errors”.',
  }),
  message: Type.String({ description: 'A sentence for people.' }),
  fCnt: Type.Optional(frameCounter('The counter of the frame at fault, where it is known.')),
  member: Type.Optional(Type.String({ description: 'Of a command: the member at fault; empty for the whole.' })),
  context: texts('Further facts.'),
}

/** The payload of each kind of event in the shape NORMALIZED. */
export const NORMALIZED = {
  up: event(
    'up',
    {
      devAddr: maybeAddress,
      adr: Type.Optional(Type.Boolean({ description: 'True if the device lets the network choose its data rate.' })),
      confirmed: Type.Optional(Type.Boolean({ description: 'True if the device asked for an acknowledgement.' })),
      fCnt: frameCounter('The uplink’s frame counter.'),
      fPort: uplinkPort(),
      data: base64('The decrypted payload; empty for an uplink without a payload.'),
      object: Type.Optional(decodedObject()),
      normalized: Type.Optional(
        Type.Array(Measurement, { description: 'The measurements, where a payload codec gives them.' }),
      ),
      rxInfo: Type.Array(Reception, { description: 'One for each gateway.' }),
      txInfo: Transmission,
    },
    'NormalizedUpEvent',
    'A device has sent data.',
  ),
  join: event(
    'join',
    {
      devAddr: maybeAddress,
      rxInfo: Type.Optional(Type.Array(Reception, { description: 'One for each gateway, where they are told.' })),
      txInfo: Type.Optional(Transmission),
    },
    'NormalizedJoinEvent',
    'A device has joined the network.',
  ),
  ack: event(
    'ack',
    {
      queueItemId,
      acknowledged: Type.Boolean({ description: 'True if the device has acknowledged the confirmed downlink.' }),
      fCnt: frameCounter('The downlink’s frame counter.'),
    },
    'NormalizedAckEvent',
    'A device has acknowledged a confirmed downlink, or has not.',
  ),
  error: event('error', fault, 'NormalizedErrorEvent', 'A fault of a device, of a frame, of a codec or of a command.'),
  status: event(
    'status',
    {
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
    'NormalizedStatusEvent',
    'A device has told its battery and its margin.',
  ),
  location: event('location', { location: Place }, 'NormalizedLocationEvent', 'The place of a device was found.'),
  txack: event(
    'txack',
    {
      queueItemId,
      fCnt: frameCounter('The downlink’s frame counter.'),
      gatewayId: Type.Optional(Type.String({ description: 'The gateway that has sent the downlink.' })),
      txInfo: Type.Optional(Transmission),
    },
    'NormalizedTxackEvent',
    'A gateway has sent a downlink.',
  ),
  log: event('log', fault, 'NormalizedLogEvent', 'The network server tells of a fault or of an event of a device.'),
  integration: event(
    'integration',
    {
      integrationName: Type.String({ description: 'Name of the integration; empty where it is not known.' }),
      eventType: Type.String({ description: 'Kind of the integration’s event; empty where it is not known.' }),
      object: Type.Optional(Type.Unknown({ description: 'The integration’s result: any value of JSON.' })),
    },
    'NormalizedIntegrationEvent',
    'A result of an integration of the network server itself.',
  ),
} as const
