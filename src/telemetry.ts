/**
 * The metrics of the process in Prometheus' text format: `fieldgate_*`, and the usual `process_*`
 * and `nodejs_*`.
 */
import { Counter, Gauge, Registry, collectDefaultMetrics } from 'prom-client'
import { runtime, version } from './version.ts'

/**
 * Reads current numbers. It is called once at registration, for the keys, and then once per metric
 * and scrape: it should be cheap.
 */
type ReadNumbers = () => Readonly<Record<string, number>>

/** The metrics of one service; each room registers its numbers here. */
export interface Telemetry {
  /** All metrics of the process; a room can register histograms of its own here. */
  readonly registry: Registry
  /**
   * Registers the numbers of a room, one metric a key. A number only grows (`messagesReceived` of
   * `broker` becomes the counter `fieldgate_broker_messages_received_total`), unless its key is in
   * `currentKeys` (`connections`: the gauge `fieldgate_broker_connections`).
   */
  registerNumbers(room: string, read: ReadNumbers, currentKeys?: readonly string[]): void
  /**
   * Registers counts by kind and code. The keys of the map are `kind:code`: `refusals` of `broker`
   * becomes `fieldgate_broker_refusals_total{kind="publish",code="event_device_unknown"}`. The
   * codes must be of a fixed set, so that the number of series is bounded.
   */
  registerCounts(room: string, key: string, read: () => ReadonlyMap<string, number>): void
}

/**
 * The spaces of the JavaScript heap. Bun walks through the whole heap for them, at each scrape: 66
 * ms for two million objects. The heap's size is in `nodejs_heap_size_used_bytes`.
 */
const SLOW_METRICS = ['total', 'used', 'available'].map((kind) => `nodejs_heap_space_size_${kind}_bytes`)
/** On Bun it names the version of Node that Bun imitates. `fieldgate_build_info` has the truth. */
const VERSION_METRIC = 'nodejs_version_info'

/**
 * Makes a registry of its own, with the metrics of the process in it. Two services of one process
 * share no registry.
 */
export function createTelemetry(): Telemetry {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  for (const name of [...SLOW_METRICS, VERSION_METRIC]) registry.removeSingleMetric(name)
  registry.registerMetric(buildInfo())
  return {
    registry,
    registerNumbers: (room, read, currentKeys = []) => {
      for (const key of Object.keys(read())) {
        const metric = currentKeys.includes(key) ? gauge(room, key, read) : counter(room, key, read)
        registry.registerMetric(metric)
      }
    },
    registerCounts: (room, key, read) => registry.registerMetric(countsByCode(room, key, read)),
  }
}

/** The usual form of a text in metrics: a label of a metric that is always 1. */
function buildInfo(): Gauge {
  const help = 'the version of Fieldgate, and its runtime with its version'
  const info = new Gauge({ name: 'fieldgate_build_info', help, labelNames: ['version', 'runtime'], registers: [] })
  info.set({ version, runtime }, 1)
  return info
}

function counter(room: string, key: string, read: ReadNumbers): Counter {
  return new Counter({
    name: `${metricName(room, key)}_total`,
    help: sentence(room, key),
    registers: [],
    collect() {
      this.reset()
      this.inc(read()[key] ?? 0)
    },
  })
}

function countsByCode(room: string, key: string, read: () => ReadonlyMap<string, number>): Counter {
  return new Counter({
    name: `${metricName(room, key)}_total`,
    help: sentence(room, key),
    labelNames: ['kind', 'code'],
    registers: [],
    collect() {
      this.reset()
      for (const [name, times] of read()) {
        const [kind = '', code = ''] = name.split(':')
        this.inc({ kind, code }, times)
      }
    },
  })
}

function gauge(room: string, key: string, read: ReadNumbers): Gauge {
  return new Gauge({
    name: metricName(room, key),
    help: sentence(room, key),
    registers: [],
    collect() {
      this.set(read()[key] ?? 0)
    },
  })
}

function metricName(room: string, key: string): string {
  return `fieldgate_${room}_${key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}`
}

function sentence(room: string, key: string): string {
  return `${room}: ${key.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)}`
}
