import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { LightMyRequestResponse } from 'fastify'
import { CONTRACTS } from '../../lorawan/contracts/contracts.ts'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

interface Index {
  readonly schemas: readonly { readonly title: string; readonly schema: string; readonly sample: string }[]
}

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})
after(() => deployment.close())

function get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<LightMyRequestResponse> {
  return deployment.ask(undefined, { method: 'GET', url, headers })
}

describe('the JSON Schemas of messages', () => {
  it('are at the addresses of the index, each with its address as $id, and with its sample', async () => {
    const { schemas } = (await get('/api/schemas/v1/index.json')).json<Index>()
    assert.equal(schemas.length, CONTRACTS.length)
    for (const { title, schema, sample } of schemas) {
      const found = await get(new URL(schema).pathname)
      assert.equal(found.statusCode, 200, schema)
      const document = found.json<{ readonly $id: string; readonly title: string }>()
      assert.deepEqual([document.$id, document.title], [schema, title])
      const { path } = CONTRACTS.find((contract) => schema.endsWith(`/v1/${contract.path}.json`)) ?? { path: '' }
      const told = (await get(new URL(sample).pathname)).json<unknown>()
      assert.deepEqual(told, CONTRACTS.find((contract) => contract.path === path)?.sample)
    }
  })

  it('may be kept for an hour, and are not sent to who has them', async () => {
    const first = await get('/api/schemas/v1/events/b/up.json')
    assert.deepEqual(
      [first.headers['cache-control'], first.headers['content-type']],
      ['public, max-age=3600', 'application/json; charset=utf-8'],
    )
    const again = await get('/api/schemas/v1/events/b/up.json', { 'if-none-match': String(first.headers.etag) })
    assert.deepEqual([again.statusCode, again.body], [304, ''])
  })

  it('of unknown names do not exist', async () => {
    const unknown = ['events/a/log.json', 'events/b/constructor.json', 'events/a.json', 'notices/up.sample.json']
    for (const path of unknown) assert.equal((await get(`/api/schemas/v1/${path}`)).statusCode, 404, path)
    for (const path of ['events/c/up.json', 'nobody/up.json', 'events/a/..%2Fup.json', 'events/a/up']) {
      assert.equal((await get(`/api/schemas/v1/${path}`)).statusCode, 400, path)
    }
  })
})

describe('the AsyncAPI document', () => {
  it('names the addresses of this deployment', async () => {
    const { asyncapi, servers } = (await get('/api/asyncapi.json')).json<{
      readonly asyncapi: string
      readonly servers: Readonly<Record<string, { readonly host: string; readonly protocol: string }>>
    }>()
    assert.equal(asyncapi, '3.0.0')
    const told = Object.values(servers).map(({ host, protocol }) => `${protocol} ${host}`)
    assert.deepEqual(told, ['secure-mqtt localhost:8883', 'wss localhost:8443'])
  })
})
