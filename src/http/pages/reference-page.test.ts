import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import Schema from 'typebox/schema'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'
import { referenceOf } from './reference-page.ts'
import { asSchema, SchemaReader } from './reference-schemas.ts'
import type { Schema as JsonSchema } from './reference-schemas.ts'

let deployment: TestDeployment
let document: JsonSchema

before(async () => {
  deployment = await openTestDeployment()
  document = (await deployment.ask(undefined, { method: 'GET', url: '/api/openapi.json' })).json()
})

after(async () => {
  await deployment.close()
})

test('every example is one that its schema takes', () => {
  const reader = new SchemaReader(document)
  const { schemas } = asSchema(document['components'])
  const wrong: string[] = []
  for (const [name, schema] of Object.entries(asSchema(schemas))) {
    const whole = inlined(schema, reader) as JsonSchema
    const example = reader.example(asSchema(schema))
    if (!Schema.Check(whole, example)) wrong.push(`${name}: ${JSON.stringify(example)}`)
  }
  assert.deepEqual(wrong, [])
})

/** The schema without references. */
function inlined(schema: unknown, reader: SchemaReader): unknown {
  if (Array.isArray(schema)) return schema.map((one) => inlined(one, reader))
  if (typeof schema !== 'object' || schema === null) return schema
  const whole = reader.resolved(schema as JsonSchema)
  return Object.fromEntries(Object.entries(whole).map(([key, value]) => [key, inlined(value, reader)]))
}

test('members of members have rows, with what they may be', () => {
  const reader = new SchemaReader(document)
  const { schemas } = asSchema(document['components'])
  const rows = reader.rows(asSchema(asSchema(schemas)['SendCommandRequest']))
  const port = rows.find(({ name }) => name.endsWith('.fPort'))
  assert.deepEqual([port?.type, port?.isRequired], ['integer, 1 to 255', false])
  const listed = reader.rows(asSchema(asSchema(schemas)['ApplicationList'])).map(({ name }) => name)
  assert.ok(listed.includes('totalCount') && listed.includes('result[].id'), listed.join())
})

test('text of the document is text on the page, and its code is code', () => {
  const { content } = referenceOf(
    {
      info: { description: 'A <b> `x` & "y"' },
      tags: [{ name: 'T', description: 'd' }],
      paths: { '/a/{id}': { get: { operationId: 'getA', summary: '<script>', description: 'it’s', tags: ['T'] } } },
    },
    '/api/docs',
  )
  assert.doesNotMatch(content, /<script|<b>/)
  assert.match(content, /A &lt;b&gt; <code>x<\/code> &amp; &quot;y&quot;/)
})

test('the line for a terminal names the credential, the ids and the body', () => {
  const { content } = referenceOf(document, '/api/docs')
  const [, section = ''] = content.split('<h3 id="sendCommand">')
  const [, line = ''] = /In a terminal<\/h4><pre><code>([^<]*)/.exec(section) ?? []
  assert.match(line, /-X POST/)
  assert.match(line, /-H &quot;Authorization: Bearer \$SESSION&quot;/)
  assert.match(line, /api\/devices\/[0-9a-f]{16}\/queue'/)
  assert.match(line, /-d '\{&quot;deviceQueueItem&quot;:\{/)
})
