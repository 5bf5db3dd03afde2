/** Small collections in the three layouts, for tests. Each file is named by its path. */

/** The files of a collection. */
export type Files = Readonly<Record<string, string>>

/** Doubles the first byte; a command has one byte, on port 7. */
const SCRIPT = `function decodeUplink({ bytes, fPort }) {
  if (bytes.length === 0) return { errors: ['no bytes'] }
  return { data: { level: bytes[0] * 2, fPort } }
}
function encodeDownlink({ data }) { return { bytes: [data.level / 2], fPort: 7 } }
`

/** The layout of ChirpStack's device profiles, with a LICENSE. */
export const chirpStackFiles: Files = {
  LICENSE: '\nThe Licence of Tests\n\nMore of it.',
  'vendors/pond/vendor.toml': '[vendor]\nname = "Pond"\ndevices = ["frog.toml", "gone.toml"]\n',
  'vendors/pond/devices/frog.toml': `[device]
name = "Frog"
description = "Level of a pond"
[[device.firmware]]
version = "1.2"
profiles = ["EU868.toml", "US915.toml"]
codec = "frog.js"
[[device.firmware]]
version = "2.0"
profiles = ["EU868.toml"]
[device.metadata]
product_url = "https://pond.example/frog"
`,
  'vendors/pond/profiles/EU868.toml':
    '[profile]\nregion = "EU868"\nsupports_class_b = false\nsupports_class_c = true\n',
  'vendors/pond/profiles/US915.toml':
    '[profile]\nregion = "US915"\nsupports_class_b = true\nsupports_class_c = false\n',
  'vendors/pond/codecs/frog.js': SCRIPT,
  'vendors/pond/codecs/test_decode_frog.json': `[
\t{ name: "full", input: { bytes: [0x10, /* half */ 2], fPort: 3, recvTime: "2026-01-02T03:04:05Z" }, // port 3
\t  expected: { data: { level: 32, fPort: 3 } } },
\t{ "name": "empty: // no comment", "input": { "bytes": [], "fPort": 3 }, "expected": { "errors": ["no bytes"] } },
\t{ "name": "without bytes", "input": {}, "expected": { "data": {} } },
]`,
  'vendors/pond/codecs/test_encode_frog.json':
    '[{ "name": "up", "input": { "data": { "level": 8 } }, "expected": { "bytes": [4], "fPort": 7 } }]',
}

/** The layout of a device repository. */
export const deviceRepositoryFiles: Files = {
  'vendor/index.yaml': 'vendors:\n  - id: pond\n    name: Pond Inc.\n',
  'vendor/pond/index.yaml': 'endDevices: [frog, broken]\n',
  'vendor/pond/frog.yaml': `name: Frog
description: Level of a pond
productURL: https://pond.example/frog
firmwareVersions:
  - version: 1.5
    profiles:
      EU863-870: { id: eu, codec: frog-codec }
      US902-928: { id: us, codec: frog-codec }
      AS923: { id: us }
`,
  'vendor/pond/broken.yaml': 'name: [Frog\n',
  'vendor/pond/eu.yaml': 'supportsClassC: true\n',
  'vendor/pond/us.yaml': 'supportsClassB: false\n',
  'vendor/pond/frog-codec.yaml': `uplinkDecoder:
  fileName: frog.js
  examples:
    - description: full
      input: { fPort: 3, bytes: [0x10] }
      output: { data: { level: 32, fPort: 3 } }
    - description: wrong
      input: { fPort: 3, bytes: [1] }
      output: { data: { level: 3, fPort: 3 } }
downlinkEncoder:
  fileName: frog.js
  examples:
    - description: up
      input: { data: { level: 8 } }
      output: { bytes: [4], fPort: 7 }
`,
  'vendor/pond/frog.js': SCRIPT,
}

/** The layout of Actility's catalogue. The driver is another vendor's. */
export const actilityFiles: Files = {
  'vendors/pond/vendor.yaml': 'id: pond\nname: Pond SA\n',
  'vendors/pond/models/frog/model.yaml': `name: Frog
description: Level of a pond
product: { name: POND/FROG, version: 3 }
deviceProfileIds: [{ id: POND/A }]
protocolId: [pond:none:1, lake:frog:1]
`,
  'vendors/pond/models/stone/model.yaml': 'name: Stone\nprotocolId: pond:none:1\n',
  'vendors/pond/profiles/POND-A.yaml': 'id: POND/A\nloRaWANClass: C\nISMbands: eu868, ru864\n',
  'vendors/lake/drivers/frog/driver.yaml': 'name: frog\nprotocolId: lake:frog:1\n',
  'vendors/lake/drivers/frog/package.json': '{ "main": "./start.js" }',
  'vendors/lake/drivers/frog/start.js': SCRIPT,
  'vendors/lake/drivers/frog/examples.json': `[
  { "type": "uplink", "description": "full", "input": { "bytes": "10 02", "fPort": 3 }, "output": { "data": { "level": 32, "fPort": 3 } } },
  { "type": "uplink", "description": "older", "bytes": "10", "fPort": 3, "data": { "level": 32, "fPort": 3 } },
  { "type": "downlink-encode", "description": "up", "input": { "data": { "level": 8 } }, "output": { "bytes": "04", "fPort": 7 } },
  { "type": "downlink-decode", "description": "down", "input": { "bytes": "04" }, "output": { "data": {} } }
]`,
}
