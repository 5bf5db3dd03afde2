import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { run } from './sandbox.testing.ts'

const TIMES = ['2024-11-21T01:02:44Z', '2024-11-21T13:02:04Z', '2024-01-01T00:00:00Z', '2024-12-31T12:59:59Z']

describe('the texts of dates in a script', () => {
  it('are those of the locale en-US, in UTC as the service’s process has it', async () => {
    const before = process.env.TZ
    process.env.TZ = 'UTC'
    try {
      const script = `function Decode() {
        return ${JSON.stringify(TIMES)}.map((one) => new Date(one))
          .map((one) => [one.toLocaleString(), one.toLocaleDateString(), one.toLocaleTimeString()])
      }`
      const outcome = await run(script)
      assert.ok(outcome.ok)
      const zone = { timeZone: 'UTC' }
      const expected = TIMES.map((one) => new Date(one)).map((one) => [
        one.toLocaleString('en-US', zone),
        one.toLocaleDateString('en-US', zone),
        one.toLocaleTimeString('en-US', zone),
      ])
      assert.deepEqual(JSON.parse(outcome.json), JSON.parse(JSON.stringify(expected).replaceAll('\u202F', ' ')))
    } finally {
      if (before === undefined) delete process.env.TZ
      else process.env.TZ = before
    }
  })

  it('tell that a date is invalid', async () => {
    const outcome = await run('function Decode() { return new Date("x").toLocaleString() }')
    assert.ok(outcome.ok && outcome.json === '"Invalid Date"')
  })
})
