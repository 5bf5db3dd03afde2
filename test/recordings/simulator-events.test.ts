import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brokerEvent } from '../../simulator/broker-event.ts'
import { recordedEvents } from './recordings.ts'
import { eventDifferences, eventKind } from './shape.ts'
import { lives } from './simulator-lives.ts'

for (const [family, version] of [
  ['A', 'v3'],
  ['B', 'v4'],
] as const) {
  describe(`the events of the simulator as family ${family}, compared with those of a real ChirpStack ${version}`, () => {
    const real = recordedEvents(version)
    const simulated = lives(family).map((event) => brokerEvent(event, family, false))
    // A service on the Internet makes these events, so none could be recorded.
    const comparable = simulated.filter(({ kind }) => kind !== 'location')

    it('is of all kinds that were recorded', () => {
      assert.deepEqual(kindsOf(comparable), kindsOf(real))
    })

    it('has the faults that were recorded', () => {
      const kinds = new Set(comparable.map(eventKind))
      const missing = [...new Set(real.map(eventKind))].filter((kind) => !kinds.has(kind))
      assert.deepEqual(missing, [])
    })

    it('has the same members, with values of the same kinds', () => {
      assert.deepEqual(eventDifferences(comparable, real), [])
    })
  })
}

function kindsOf(events: readonly { readonly kind: string }[]): string[] {
  return [...new Set(events.map(({ kind }) => kind))].toSorted()
}
