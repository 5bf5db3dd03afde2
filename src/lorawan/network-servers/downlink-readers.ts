/**
 * The connected network servers that are clients of this deployment's brokers, as those to whom a
 * downlink can be offered.
 */
import type { Dispatcher, ReaderFilter } from '../../broker/ports/consumer.ts'

/** A downlink as a message for one network server. */
export interface OfferedDownlink {
  /** The id by which network servers know the command. */
  readonly id: string
  readonly devEui: string
  readonly topicName: string
  readonly payload: Buffer
  /** True: an earlier offer has no known end, and a network server may have the downlink. */
  readonly isInDoubt: boolean
}

/**
 * The end of an offer. `acknowledged`: the network server has it. `abandoned`: its Session ended
 * before. `in doubt`: its node is gone, and nobody knows. `no reader`: none is connected that may
 * have it. `no room`: it can't take more now.
 */
export type Offered = 'acknowledged' | 'abandoned' | 'in doubt' | 'no reader' | 'no room'

export interface DownlinkReaders {
  /**
   * Offers the downlink to one connected network server of the tenant; undefined: of any tenant.
   * Waits for its acknowledgement without a bound. Never rejects.
   */
  offer(downlink: OfferedDownlink, tenant: string | undefined): Promise<Offered>
}

/** The network servers that are connected to this node. */
export class LocalReaders implements DownlinkReaders {
  readonly #dispatcher: Dispatcher

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher
  }

  offer({ topicName, payload }: OfferedDownlink, tenant: string | undefined): Promise<Offered> {
    return new Promise((resolve) => {
      const watcher = { acknowledged: () => resolve('acknowledged'), abandoned: () => resolve('abandoned') }
      const isFor: ReaderFilter | undefined = tenant === undefined ? undefined : (reader) => reader.tenant === tenant
      const dispatched = this.#dispatcher.dispatch({ topicName, payload, qos: 1 }, watcher, isFor)
      if (dispatched !== 'sent') resolve(dispatched)
    })
  }
}
