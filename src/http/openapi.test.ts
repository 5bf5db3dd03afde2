import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ROUTE_CASES } from './access-matrix.testing.ts'
import { openTestDeployment, type TestDeployment } from './deployment.testing.ts'

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly Record<string, unknown>[]
  readonly parameters?: readonly { in: string; name: string }[]
  readonly responses: Readonly<Record<string, { description: string; content?: object }>>
}

interface OpenApiDocument {
  readonly openapi: string
  readonly tags: readonly { name: string }[]
  readonly components: { readonly securitySchemes: Readonly<Record<string, unknown>> }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

let deployment: TestDeployment
let document: OpenApiDocument

before(async () => {
  deployment = await openTestDeployment()
  document = (await deployment.ask(undefined, { method: 'GET', url: '/api/openapi.json' })).json()
})

after(async () => {
  await deployment.close()
})

test('the document is OpenAPI 3.1 and names every route of the API, and no other', () => {
  assert.equal(document.openapi, '3.1.0')
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const routes = ROUTE_CASES.filter(({ url }) => !url.startsWith('/api/docs')).map(
    ({ method, url }) => `${method} ${url.replaceAll(/:([a-zA-Z]+)/g, '{$1}')}`,
  )
  assert.deepEqual(documented.toSorted(), routes.toSorted())
})

test('every operation has a summary, a description, a known tag, security and its answers', () => {
  const tags = new Set(document.tags.map(({ name }) => name))
  const schemes = new Set(Object.keys(document.components.securitySchemes))
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const name = `${method} ${path}`
      assert.ok(operation.summary && operation.description, name)
      assert.ok(operation.tags?.every((tag) => tags.has(tag)) && operation.tags.length === 1, name)
      assert.ok(
        operation.security?.flatMap(Object.keys).every((scheme) => schemes.has(scheme)),
        name,
      )
      if (path !== '/api/openapi.json') assert.deepEqual(Object.keys(operation.responses), ['200', '4XX', '5XX'], name)
      for (const response of Object.values(operation.responses)) {
        assert.notEqual(response.description, 'Default Response', name)
      }
    }
  }
})

test('the security of the document is the one that the routes enforce', () => {
  for (const { method, url, credential } of ROUTE_CASES) {
    const path = document.paths[url.replaceAll(/:([a-zA-Z]+)/g, '{$1}')]
    if (path === undefined) continue
    const security = path[method.toLowerCase()]?.security ?? []
    assert.equal(security.length > 0, credential !== 'none', `${method} ${url}`)
    const takesBrokerAccess = security.some((scheme) => 'brokerAccess' in scheme)
    assert.equal(takesBrokerAccess, credential === 'sessionOrBrokerAccess', `${method} ${url}`)
  }
})

test('the browsable reference asks nobody else for anything', async () => {
  const page = await deployment.ask(undefined, { method: 'GET', url: '/api/docs' })
  assert.equal(page.statusCode, 200)
  assert.doesNotMatch(page.body, /(src|href)="(https?:)?\/\//)
  const policy = String(page.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'; script-src 'self'/)
  assert.doesNotMatch(policy, /https?:|\*/)
  const initializer = await deployment.ask(undefined, {
    method: 'GET',
    url: '/api/docs/static/swagger-initializer.js',
  })
  assert.match(initializer.body, /"validatorUrl":null/)
})
