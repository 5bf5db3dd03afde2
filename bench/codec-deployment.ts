/**
 * The applications for the figures of commands and codecs: the codec of each, and the places of
 * their devices in the deployment.
 */
import { DEVICES_OF_AN_APPLICATION, devEuiOf, ORGANIZATIONS } from './deployment.ts'
import type { Deployment, PlannedApplication } from './deployment.ts'

/** A decoder in the usual form of sensor makers: channel, type, value. */
export const DECODER_SCRIPT = `
function decodeUplink(input) { return { data: decode(input.bytes) }; }
function decode(bytes) {
  var decoded = {};
  for (var i = 0; i < bytes.length; ) {
    var channel = bytes[i++], type = bytes[i++];
    if (channel === 0x01 && type === 0x75) { decoded.battery = bytes[i]; i += 1; }
    else if (channel === 0x03 && type === 0x67) { decoded.temperature = readInt16LE(bytes.slice(i, i + 2)) / 10; i += 2; }
    else if (channel === 0x04 && type === 0x68) { decoded.humidity = bytes[i] / 2; i += 1; }
    else break;
  }
  return decoded;
}
function readInt16LE(bytes) { var ref = (bytes[1] << 8) + bytes[0]; return ref > 0x7fff ? ref - 0x10000 : ref; }
`

/**
 * Each organization has ten applications with Cayenne LPP, ten without a codec, and one with a
 * script.
 */
const EACH = 10

/** The applications of each organization, in the order of `applicationIds`. */
export const CODEC_APPLICATIONS: readonly PlannedApplication[] = [
  ...Array.from({ length: EACH }, (_, index) => planned(`valves-${index}`, 'CAYENNE_LPP')),
  ...Array.from({ length: EACH }, (_, index) => planned(`meters-${index}`, '')),
  { ...planned('sensors', 'CUSTOM_JS'), payloadDecoderScript: DECODER_SCRIPT },
]

/** A device of the deployment, with its application and organization. */
export interface PlannedDevice {
  readonly organization: number
  readonly applicationId: string
  readonly devEui: string
}

/**
 * All devices of applications with this codec. Neighbours in the list belong to different
 * organizations.
 */
export function devicesWith(codec: PlannedApplication['payloadCodec'], deployment: Deployment): PlannedDevice[] {
  const devices: PlannedDevice[] = []
  for (let device = 0; device < DEVICES_OF_AN_APPLICATION; device += 1) {
    for (const [number, { payloadCodec }] of CODEC_APPLICATIONS.entries()) {
      if (payloadCodec !== codec) continue
      for (let organization = 0; organization < ORGANIZATIONS; organization += 1) {
        const application = organization * CODEC_APPLICATIONS.length + number
        const applicationId = deployment.applicationIds[application] as string
        devices.push({ organization, applicationId, devEui: devEuiOf(application, device) })
      }
    }
  }
  return devices
}

function planned(name: string, payloadCodec: PlannedApplication['payloadCodec']): PlannedApplication {
  return { name, payloadCodec, payloadDecoderScript: '' }
}
