import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ROUTE_CASES } from '../access-matrix.testing.ts'
import { DEV_EUI_PATTERN } from '../../identity/devices/eui.ts'
import { ORGANIZATION_NAME_PATTERN } from '../../identity/tenants/organizations.ts'
import { MAXIMUM_EMAIL, MINIMUM_PASSWORD } from '../../identity/people/users.ts'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'
import { withComponents } from './openapi-components.ts'
import { DEMANDED, DOCUMENTED, NAME } from './schema-keywords.ts'
import { RULE } from './validate.ts'

interface Operation {
  readonly operationId?: string
  readonly requestBody?: unknown
  readonly summary?: string
  readonly description?: string
  readonly tags?: readonly string[]
  readonly security?: readonly Record<string, unknown>[]
  readonly parameters?: readonly { in: string; name: string; required?: boolean }[]
  readonly responses: Readonly<Record<string, { description?: string; content?: object; $ref?: string }>>
}

interface OpenApiDocument {
  readonly openapi: string
  readonly tags: readonly { name: string }[]
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, { readonly type: string; readonly scheme?: string }>>
    readonly schemas: Readonly<Record<string, object>>
    readonly responses: Readonly<Record<string, { readonly content: object }>>
  }
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
      assert.deepEqual(Object.keys(operation.responses), ['200', '4XX', '5XX'], name)
      for (const response of Object.values(operation.responses)) {
        assert.notEqual(response.description, 'Default Response', name)
      }
    }
  }
})

test('every operation has an id of its own, a verb first, that generators make a function of', () => {
  const ids = allOperations().map(({ operationId = '' }) => operationId)
  for (const id of ids) assert.match(id, /^[a-z]+(?:[A-Z][a-z]+)*$/)
  assert.equal(new Set(ids).size, ids.length)
})

test('every error answer is the one of the components, in JSON, whatever the success is', () => {
  for (const { operationId = '', responses } of allOperations()) {
    assert.deepEqual(responses['4XX'], { $ref: '#/components/responses/ClientError' }, operationId)
    assert.deepEqual(responses['5XX'], { $ref: '#/components/responses/ServerError' }, operationId)
  }
  for (const { content } of Object.values(document.components.responses)) {
    assert.deepEqual(content, { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } })
  }
})

test('every object that has members is a component, so that generators name it as we do', () => {
  const inline = (value: unknown): unknown[] => {
    if (typeof value !== 'object' || value === null) return []
    const own = 'properties' in value && 'type' in value ? [value] : []
    return [...own, ...partsOf(value).flatMap(inline)]
  }
  const { schemas } = document.components
  assert.deepEqual(inline(document.paths), [])
  for (const [name, schema] of Object.entries(schemas)) {
    assert.match(name, /^[A-Z][a-z]+(?:[A-Z][a-z]+)*$/)
    assert.deepEqual(inline(Object.values(schema)), [], name)
  }
  for (const name of [
    'Organization',
    'Application',
    'Device',
    'User',
    'Member',
    'Error',
    'OrganizationList',
    'Command',
  ]) {
    assert.ok(name in schemas, name)
  }
})

test('no component is named as generators name the answer of an operation', () => {
  const answers = new Set(
    allOperations().map(
      ({ operationId = '' }) => `${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Response`,
    ),
  )
  assert.deepEqual(
    Object.keys(document.components.schemas).filter((name) => answers.has(name)),
    [],
  )
})

test('no value of the document is of this type or that one: only null stands beside a type', () => {
  const choices = (value: unknown): unknown[] => {
    if (typeof value !== 'object' || value === null) return []
    const own = 'anyOf' in value && Array.isArray(value.anyOf) ? value.anyOf : []
    const beside = own.filter((one: { type?: string }) => one.type !== 'null')
    return [...(beside.length > 1 ? beside : []), ...partsOf(value).flatMap(choices)]
  }
  assert.deepEqual(choices(document), [])
})

test('keywords of the checks stay out of the document', () => {
  const text = JSON.stringify(document)
  for (const keyword of [RULE, NAME, DOCUMENTED, DEMANDED]) assert.ok(!text.includes(`"${keyword}"`), keyword)
})

test('rules that the registry enforces stand in the document', () => {
  const { schemas } = document.components
  const member = (name: string, of: string) => Reflect.get(Reflect.get(schemas[name] ?? {}, 'properties') as object, of)
  assert.equal(member('NewUser', 'email').maxLength, MAXIMUM_EMAIL)
  assert.equal(member('CreateUserRequest', 'password').minLength, MINIMUM_PASSWORD)
  assert.equal(member('NewOrganization', 'name').pattern, ORGANIZATION_NAME_PATTERN)
  assert.equal(member('NewDevice', 'devEUI').pattern, DEV_EUI_PATTERN)
  assert.equal(member('NewCommand', 'expiresAt').format, 'date-time')
})

test('routes name HTTP schemes alone: generators then write the word Bearer, whichever of them they send', () => {
  const { securitySchemes } = document.components
  for (const { operationId = '', security = [] } of allOperations()) {
    for (const name of security.flatMap(Object.keys)) assert.equal(securitySchemes[name]?.type, 'http', operationId)
  }
  for (const name of ['bearer', 'brokerAccess', 'serviceCredential']) {
    assert.ok(name in securitySchemes, name)
  }
})

test('a header that a request must have is required in the document', () => {
  const header = allOperations()
    .flatMap(({ parameters = [] }) => parameters)
    .find(({ name }) => name === 'Grpc-Metadata-X-OTP')
  assert.equal(header?.required, true)
})

test('two different schemas of one name are a fault', () => {
  const paths = {
    '/a': { get: { operationId: 'a', responses: { 200: answerOf({ type: 'string', [NAME]: 'Same' }) } } },
    '/b': { get: { operationId: 'b', responses: { 200: answerOf({ type: 'integer', [NAME]: 'Same' }) } } },
  }
  assert.throws(() => withComponents({ paths, components: {} }, { ClientError: {}, ServerError: {} }), /named Same/)
})

/** The parts of an object of the document. An example is data, even where it is a schema. */
function partsOf(value: object): readonly unknown[] {
  return Object.entries(value).flatMap(([name, part]) => (name === 'example' ? [] : [part]))
}

function answerOf(schema: object) {
  return { content: { 'application/json': { schema } } }
}

function allOperations(): readonly Operation[] {
  return Object.values(document.paths).flatMap((path) => Object.values(path))
}

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

test('the reference for people shows each operation of the document, and asks nobody else for anything', async () => {
  const page = await deployment.ask(undefined, { method: 'GET', url: '/api/docs' })
  assert.equal(page.statusCode, 200)
  assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
  assert.doesNotMatch(page.body, /(src|href)="(https?:)?\/\//)
  assert.match(
    String(page.headers['content-security-policy']),
    /default-src 'none'; script-src 'self'; style-src 'self'/,
  )
  const operations = Object.values(document.paths).flatMap((item) => Object.values(item))
  assert.ok(operations.length > 70)
  const shown = Array.from(page.body.matchAll(/<h3 id="([^"]+)"/g), ([, id = '']) => id)
  const expected = operations.map(({ operationId }) => operationId ?? '')
  assert.deepEqual(new Set(shown), new Set(expected))
  assert.equal(shown.length, expected.length)
  assert.equal(page.body.match(/<h4>In a terminal<\/h4>/g)?.length, operations.length)
  const again = await deployment.ask(undefined, {
    method: 'GET',
    url: '/api/docs',
    headers: { 'if-none-match': String(page.headers['etag']) },
  })
  assert.equal(again.statusCode, 304)
  const search = await deployment.ask(undefined, { method: 'GET', url: '/api/docs/search.json' })
  assert.equal(search.json<[{ sections: unknown[] }]>()[0].sections.length, operations.length)
})
