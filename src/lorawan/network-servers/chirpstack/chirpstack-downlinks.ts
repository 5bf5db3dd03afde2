/**
 * Downlinks for ChirpStack v4 by gRPC. Its `Enqueue` makes an id of its own and answers it; the id
 * that comes along is not looked at. So each call makes another downlink: one whose answer got lost
 * is looked for in the device's queue before it is enqueued again.
 */
import grpc from '@grpc/grpc-js'
import type { Clock } from '../../../clock.ts'
import type { Downlink, DownlinkDoubt, HandOverAnswer } from '../../commands/network-server.ts'
import type { ChirpStackApi, ChirpStackQueueItem } from './chirpstack-api.ts'
import { faultOf } from './grpc-fault.ts'
import { Patience } from '../adapter/patience.ts'

type Away = Extract<HandOverAnswer, { readonly outcome: 'away' }>

export interface ChirpStackDownlinksParts {
  readonly api: Pick<
    ChirpStackApi,
    'whenReachable' | 'enqueue' | 'queue' | 'flushQueue' | 'profileOf' | 'hasCodec' | 'seeApplication'
  >
  readonly clock: Pick<Clock, 'steady'>
}

const { status } = grpc

/** What says something about this moment; the call may have been carried out nevertheless. */
const PASSING: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.CANCELLED,
  status.ABORTED,
])

const NOT_FOUND: number = status.NOT_FOUND

/**
 * What says something about the API key; ChirpStack says so of devices that the key may not see,
 * too.
 */
const NOT_ALLOWED: ReadonlySet<number> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED])

/** What may be ChirpStack's fault or the downlink's. */
const INTERNAL: ReadonlySet<number> = new Set([status.INTERNAL, status.UNKNOWN, status.DATA_LOSS])

/** How long a downlink waits for a connection; less than its sender waits for the answer. */
const REACHING_MS = 1_000
/**
 * So long after a lost answer the queue is looked at before a downlink that is not there is
 * enqueued again: a call that ChirpStack had got is through by then, and so is the event of a
 * downlink that has left the queue.
 */
export const SETTLED_MS = 10_000
/**
 * How long internal errors of ChirpStack, while it answers otherwise, are not the downlink's fault.
 */
const PATIENT_MS = 60_000

/** ChirpStack's words where the codec of a device profile fails. */
const CODEC_FAULT = /^(?:JS error|encodeDownlink)/

export class ChirpStackDownlinks {
  readonly #api: ChirpStackDownlinksParts['api']
  readonly #clock: ChirpStackDownlinksParts['clock']
  readonly #patience = new Patience(PATIENT_MS)

  constructor({ api, clock }: ChirpStackDownlinksParts) {
    this.#api = api
    this.#clock = clock
  }

  /** Offers a downlink; never rejects. */
  async offer(downlink: Downlink): Promise<HandOverAnswer> {
    const { doubt } = downlink
    let recalledIds: readonly string[]
    try {
      await this.#api.whenReachable(REACHING_MS)
      if (doubt !== undefined) {
        const id = await this.#find(downlink, doubt)
        if (id !== undefined) return { outcome: 'taken', networkServerItemId: id }
        if (doubt.forMs < SETTLED_MS) return UNSETTLED
      }
      if (downlink.object !== undefined && !(await this.#hasCodec(downlink.devEui))) return NO_CODEC
      recalledIds = downlink.replaces === true ? await this.#unsent(downlink.devEui) : []
    } catch (error) {
      return this.#unasked(error, downlink)
    }
    try {
      const networkServerItemId = await this.#api.enqueue(downlink)
      this.#patience.reset(downlink.devEui)
      return { outcome: 'taken', networkServerItemId, recalledIds }
    } catch (error) {
      return this.#judge(error, downlink)
    }
  }

  /**
   * Empties the queue of a device, where something in it can be recalled; gives the ids of what was
   * not sent.
   */
  async flush(devEui: string): Promise<readonly string[]> {
    const unsent = await this.#unsent(devEui)
    if (unsent.length > 0) await this.#api.flushQueue(devEui)
    return unsent
  }

  async #unsent(devEui: string): Promise<readonly string[]> {
    const items = await this.#api.queue(devEui)
    return items.filter(({ isPending }) => !isPending).map(({ id }) => id)
  }

  /**
   * The id of a downlink that ChirpStack has, or has sent: it is in the queue, or an event has told
   * of it.
   */
  async #find(downlink: Downlink, { otherIds, unclaimedIds }: DownlinkDoubt): Promise<string | undefined> {
    const items = await this.#api.queue(downlink.devEui)
    const queued = items.find((item) => !otherIds.has(item.id) && isAlike(item, downlink))
    if (queued !== undefined) return queued.id
    return unclaimedIds.find((id) => !otherIds.has(id) && !items.some((item) => item.id === id))
  }

  /** Without a codec ChirpStack would send an empty downlink in the place of an object. */
  async #hasCodec(devEui: string): Promise<boolean> {
    return this.#api.hasCodec(await this.#api.profileOf(devEui))
  }

  /**
   * What came before `Enqueue` failed: ChirpStack has not got the downlink now, but it may still
   * have it from before.
   */
  async #unasked(error: unknown, downlink: Downlink): Promise<HandOverAnswer> {
    const { code, reason } = faultOf(error)
    const isUnknown = code === NOT_FOUND || (NOT_ALLOWED.has(code) && (await this.#isUnknown(downlink)))
    if (isUnknown) return UNKNOWN_DEVICE
    return { outcome: 'away', reason, isInDoubt: downlink.doubt !== undefined }
  }

  async #judge(error: unknown, downlink: Downlink): Promise<HandOverAnswer> {
    const { code, reason } = faultOf(error)
    if (PASSING.has(code)) return { outcome: 'away', reason, isInDoubt: true }
    if (NOT_ALLOWED.has(code)) {
      return (await this.#isUnknown(downlink)) ? UNKNOWN_DEVICE : { outcome: 'away', reason: `the API key: ${reason}` }
    }
    if (!INTERNAL.has(code)) return { outcome: 'refused', reason }
    if (downlink.object !== undefined && CODEC_FAULT.test(reason)) return { outcome: 'refused', reason }
    return this.#judgeInternal(reason, downlink)
  }

  /** Asks for the device: where ChirpStack can't answer that either, its database is away. */
  async #judgeInternal(reason: string, { devEui, id }: Downlink): Promise<HandOverAnswer> {
    try {
      await this.#api.profileOf(devEui)
    } catch (error) {
      if (faultOf(error).code === NOT_FOUND) return UNKNOWN_DEVICE
      this.#patience.reset(devEui)
      return { outcome: 'away', reason, isInDoubt: true }
    }
    if (this.#patience.isOver(devEui, id, this.#clock.steady())) return { outcome: 'refused', reason }
    return { outcome: 'away', reason, isInDoubt: true, isOfDevice: true }
  }

  /**
   * True for a device that is not there, where the key may see its application; a key of a tenant
   * is told no more than "no".
   */
  async #isUnknown({ devEui, applicationId }: Downlink): Promise<boolean> {
    try {
      await this.#api.profileOf(devEui)
      return false
    } catch (error) {
      const { code } = faultOf(error)
      if (code === NOT_FOUND) return true
      if (!NOT_ALLOWED.has(code)) return false
    }
    return this.#api.seeApplication(applicationId).then(
      () => true,
      () => false,
    )
  }
}

const UNSETTLED: Away = {
  outcome: 'away',
  reason: 'an earlier try got no answer, and may be on its way',
  isOfDevice: true,
}
const UNKNOWN_DEVICE: HandOverAnswer = { outcome: 'refused', reason: 'ChirpStack has no such device' }
const NO_CODEC: HandOverAnswer = {
  outcome: 'refused',
  reason: 'object: the device’s profile in ChirpStack has no codec, and the application here has none',
}

/**
 * Whether an item of the queue says what the downlink says. What the bytes of an object are only
 * ChirpStack knows.
 */
function isAlike(item: ChirpStackQueueItem, { confirmed, fPort, data, expiresAtMs }: Downlink): boolean {
  if (item.confirmed !== confirmed || item.expiresAtMs !== expiresAtMs) return false
  return data === undefined || (item.fPort === fPort && item.data.equals(data))
}
