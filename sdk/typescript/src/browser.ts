/** The SDK for browsers: MQTT over WebSocket, `fetch`, and positions in `localStorage`. */
import mqtt from 'mqtt'
import { connectOn } from './client.ts'
import type { ConnectOptions, Fieldgate } from './client.ts'
import { requestByFetch } from './platform.ts'
import type { Platform } from './platform.ts'
import { WebPositionStore } from './web-position-store.ts'

const BROWSER: Platform = {
  defaultBroker(url) {
    return new URL('/mqtt', url).href.replace(/^http/, 'ws')
  },
  request(options, request) {
    return requestByFetch(options.fetch ?? ((url, init) => fetch(url, init)), request)
  },
  openClient(broker, _network, client) {
    return Promise.resolve(mqtt.connect(broker, client))
  },
  defaultStore(session) {
    return new WebPositionStore(session)
  },
}

/** As on Node, over WebSocket. */
export function connect(options: ConnectOptions): Promise<Fieldgate> {
  return connectOn(BROWSER, options)
}

export { MemoryPositionStore } from './positions.ts'
export { WebPositionStore } from './web-position-store.ts'
export { FieldgateError } from './errors.ts'
