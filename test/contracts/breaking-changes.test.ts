import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { breakingChanges } from './breaking-changes.ts'

const TAGS = { type: 'object', additionalProperties: { type: 'string' } }
const PLACE = { $ref: '#/$defs/Place' }
const BASE = {
  title: 'Message',
  type: 'object',
  required: ['id', 'level'],
  properties: {
    id: { type: 'string', pattern: '^[0-9]+$' },
    level: { type: 'string', enum: ['INFO', 'ERROR'] },
    count: { type: 'integer', minimum: 0, maximum: 10 },
    tags: TAGS,
    list: { type: 'array', items: { type: 'number' } },
    place: { anyOf: [PLACE, { type: 'null' }] },
    object: {},
  },
  $defs: { Place: { title: 'Place', type: 'object', required: ['x'], properties: { x: { type: 'number' } } } },
}

/**
 * Each change: whether it breaks those who receive the message, whether those who send it, and the
 * value that it puts at a path of the schema (undefined: it removes the value).
 */
type Row = readonly [title: string, received: boolean, sent: boolean, path: string, value: unknown]

const CHANGES: readonly Row[] = [
  ['another sentence', false, false, 'description', 'Another.'],
  ['a member less', true, true, 'properties.count', undefined],
  ['an optional member more', false, false, 'properties.more', { type: 'string' }],
  ['a required member that becomes optional', true, false, 'required', ['id']],
  ['an optional member that becomes required', false, true, 'required', ['id', 'level', 'count']],
  ['a required member that was not there before', false, true, 'required', ['id', 'level', 'more']],
  ['a type that becomes another', true, true, 'properties.id.type', 'integer'],
  ['a type that becomes narrower', false, true, 'properties.list.items.type', 'integer'],
  ['a type that becomes wider', true, false, 'properties.count.type', 'number'],
  ['a member that may be null', true, false, 'properties.count.type', ['integer', 'null']],
  ['any type in the place of one', true, false, 'properties.count', {}],
  ['one type in the place of any', false, true, 'properties.object', { type: 'object' }],
  ['a word more', true, false, 'properties.level.enum', ['INFO', 'ERROR', 'WARNING']],
  ['a word less', false, true, 'properties.level.enum', ['INFO']],
  ['any word', true, false, 'properties.level.enum', undefined],
  ['another pattern', true, true, 'properties.id.pattern', '^[a-z]+$'],
  ['no pattern', true, false, 'properties.id.pattern', undefined],
  ['a higher maximum', true, false, 'properties.count.maximum', 11],
  ['a lower maximum', false, true, 'properties.count.maximum', 9],
  ['a lower minimum', true, false, 'properties.count.minimum', -1],
  ['no minimum', true, false, 'properties.count.minimum', undefined],
  ['tags of another type', true, true, 'properties.tags.additionalProperties.type', 'number'],
  ['no other members', false, true, 'additionalProperties', false],
  ['a shape less', true, true, 'properties.place.anyOf', [{ type: 'null' }]],
  ['a shape more', true, false, 'properties.place.anyOf', [PLACE, { type: 'null' }, { type: 'string' }]],
  ['a member less in a definition', true, true, '$defs.Place.properties', {}],
  ['another name of a type', true, true, '$defs.Place.title', 'Spot'],
]

for (const direction of ['received', 'sent'] as const) {
  describe(`a change of a message that clients have ${direction}`, () => {
    for (const [title, received, sent, path, value] of CHANGES) {
      const breaks = direction === 'received' ? received : sent
      it(`${breaks ? 'breaks them' : 'is no break'}: ${title}`, () => {
        const found = breakingChanges(BASE, changed(path.split('.'), value, BASE), direction)
        assert.equal(found.length > 0, breaks, found.join('; '))
      })
    }
  })
}

describe('a new shape that clients tell apart by a word', () => {
  it('is no break, because clients pass over unknown words', () => {
    const after = { anyOf: [shape('up'), shape('join')] }
    assert.deepEqual(breakingChanges({ anyOf: [shape('up')] }, after, 'received'), [])
  })
})

/** A copy with another value at the path. */
function changed([name = '', ...further]: readonly string[], value: unknown, whole: object): Record<string, unknown> {
  const { [name]: old, ...rest } = whole as Record<string, unknown>
  const member = further.length === 0 ? value : changed(further, value, old as object)
  return member === undefined ? rest : { ...rest, [name]: member }
}

function shape(kind: string): object {
  return { title: kind, type: 'object', properties: { kind: { const: kind } } }
}
