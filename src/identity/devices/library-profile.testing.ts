import type { LibraryProfileFields } from './library-profile.ts'

/** A decoder for tests: the first byte is the object's only member. */
const FIRST_BYTE = 'function decodeUplink(input) { return { data: { a: input.bytes[0] } } }'

/** A profile of the library, with one example that holds. */
export const LIBRARY_PROFILE: LibraryProfileFields = {
  vendor: 'Maker',
  model: 'Meter 1',
  firmwareVersion: '1.0',
  description: 'A water meter',
  regions: [
    { region: 'EU868', deviceClass: 'A' },
    { region: 'US915', deviceClass: 'C' },
  ],
  fPortRules: [],
  payloadCodec: 'CUSTOM_JS',
  payloadDecoderScript: FIRST_BYTE,
  payloadEncoderScript: FIRST_BYTE,
  testVectors: [{ name: 'five', fPort: 1, bytes: '05', expected: { data: { a: 5 } } }],
  source: { name: 'Collection', licence: 'MIT', url: 'https://maker.example/meter', version: 'abc' },
}
