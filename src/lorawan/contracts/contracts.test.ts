import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { contractOf, faultsOf } from '../../../test/contracts/validators.ts'
import { DEVICE, openTestDownlinks } from '../commands/downlinks.testing.ts'
import { VALID, WRONG_COMMANDS } from '../commands/invalid-commands.testing.ts'
import { withoutObject } from '../codecs/uplink-object.ts'
import { EVENT_KINDS } from '../topics.ts'
import { DeviceTags } from '../uplinks/event-tags.ts'
import { CONTRACTS, kindsOfFamily } from './contracts.ts'
import { schemaIndex } from './schema-documents.ts'

/** An application whose error events are of family B, because ChirpStack v4 has such ids. */
const APPLICATION_OF_B = 'f947ded9-4b5f-401d-8a71-dc00fd4a17b0'

/** Faults that need more than a schema: they are in the shape of a codec, or in the calendar. */
const BEYOND_A_SCHEMA: ReadonlySet<string> = new Set(['a value of 1e999'])

interface Payload {
  readonly required?: readonly string[]
}

describe('the contracts', () => {
  it('have each kind of event in both families, and log in family B', () => {
    const kinds = [...EVENT_KINDS, 'integration'].toSorted()
    assert.deepEqual(kindsOfFamily('a').toSorted(), kinds)
    assert.deepEqual(kindsOfFamily('b').toSorted(), [...kinds, 'log'].toSorted())
  })

  it('have addresses and names of their own', () => {
    const { schemas } = schemaIndex('https://fieldgate.example.org') as { schemas: { schema: string; title: string }[] }
    assert.equal(new Set(schemas.map(({ schema }) => schema)).size, CONTRACTS.length)
    assert.equal(new Set(schemas.map(({ title }) => title)).size, CONTRACTS.length)
  })

  for (const { path, schema, sample } of CONTRACTS) {
    it(`${path}: the sample agrees, also with members that the contract doesn’t name`, () => {
      assert.deepEqual(faultsOf(path, sample), [])
      assert.deepEqual(faultsOf(path, { ...(sample as object), furtherMember: [1] }), [])
    })

    it(`${path}: a message without a required member, or with another type there, does not agree`, () => {
      for (const member of (schema as Payload).required ?? []) {
        const { [member]: _left, ...rest } = sample as Record<string, unknown>
        assert.notDeepEqual(faultsOf(path, rest), [], `without ${member}`)
        assert.notDeepEqual(faultsOf(path, { ...rest, [member]: [[]] }), [], `with a list as ${member}`)
      }
    })
  }
})

describe('the contract of a command', () => {
  it('takes bytes, an object, or both', () => {
    for (const command of [VALID, { ...VALID, object: {} }, { confirmed: true, fPort: 1, object: { led: { 1: 1 } } }]) {
      assert.deepEqual(faultsOf('commands/command', command), [])
    }
    assert.notDeepEqual(faultsOf('commands/command', { confirmed: true, fPort: 1 }), [])
  })

  for (const [title, command, member, code] of WRONG_COMMANDS) {
    const isOfCodec = (member ?? '').startsWith('object.') || (member === 'object' && title.startsWith('a '))
    const isTaken = BEYOND_A_SCHEMA.has(title) || (isOfCodec && title !== 'a wrong object beside data')
    it(`${isTaken ? 'leaves to the codec' : 'refuses'} a command with ${title} (${code})`, () => {
      const message: unknown = typeof command === 'object' ? command : JSON.parse(command)
      const faults = faultsOf('commands/command', message)
      assert.equal(faults.length === 0, isTaken, faults.join('; '))
    })
  }
})

describe('the messages that the service makes itself agree with their contracts:', () => {
  for (const applicationId of ['5', APPLICATION_OF_B]) {
    const family = applicationId === '5' ? 'a' : 'b'

    it(`the error event and the answer of a refused command, family ${family}`, async () => {
      const { error, answers } = await refusedAndAccepted(applicationId)
      assert.equal(contractOf('error', error), `events/${family}/error`)
      assert.deepEqual(faultsOf(`events/${family}/error`, error), [])
      assert.deepEqual(
        answers.map(({ accepted }) => accepted),
        [false, true],
      )
      for (const answer of answers) assert.deepEqual(faultsOf('commands/answer', answer), [])
    })

    it(`the error event of an uplink that can’t be decoded, family ${family}`, () => {
      const { sample } = CONTRACTS.find(({ path }) => path === `events/${family}/up`) ?? { sample: {} }
      const { object: _decoded, ...undecoded } = sample as { readonly object: unknown }
      const { error } = withoutObject(Buffer.from(JSON.stringify(undecoded)), 'the script took too long')
      assert.equal(error?.kind, family === 'a' ? 'error' : 'log')
      for (const kind of new Set([error?.kind ?? '', 'error'])) {
        assert.deepEqual(faultsOf(`events/${family}/${kind}`, JSON.parse(String(error?.payload))), [])
      }
    })

    it(`an event with the tags of the registry, family ${family}`, () => {
      for (const { path, sample } of CONTRACTS) {
        if (!path.startsWith(`events/${family}/`)) continue
        const tagged = new DeviceTags({ floor: '3' }).into(Buffer.from(JSON.stringify(sample)))
        assert.ok(tagged.includes('"floor":"3"'), path)
        assert.deepEqual(faultsOf(path, JSON.parse(tagged.toString())), [])
      }
    })
  }
})

/** Sends a wrong command and a right one, and gives what the service tells about them. */
async function refusedAndAccepted(applicationId: string) {
  const downlinks = await openTestDownlinks()
  const branch = `application/${applicationId}/device/${DEVICE}`
  downlinks.devices.set(DEVICE, { applicationId, organizationId: '1', isDisabled: false })
  const consumer = downlinks.ways().consumers.find((each) => each.wants(`${branch}/command/down`))
  for (const command of [{ ...VALID, id: 'valve-7', fPort: 300 }, VALID]) {
    await consumer?.consume({
      topicName: `${branch}/command/down`,
      payload: Buffer.from(JSON.stringify(command)),
      qos: 1,
      retain: false,
      properties: { responseTopic: `${branch}/event/response` },
      sender: { tenant: 'organization:1', identity: 'user:1', maySubscribe: () => true },
    })
  }
  await downlinks.settle()
  const [error = {}] = downlinks.told('/event/error')
  return { error, answers: downlinks.told('/event/response') }
}
