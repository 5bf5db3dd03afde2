/**
 * Checks that the recordings that other tests use still match the events and answers of real
 * ChirpStacks.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, it } from 'node:test'
import { recordedEvents, recordingUrl } from '../recordings/recordings.ts'
import type { RecordedVersion } from '../recordings/recordings.ts'
import { eventDifferences, eventKind } from '../recordings/shape.ts'
import type { GivenAnswers } from '../support/chirpstack-questions.ts'
import { describeWithNetworkServers } from './programs.ts'
import { openV3Recorder, openV4Recorder, recordAnswers } from './recorder.ts'
import type { EventRecorder } from './recorder.ts'
import { startServers } from './servers.ts'
import type { Servers } from './servers.ts'

await describeWithNetworkServers('what was recorded of real ChirpStacks', { timeout: 300_000 }, (programs) => {
  let servers: Servers

  before(async () => {
    servers = await startServers(programs)
  })
  after(() => servers.close())

  it('is what a ChirpStack v4 tells and answers now', async () => {
    const v4 = await openV4Recorder(servers)
    await v4.recorder.run()
    assertSame('v4', v4.recorder)
    const recorded = JSON.parse(readFileSync(recordingUrl('v4', 'grpc'), 'utf8')) as GivenAnswers
    const { 'a command without its database': withoutDatabase, ...answers } = await recordAnswers(v4)
    const { 'a command without its database': recordedWithout, ...others } = recorded
    assert.deepEqual(answers, others)
    // The text of this answer depends on the moment.
    assert.equal(withoutDatabase?.code, recordedWithout?.code)
  })

  it('is what a ChirpStack v3 tells now', async () => {
    const { recorder } = await openV3Recorder(servers)
    await recorder.run()
    assertSame('v3', recorder)
  })
})

function assertSame(version: RecordedVersion, { events }: EventRecorder): void {
  const recorded = recordedEvents(version)
  const kindsOf = (of: typeof events): string[] => [...new Set(of.map(eventKind))].toSorted()
  assert.deepEqual(kindsOf(events), kindsOf(recorded))
  assert.deepEqual(eventDifferences(events, recorded), [])
  assert.deepEqual(eventDifferences(recorded, events), [])
}
