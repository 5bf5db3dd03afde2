import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { brokerEvent } from '../../simulator/broker-event.ts'
import { withCommandId } from '../../src/lorawan/commands/command-event.ts'
import { contractOf, faultsOf } from '../contracts/validators.ts'
import { recordedEvents } from './recordings.ts'
import { lives } from './simulator-lives.ts'

interface KindAndPayload {
  readonly kind: string
  readonly payload: object
}

for (const [family, version] of [
  ['A', 'v3'],
  ['B', 'v4'],
] as const) {
  describe(`the contracts of family ${family}`, () => {
    it(`hold for each recorded event of a real ChirpStack ${version}`, () => {
      holdsFor(recordedEvents(version), family)
    })

    for (const carriesIds of [false, true]) {
      it(`hold for each event of the simulator, ${carriesIds ? 'with' : 'without'} ids of commands`, () => {
        holdsFor(
          lives(family).map((event) => brokerEvent(event, family, carriesIds)),
          family,
        )
      })
    }

    it('hold for the recorded events about commands with the command’s id', () => {
      const about = recordedEvents(version).filter(({ kind }) => kind !== 'up' && kind !== 'join' && kind !== 'status')
      const named = about.map(({ kind, payload }) => {
        const text = withCommandId(Buffer.from(JSON.stringify(payload)), 'valve-7').toString()
        return { kind, payload: JSON.parse(text) as object }
      })
      holdsFor(named, family)
    })
  })
}

function holdsFor(events: readonly KindAndPayload[], family: 'A' | 'B'): void {
  assert.ok(events.length > 10)
  for (const { kind, payload } of events) {
    assert.equal(contractOf(kind, payload), `events/${family.toLowerCase()}/${kind}`)
    assert.deepEqual(faultsOf(contractOf(kind, payload), payload), [], JSON.stringify(payload))
    const received = { family: family.toLowerCase(), kind, payload }
    assert.deepEqual(faultsOf('events/event', received), [])
  }
}
