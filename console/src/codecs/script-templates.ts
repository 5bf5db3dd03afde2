/**
 * The scripts that an empty codec can begin with: the two signatures that makers of devices use.
 */

/** A decoder and an encoder of the same signature. */
export interface Template {
  readonly id: string
  readonly label: string
  readonly decoder: string
  readonly encoder: string
}

export const TEMPLATES: readonly [Template, Template] = [
  {
    id: 'ts013',
    label: 'decodeUplink, encodeDownlink (LoRa Alliance TS013)',
    decoder: `// input: bytes, fPort, recvTime, variables
function decodeUplink(input) {
  const [high, low] = input.bytes
  if (low === undefined) {
    return { errors: ['two bytes are needed'] }
  }
  const raw = (high << 8) | low
  const signed = raw > 0x7fff ? raw - 0x10000 : raw
  return { data: { temperature: signed / 10 } }
}
`,
    encoder: `// input: data, variables
function encodeDownlink(input) {
  return { fPort: 10, bytes: [input.data.open ? 1 : 0] }
}

// input: bytes, fPort
function decodeDownlink(input) {
  return { data: { open: input.bytes[0] === 1 } }
}
`,
  },
  {
    id: 'classic',
    label: 'Decode, Encode (ChirpStack v3)',
    decoder: `function Decode(fPort, bytes, variables) {
  const raw = (bytes[0] << 8) | bytes[1]
  const signed = raw > 0x7fff ? raw - 0x10000 : raw
  return { temperature: signed / 10 }
}
`,
    encoder: `function Encode(fPort, obj, variables) {
  return [obj.open ? 1 : 0]
}
`,
  },
]
