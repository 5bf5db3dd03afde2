/** A sample of each event of family B, as a ChirpStack v4.19 has sent it. */

const deviceInfo = {
  tenantId: '616d55d9-5968-496e-b9dc-cf728d80e6d4',
  tenantName: 'Valley',
  applicationId: 'f947ded9-4b5f-401d-8a71-dc00fd4a17b0',
  applicationName: 'meters',
  deviceProfileId: 'd1566fc2-586e-411f-b32d-c3dbbb6e77ce',
  deviceProfileName: 'meter',
  deviceName: 'Meter 1',
  devEui: '0102030405060708',
  deviceClassEnabled: 'CLASS_A',
  tags: { valley: 'north' },
} as const

const about = { time: '2026-01-31T08:00:04.482+00:00', deviceInfo } as const

const common = { deduplicationId: '20286b86-4352-454d-9cab-0a551ca1538c', ...about } as const

const lora = { bandwidth: 125_000, spreadingFactor: 7, codeRate: 'CR_4_5' } as const

const codecFault = {
  ...about,
  level: 'ERROR',
  code: 'UPLINK_CODEC',
  description: 'the script must give an object',
  context: { deduplication_id: common.deduplicationId },
} as const

/** By kind of event. */
export const SAMPLES_B = {
  up: {
    ...common,
    devAddr: '007e75ce',
    adr: true,
    dr: 5,
    fCnt: 118,
    fPort: 2,
    confirmed: false,
    data: 'AWcA+gFoQA==',
    object: { temperatureSensor: { 1: 25 }, humiditySensor: { 1: 32 } },
    rxInfo: [
      {
        gatewayId: '0102030405060799',
        uplinkId: 1_091_976_196,
        gwTime: '2026-01-31T08:00:04.482+00:00',
        nsTime: '2026-01-31T08:00:04.484531865+00:00',
        timeSinceGpsEpoch: '1453881622.482s',
        rssi: -60,
        snr: 9.5,
        channel: 2,
        location: { latitude: 47.1, longitude: 8.2, altitude: 400 },
        context: 'QRY8BA==',
        crcStatus: 'CRC_OK',
      },
    ],
    txInfo: { frequency: 868_500_000, modulation: { lora } },
    regionConfigId: 'eu868',
  },
  join: { ...common, devAddr: '0018b8e0', regionConfigId: 'eu868' },
  ack: {
    commandId: 'valve-7',
    ...common,
    queueItemId: '86765552-d838-41d1-af94-b3b1d89c5ec4',
    acknowledged: true,
    fCntDown: 3,
  },
  error: codecFault,
  status: { ...common, margin: 10, externalPowerSource: false, batteryLevelUnavailable: false, batteryLevel: 78.74016 },
  location: { ...common, location: { latitude: 47.1, longitude: 8.2, altitude: 400, source: 'GEO_RESOLVER_TDOA' } },
  txack: {
    commandId: 'valve-7',
    downlinkId: 435_955_867,
    ...about,
    queueItemId: '86765552-d838-41d1-af94-b3b1d89c5ec4',
    fCntDown: 3,
    gatewayId: '0102030405060799',
    txInfo: {
      frequency: 868_500_000,
      power: 16,
      modulation: { lora: { ...lora, polarizationInversion: true } },
      timing: { delay: { delay: '1s' } },
      context: 'QRY78w==',
    },
  },
  log: {
    ...about,
    level: 'WARNING',
    code: 'UPLINK_F_CNT_RETRANSMISSION',
    description: 'Uplink was flagged as re-transmission / frame-counter did not increment',
    context: { deduplication_id: '6390d877-ab68-48e9-80a4-132f641306b6', f_cnt_up: '118' },
  },
  integration: {
    ...common,
    integrationName: 'loracloud',
    eventType: 'geolocation',
    object: { accuracy: 20 },
  },
} as const
