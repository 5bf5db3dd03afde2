/** A gateway's answers to the downlinks that it is told to send. */
import type { DownlinkCommand, TxAckStatus } from './gateway-messages.ts'

/**
 * Gives a status for each item of a command; the first item that is OK is sent. Undefined: the
 * gateway neither sends nor answers. `leftMs` is the time left for each item; Infinity: it is sent
 * at once.
 */
export type TransmitPolicy = (command: DownlinkCommand, leftMs: readonly number[]) => readonly TxAckStatus[] | undefined

/** Sends the first item however late it is, so that a slow machine loses nothing. */
export const sendFirst: TransmitPolicy = ({ items }) => items.map((_item, place) => (place === 0 ? 'OK' : 'IGNORED'))

/** Sends the first item whose time has not passed, as a real gateway does. */
export const keepTime: TransmitPolicy = ({ items }, leftMs) => {
  const first = leftMs.findIndex((left) => left > 0)
  return items.map((_item, place) => {
    if (place === first) return 'OK'
    return first === -1 || place < first ? 'TOO_LATE' : 'IGNORED'
  })
}

/** The gateway is connected, and neither sends nor answers. */
export const saySilence: TransmitPolicy = () => undefined

/** The gateway sends nothing and answers with this reason. */
export function refuseAll(status: TxAckStatus): TransmitPolicy {
  return ({ items }) => items.map(() => status)
}
