/** What an empty decoder begins with. */
export const DECODER_TEMPLATE = `function decodeUplink({ bytes, fPort }) {
  return {
    data: {
      temperature: ((bytes[0] << 8) | bytes[1]) / 10,
    },
  }
}
`

/** What an empty encoder begins with. */
export const ENCODER_TEMPLATE = `function encodeDownlink({ data }) {
  return {
    fPort: 10,
    bytes: [data.open ? 1 : 0],
  }
}
`
