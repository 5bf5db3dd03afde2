import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, it } from 'node:test'
import { askChirpStack } from '../support/chirpstack-questions.ts'
import type { GivenAnswers } from '../support/chirpstack-questions.ts'
import { APPLICATION, FakeChirpStack, addressOf } from '../support/fake-chirpstack.ts'
import { recordingUrl } from './recordings.ts'

const DEV_EUI = 'a0b1c2d500000001'

describe('the ChirpStack of the tests, held against the answers of a real ChirpStack v4', () => {
  const chirpStack = new FakeChirpStack()
  const real = JSON.parse(readFileSync(recordingUrl('v4', 'grpc'), 'utf8')) as GivenAnswers

  before(async () => {
    chirpStack.devices.set(APPLICATION, new Map([[DEV_EUI, { name: 'meter' }]]))
    await chirpStack.start()
  })
  after(() => chirpStack.stop())

  it('answers each question with the same code, the same words and the same content', async () => {
    const asked = { ...addressOf(chirpStack), devEui: DEV_EUI }
    const answers = await askChirpStack(asked)
    // No question alone causes this answer: a real database has to be away for it.
    const { 'a command without its database': withoutDatabase, ...others } = real
    assert.deepEqual(answers, others)
    assert.equal(withoutDatabase?.code, 13)
  })
})
