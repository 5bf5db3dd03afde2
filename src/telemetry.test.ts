import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createTelemetry } from './telemetry.ts'

describe('the telemetry', () => {
  it('shows the metrics of the process', async () => {
    assert.match(await createTelemetry().registry.metrics(), /^process_resident_memory_bytes \d+/m)
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
