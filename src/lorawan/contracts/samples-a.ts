/** A sample of each event of family A, as a ChirpStack v3.17 has sent it. */

const device = {
  applicationID: '5',
  applicationName: 'meters',
  deviceName: 'Meter 1',
  devEUI: '0102030405060708',
} as const

const tags = { valley: 'north' } as const

const rxInfo = [
  {
    gatewayID: '0102030405060799',
    uplinkID: '00000000-0000-0000-0000-000060a04d3b',
    name: 'North hill',
    time: '2026-01-31T08:00:04.482Z',
    rssi: -60,
    loRaSNR: 9.5,
    location: { latitude: 47.1, longitude: 8.2, altitude: 400 },
  },
] as const

const txInfo = { frequency: 868_500_000, dr: 5 } as const

/** By kind of event. */
export const SAMPLES_A = {
  up: {
    ...device,
    deviceProfileName: 'meter',
    deviceProfileID: '3bebb397-ab0d-4516-82ab-40752597fa6f',
    rxInfo,
    txInfo,
    adr: true,
    fCnt: 118,
    fPort: 2,
    data: 'AWcA+gFoQA==',
    object: { temperatureSensor: { 1: 25 }, humiditySensor: { 1: 32 } },
    tags,
  },
  join: { ...device, devAddr: '0079aa68', rxInfo, txInfo, tags },
  ack: { commandId: 'valve-7', ...device, acknowledged: true, fCnt: 3, tags },
  error: {
    ...device,
    tags,
    type: 'UNKNOWN',
    error: 'fPort: 300 is above 255',
    fCnt: 0,
    commandId: 'valve-7',
    code: 'command_out_of_range',
    member: 'fPort',
    level: 'ERROR',
  },
  status: {
    ...device,
    margin: 10,
    externalPowerSource: false,
    batteryLevel: 78.74,
    batteryLevelUnavailable: false,
    tags,
  },
  location: { ...device, location: { latitude: 47.1, longitude: 8.2, altitude: 400 }, tags },
  txack: { commandId: 'valve-7', ...device, fCnt: 3, tags },
  integration: { ...device, object: { service: 'geolocation' }, tags },
} as const
