import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTelemetry } from './telemetry.ts'
import { runtime, version } from './version.ts'

describe('the telemetry', () => {
  it('shows the metrics of the process', async () => {
    const text = await createTelemetry().registry.metrics()
    assert.match(text, /^process_resident_memory_bytes \d+/m)
    assert.ok(text.includes(`fieldgate_build_info{version="${version}",runtime="${runtime}"} 1`), text)
    assert.doesNotMatch(text, /nodejs_version_info/)
  })

  it('is scraped at once, however many objects there are', async () => {
    const { registry } = createTelemetry()
    const held = Array.from({ length: 1_000_000 }, (_, index) => ({ index }))
    const startedMs = performance.now()
    for (let times = 0; times < 50; times += 1) await registry.metrics()
    const eachMs = (performance.now() - startedMs) / 50
    assert.ok(eachMs < 10, `${eachMs.toFixed(1)} ms`)
    assert.equal(held.at(-1)?.index, 999_999)
  })

  it('shows the numbers of a room as they are at each scrape', async () => {
    const telemetry = createTelemetry()
    const numbers = { messagesReceived: 1, refusals: 0, connections: 5 }
    telemetry.registerNumbers('broker', () => numbers, ['connections'])
    const first = await telemetry.registry.metrics()
    assert.match(first, /^# TYPE fieldgate_broker_messages_received_total counter$/m)
    assert.match(first, /^fieldgate_broker_messages_received_total 1$/m)
    assert.match(first, /^fieldgate_broker_refusals_total 0$/m)
    assert.match(first, /^fieldgate_broker_connections 5$/m)
    numbers.messagesReceived = 4
    numbers.connections = 2
    const second = await telemetry.registry.metrics()
    assert.match(second, /^fieldgate_broker_messages_received_total 4$/m)
    assert.match(second, /^fieldgate_broker_connections 2$/m)
  })

  it('keeps two services of one process apart', async () => {
    const one = createTelemetry()
    const other = createTelemetry()
    one.registerNumbers('broker', () => ({ connections: 1 }), ['connections'])
    other.registerNumbers('broker', () => ({ connections: 2 }), ['connections'])
    assert.match(await other.registry.metrics(), /^fieldgate_broker_connections 2$/m)
  })
})

it('counts by kind and code are one metric with two labels', async () => {
  const telemetry = createTelemetry()
  const counts = new Map([['publish:event_device_unknown', 2]])
  telemetry.registerCounts('broker', 'refusals', () => counts)
  counts.set('connect:password_invalid', 1)
  const text = await telemetry.registry.metrics()
  assert.match(text, /^fieldgate_broker_refusals_total\{kind="publish",code="event_device_unknown"\} 2$/m)
  assert.match(text, /^fieldgate_broker_refusals_total\{kind="connect",code="password_invalid"\} 1$/m)
})
