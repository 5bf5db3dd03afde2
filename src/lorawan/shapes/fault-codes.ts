/** The words for faults in both families: `type` in family A, `code` in family B. */
import type { ErrorType } from '../events.ts'

/** ChirpStack v4's codes, by the types of ChirpStack v3. */
const CODE_OF_TYPE: Readonly<Record<ErrorType, string>> = {
  UNKNOWN: 'UNKNOWN',
  DOWNLINK_PAYLOAD_SIZE: 'DOWNLINK_PAYLOAD_SIZE',
  DOWNLINK_FCNT: 'F_CNT_DOWN',
  UPLINK_CODEC: 'UPLINK_CODEC',
  DOWNLINK_CODEC: 'DOWNLINK_CODEC',
  OTAA: 'OTAA',
  UPLINK_FCNT_RESET: 'UPLINK_F_CNT_RESET',
  UPLINK_MIC: 'UPLINK_MIC',
  UPLINK_FCNT_RETRANSMISSION: 'UPLINK_F_CNT_RETRANSMISSION',
  DOWNLINK_GATEWAY: 'DOWNLINK_GATEWAY',
}

const TYPE_OF_CODE: ReadonlyMap<string, string> = new Map(
  Object.entries(CODE_OF_TYPE).map(([type, code]) => [code, type]),
)

/** The code of a type; a type of a later version stays as it is. */
export function codeOfType(type: string): string {
  return Object.hasOwn(CODE_OF_TYPE, type) ? CODE_OF_TYPE[type as ErrorType] : type
}

/** Undefined for a code for which family A has no type, such as that of a command's fault. */
export function typeOfCode(code: string): string | undefined {
  return TYPE_OF_CODE.get(code)
}
