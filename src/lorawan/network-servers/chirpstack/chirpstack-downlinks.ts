/**
 * Downlinks for ChirpStack v4 by gRPC. `Enqueue` ignores the id in the request, makes one of its
 * own and returns it, so that each call makes another downlink. If an answer gets lost, the
 * downlink is looked for in the device's queue before it is enqueued again.
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

/** Faults of the moment. The call may have been carried out nevertheless. */
const PASSING: ReadonlySet<number> = new Set([
  status.UNAVAILABLE,
  status.DEADLINE_EXCEEDED,
  status.RESOURCE_EXHAUSTED,
  status.CANCELLED,
  status.ABORTED,
])

const NOT_FOUND: number = status.NOT_FOUND

/** Faults of the API key. ChirpStack also answers so for devices that the key may not see. */
const NOT_ALLOWED: ReadonlySet<number> = new Set([status.UNAUTHENTICATED, status.PERMISSION_DENIED])

/** Faults that may be ChirpStack's own or the downlink's. */
const INTERNAL: ReadonlySet<number> = new Set([status.INTERNAL, status.UNKNOWN, status.DATA_LOSS])

/** How long a downlink waits for a connection. It is less than its sender waits for the answer. */
const REACHING_MS = 1_000
/**
 * How long after a lost answer a downlink that is not in the queue may be enqueued again. By then a
 * call that had reached ChirpStack is carried out, and the event of a downlink that has left the
 * queue has come.
 */
export const SETTLED_MS = 10_000
/**
 * How long internal errors of ChirpStack are not taken for the downlink's fault while ChirpStack
 * answers other calls.
 */
const PATIENT_MS = 60_000

/** ChirpStack's words when the codec of a device profile fails. */
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
   * Empties the queue of a device, if it has items that can be recalled; resolves with the ids of
   * the items that were not sent.
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
   * The id of a downlink that ChirpStack has or has sent: it is in the queue, or an event has named
   * it.
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
   * A call before `Enqueue` has failed: ChirpStack has not got the downlink by this offer, but may
   * have it from an earlier one.
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

  /** Asks for the device. If ChirpStack can't answer that either, its database is away. */
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
   * True for a device that does not exist, if the key may see its application. A tenant's key gets
   * the same answer for "unknown" and "not allowed".
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
 * True when an item of the queue has the content of the downlink. For a downlink with an object the
 * bytes are not compared: only ChirpStack knows them.
 */
function isAlike(item: ChirpStackQueueItem, { confirmed, fPort, data, expiresAtMs }: Downlink): boolean {
  if (item.confirmed !== confirmed || item.expiresAtMs !== expiresAtMs) return false
  return data === undefined || (item.fPort === fPort && item.data.equals(data))
}
