/** All events of a real network server agree with the schemas that programs are written by. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { contractOf, faultsOf } from '../contracts/validators.ts'
import type { Places } from './places.ts'
import type { Way } from './place.ts'

/** To be called last: it looks at the events that the other tests have caused. */
export function testContracts(places: () => Places, way: Way): void {
  it('each event that came agrees with its JSON Schema', () => {
    const { events } = places().of(way).integrator
    assert.ok(events.length > 20)
    for (const { kind, body, text } of events) assert.deepEqual(faultsOf(contractOf(kind, body), body), [], text)
  })
}
