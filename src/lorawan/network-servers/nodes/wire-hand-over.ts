/** The hand-over of a downlink to the node that runs its network server, as JSON. */
import type { Downlink, HandOverAnswer } from '../../commands/network-server.ts'

/** The question of a node to the node that runs the network server of this name. */
export interface WireHandOver {
  readonly name: string
  readonly downlink: Omit<Downlink, 'data' | 'doubt'> & {
    readonly data?: string | undefined
    readonly doubt?: { readonly forMs: number; readonly otherIds: string[]; readonly unclaimedIds: readonly string[] }
  }
}

export const HAND_OVER = 'network-servers.hand-over'
export const FLUSH = 'network-servers.flush'

/** The downlink as JSON. */
export function toWire(name: string, { data, doubt, ...downlink }: Downlink): WireHandOver {
  const wire = { ...downlink, data: data?.toString('base64') }
  if (doubt === undefined) return { name, downlink: wire }
  return { name, downlink: { ...wire, doubt: { ...doubt, otherIds: [...doubt.otherIds] } } }
}

/** The downlink as it was at the asking node. */
export function fromWire({ data, doubt, ...downlink }: WireHandOver['downlink']): Downlink {
  return {
    ...downlink,
    data: data === undefined ? undefined : Buffer.from(data, 'base64'),
    doubt: doubt && { ...doubt, otherIds: new Set(doubt.otherIds) },
  }
}

/** The answer of a node to a hand-over. */
export function answerIn(body: Buffer): HandOverAnswer {
  return JSON.parse(body.toString()) as HandOverAnswer
}
