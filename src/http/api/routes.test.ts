import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { fastify } from 'fastify'
import { Type } from 'typebox'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'
import { inOrganization, OPEN } from './access.ts'
import { authenticateRequests } from './authenticate.ts'
import type { HttpApp } from './http-app.ts'
import { createPayerOf } from './payers.ts'
import { RequestGate } from './request-gate.ts'
import { addRoutes, route } from './routes.ts'

let deployment: TestDeployment

before(async () => {
  deployment = await openTestDeployment()
})

after(async () => {
  await deployment.close()
})

function openGate(): RequestGate {
  return new RequestGate(createPayerOf(deployment.registry), undefined)
}

/** A server without routes that asks each route who may use it. */
function emptyServer(): HttpApp {
  const app = fastify() as unknown as HttpApp
  authenticateRequests(app, deployment.registry, openGate())
  return app
}

test('a route that does not say who may use it can’t be registered', () => {
  const app = emptyServer()
  assert.throws(() => app.get('/open-by-mistake', async () => ({})), /does not say who may use it/)
  addRoutes(app, deployment.registry, openGate(), [
    route({ method: 'GET', url: '/open', may: OPEN, schema: {}, handle: async () => ({}) }),
  ])
})

test('a route whose schema lacks the member that names the owner can’t be registered', () => {
  const may = inOrganization('organization.read', 'params.id')
  const schema = { params: Type.Object({ organizationId: Type.String() }) }
  const wrong = route({ method: 'GET', url: '/organizations/:organizationId', may, schema, handle: async () => ({}) })
  assert.throws(
    () => addRoutes(emptyServer(), deployment.registry, openGate(), [wrong]),
    /the schema has no params\.id/,
  )
})

test('every route of the server says who may use it, and the document begins with its sentence', async () => {
  const document = (await deployment.ask(undefined, { method: 'GET', url: '/api/openapi.json' })).json<{
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly description: string }>>>>
  }>()
  const { accessPolicy } = deployment.app
  assert.ok(accessPolicy.length > 70)
  for (const { method, url, may } of accessPolicy) {
    assert.match(may.sentence, /^(?:For|With) .*\.$/, `${method} ${url}`)
    const path = document.paths[url.replaceAll(/:([a-zA-Z]+)/g, '{$1}')]
    const description = path?.[method.toLowerCase()]?.description
    if (description !== undefined) assert.ok(description.startsWith(may.sentence), `${method} ${url}`)
  }
})

test('the routes that need no credential are these', () => {
  const open = deployment.app.accessPolicy
    .filter(({ method, may }) => method !== 'HEAD' && may === OPEN)
    .map(({ method, url }) => `${method} ${url}`)
  assert.deepEqual(open.toSorted(), [
    'DELETE /api/internal/console-session',
    'GET /.well-known/jwks.json',
    'GET /api/asyncapi.json',
    'GET /api/docs',
    'GET /api/docs/search.json',
    'GET /api/internal/ca.pem',
    'GET /api/internal/console-session',
    'GET /api/internal/health',
    'GET /api/internal/health/live',
    'GET /api/internal/jwks',
    'GET /api/openapi.json',
    'GET /api/schemas/v1/:group/:file',
    'GET /api/schemas/v1/events/:family/:file',
    'GET /api/schemas/v1/index.json',
    'POST /api/internal/login',
  ])
})
