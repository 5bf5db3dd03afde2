/** A sample of each event in the shape NORMALIZED, as it is made of the samples of family B. */

const about = {
  deduplicationId: '20286b86-4352-454d-9cab-0a551ca1538c',
  time: '2026-01-31T08:00:04.482+00:00',
  applicationId: 'f947ded9-4b5f-401d-8a71-dc00fd4a17b0',
  applicationName: 'meters',
  devEui: '0102030405060708',
  deviceName: 'Meter 1',
  deviceProfileId: 'd1566fc2-586e-411f-b32d-c3dbbb6e77ce',
  deviceProfileName: 'meter',
  tenantId: '616d55d9-5968-496e-b9dc-cf728d80e6d4',
  tenantName: 'Valley',
  deviceClass: 'CLASS_A',
  tags: { valley: 'north' },
} as const

const shape = 'NORMALIZED'
const queueItemId = '86765552-d838-41d1-af94-b3b1d89c5ec4'
const lora = { bandwidth: 125_000, spreadingFactor: 7, codeRate: 'CR_4_5' } as const

/** By kind of event. */
export const SAMPLES_NORMALIZED = {
  up: {
    shape,
    ...about,
    kind: 'up',
    devAddr: '007e75ce',
    adr: true,
    confirmed: false,
    fCnt: 118,
    fPort: 2,
    data: 'AWcA+gFoQA==',
    object: { temperatureSensor: { 1: 25 }, humiditySensor: { 1: 32 } },
    normalized: [{ air: { temperature: 25, relativeHumidity: 32 } }],
    rxInfo: [
      {
        gatewayId: '0102030405060799',
        gatewayName: '',
        uplinkId: '00000000-0000-0000-0000-000041163c04',
        time: '2026-01-31T08:00:04.482+00:00',
        rssi: -60,
        snr: 9.5,
        channel: 2,
        location: { latitude: 47.1, longitude: 8.2, altitude: 400 },
      },
    ],
    txInfo: { frequency: 868_500_000, dr: 5, ...lora },
  },
  join: { shape, ...about, kind: 'join', devAddr: '0018b8e0' },
  ack: { shape, commandId: 'valve-7', ...about, kind: 'ack', queueItemId, acknowledged: true, fCnt: 3 },
  error: {
    shape,
    ...about,
    kind: 'error',
    level: 'ERROR',
    code: 'UPLINK_CODEC',
    message: 'the script must give an object',
    context: { deduplication_id: about.deduplicationId },
  },
  status: {
    shape,
    ...about,
    kind: 'status',
    margin: 10,
    externalPowerSource: false,
    batteryLevelUnavailable: false,
    batteryLevel: 78.74016,
  },
  location: {
    shape,
    ...about,
    kind: 'location',
    location: { latitude: 47.1, longitude: 8.2, altitude: 400, source: 'GEO_RESOLVER_TDOA' },
  },
  txack: {
    shape,
    commandId: 'valve-7',
    ...about,
    deduplicationId: 'b53b55d3-6f1e-8f0b-855f-eecad4821e95',
    kind: 'txack',
    queueItemId,
    fCnt: 3,
    gatewayId: '0102030405060799',
    txInfo: { frequency: 868_500_000, ...lora, power: 16 },
  },
  log: {
    shape,
    ...about,
    deduplicationId: '6390d877-ab68-48e9-80a4-132f641306b6',
    kind: 'log',
    level: 'WARNING',
    code: 'UPLINK_F_CNT_RETRANSMISSION',
    message: 'Uplink was flagged as re-transmission / frame-counter did not increment',
    fCnt: 118,
    context: { deduplication_id: '6390d877-ab68-48e9-80a4-132f641306b6', f_cnt_up: '118' },
  },
  integration: {
    shape,
    ...about,
    kind: 'integration',
    integrationName: 'loracloud',
    eventType: 'geolocation',
    object: { accuracy: 20 },
  },
} as const
