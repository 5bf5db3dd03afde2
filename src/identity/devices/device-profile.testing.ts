import type { DeviceProfileFields } from './device-profile.ts'

/** The fields of a profile that says nothing but its name. */
export const NO_PROFILE: DeviceProfileFields = {
  name: 'Meter',
  description: '',
  vendor: '',
  model: '',
  firmwareVersion: '',
  region: '',
  deviceClass: '',
  payloadCodec: '',
  payloadDecoderScript: '',
  payloadEncoderScript: '',
  expectedIntervalSeconds: 0,
  batteryLimitPercent: null,
  marginLimitDb: null,
  tags: {},
  variables: {},
  fPortRules: [],
  testVectors: [],
  source: null,
  library: null,
}
