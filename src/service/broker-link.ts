/**
 * The one late binding of the start. The broker is made of the commands and of the path of uplinks,
 * and both publish through the broker: they get this link, and the broker is attached to it.
 */
import assert from 'node:assert/strict'
import type { Broker } from '../broker/broker.ts'
import type {
  Dispatched,
  Dispatcher,
  DispatchWatcher,
  OwnMessage,
  Publisher,
  ReaderFilter,
} from '../broker/ports/consumer.ts'

/** Passes messages on to the broker. Nothing may be published before the broker is attached. */
export class BrokerLink implements Publisher, Dispatcher {
  #broker: (Publisher & Dispatcher) | undefined

  /** To be called once, before the broker starts. */
  attach(broker: Pick<Broker, 'publish' | 'dispatch'>): void {
    assert.equal(this.#broker, undefined, 'a broker is attached already')
    this.#broker = broker
  }

  publish(message: OwnMessage): Promise<void> {
    return this.#attached().publish(message)
  }

  dispatch(message: OwnMessage, watcher: DispatchWatcher, isFor?: ReaderFilter): Dispatched {
    return this.#attached().dispatch(message, watcher, isFor)
  }

  #attached(): Publisher & Dispatcher {
    assert.ok(this.#broker, 'no broker is attached yet')
    return this.#broker
  }
}
