import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { API_KEY_RIGHTS } from '../identity/store/api-key-rights.ts'
import type { ApiKeyRight } from '../identity/store/api-key-rights.ts'
import type { Scope } from '../identity/tokens/scope.ts'
import { ROUTE_CASES } from './access-matrix.testing.ts'
import type { RouteCase, Targets } from './access-matrix.testing.ts'
import { must, newApplication, openTestDeployment } from './broker-access/deployment.testing.ts'
import type { TestDeployment } from './broker-access/deployment.testing.ts'
import { KEY_RIGHTS } from './key-matrix.testing.ts'

const OF_ORGANIZATIONS = API_KEY_RIGHTS.filter((right) => right !== 'metrics.read')
const ACTOR = { userId: null }

let deployment: TestDeployment
/** A key with one right alone, and a key of the whole deployment with this right. */
let single: Readonly<Record<ApiKeyRight, string>>
let ofDeployment: Readonly<Record<ApiKeyRight, string>>
/** All rights, in another organization. */
let foreign: string
/** All rights that can be restricted, in another application of the organization. */
let elsewhere: string
let targets: Targets
let serial = 0
let cells = 0

before(async () => {
  deployment = await openTestDeployment()
  const { registry, userIds, organizationId, foreignOrganizationId } = deployment
  const make = async (
    owner: string | null,
    maker: string,
    rights: readonly ApiKeyRight[],
    scope?: Scope,
  ): Promise<string> => {
    serial += 1
    const fields = { organizationId: owner, makerUserId: maker, rights, scope, expiresAtMs: null }
    return must(await registry.apiKeys.create({ ...fields, name: `key ${serial}` }, ACTOR)).key
  }
  const { organizationAdmin, globalAdmin, stranger } = userIds
  const entries = await Promise.all(
    API_KEY_RIGHTS.map(async (right) => {
      const isOfDeployment = right === 'metrics.read'
      const owner = isOfDeployment ? null : organizationId
      return [right, await make(owner, isOfDeployment ? globalAdmin : organizationAdmin, [right])] as const
    }),
  )
  single = Object.fromEntries(entries) as typeof single
  const wide = API_KEY_RIGHTS.map(async (right) => [right, await make(null, globalAdmin, [right])] as const)
  ofDeployment = Object.fromEntries(await Promise.all(wide)) as typeof ofDeployment
  foreign = await make(foreignOrganizationId, stranger, OF_ORGANIZATIONS)
  const other = await newApplication(registry, organizationId, 'elsewhere')
  const restrictable = OF_ORGANIZATIONS.filter((right) => right !== 'members.write')
  elsewhere = await make(organizationId, organizationAdmin, restrictable, { applicationIds: [other] })
  targets = {
    organizationId,
    applicationId: deployment.applicationId,
    devEui: deployment.devEui,
    userId: userIds.member,
    tokenId: '1',
    brokerToken: '1',
    credentialId: '1',
    metricsTokenId: '1',
    apiKeyId: '1',
    webhookId: '1',
    profileId: '1',
    registrationRuleId: '1',
    libraryProfileId: '1',
    connectionId: '1',
  }
})

after(async () => {
  await deployment.close()
})

function rightsOf({ method, url }: RouteCase): readonly ApiKeyRight[] {
  return KEY_RIGHTS[`${method} ${url}`] ?? []
}

test('the table names no route that there is not, and the server says the same of each', () => {
  const known = new Set(ROUTE_CASES.map(({ method, url }) => `${method} ${url}`))
  for (const name of Object.keys(KEY_RIGHTS)) assert.ok(known.has(name), name)
  for (const { method, url, may } of deployment.app.accessPolicy) {
    if (method !== 'HEAD') assert.deepEqual(may.rights ?? [], KEY_RIGHTS[`${method} ${url}`] ?? [], `${method} ${url}`)
  }
})

for (const route of ROUTE_CASES) {
  test(`${route.method} ${route.url} answers a key by its rights: ${rightsOf(route).join(', ') || 'none'}`, async () => {
    for (const right of API_KEY_RIGHTS) {
      assert.equal((await ask(route, single[right])).status, statusFor(route, right), right)
      assert.equal(
        (await ask(route, ofDeployment[right])).status,
        statusFor(route, right, true),
        `${right}, deployment`,
      )
    }
  })
}

for (const route of ROUTE_CASES.filter(
  ({ hides, url, ...other }) => hides === true && rightsOf({ url, ...other }).length > 0,
)) {
  test(`${route.method} ${route.url} tells a key of another organization what it tells of an unknown id`, async () => {
    const unknown: Targets = {
      organizationId: '987654321',
      applicationId: '987654322',
      devEui: 'fedcba9876543210',
      userId: '987654323',
      tokenId: '987654324',
      brokerToken: 'unknown',
      credentialId: '987654325',
      metricsTokenId: '987654327',
      apiKeyId: '987654328',
      webhookId: '987654329',
      profileId: '987654330',
      registrationRuleId: '987654330',
      libraryProfileId: 'aaaaaaaa-0000-4000-8000-000000000011',
      connectionId: '987654326',
    }
    assert.deepEqual(await ask(route, foreign), await ask(route, foreign, unknown))
    assert.equal((await ask(route, foreign)).status, 404)
  })
}

for (const route of ROUTE_CASES) {
  const isOfThing = /:devEui|applications\/:id/.test(route.url)
  if (!isOfThing || rightsOf(route).length === 0) continue
  test(`${route.method} ${route.url} hides from a key what is outside of its restriction`, async () => {
    const { status, reason } = await ask(route, elsewhere)
    assert.deepEqual([status, reason], [404, 'object_not_found'])
  })
}

test('the size of the matrix of keys', (context) => {
  context.diagnostic(`matrix of keys: ${ROUTE_CASES.length} routes, ${cells} cells`)
  assert.ok(cells >= ROUTE_CASES.length * API_KEY_RIGHTS.length * 2)
})

/** The things of a route, which a request that was refused leaves as they were. */
let kept: { readonly route: RouteCase; readonly fresh: Partial<Targets>; readonly number: number } | undefined

async function ask(route: RouteCase, key: string, instead: Partial<Targets> = {}) {
  serial += 1
  cells += 1
  // Users are slow to make: their passwords are hashed.
  if (kept?.route !== route) kept = { route, fresh: (await route.fresh?.(deployment, serial)) ?? {}, number: serial }
  const { fresh, number } = kept
  const about = { ...targets, ...fresh, ...instead }
  const { statusCode, body } = await deployment.ask(key, { method: route.method, ...route.request(about, number) })
  if (statusCode < 300) kept = undefined
  deployment.clock.advance(2000)
  const [, reason = ''] = /"reason":"(\w+)"/.exec(body) ?? []
  return { status: statusCode, reason }
}

function statusFor(route: RouteCase, right: ApiKeyRight, isOfDeployment = false): number {
  const { credential, url, people } = route
  if (credential === 'none') return people[0]
  if (['secondFactorStep', 'serviceCredential', 'brokerHook'].includes(credential)) return 401
  if (!rightsOf(route).includes(right)) return 403
  // The library belongs to the whole deployment.
  if (url.startsWith('/api/device-library') && route.method !== 'GET' && !isOfDeployment) return 403
  // A key with one right alone gives no role, and changes only what its right is for.
  if (url.includes('/users') && route.method !== 'GET') return 403
  if (route.method === 'PUT' && url === '/api/applications/:id' && right === 'codecs.write') return 403
  // The token is not of the key.
  if (url.startsWith('/api/broker-tokens/:id')) return 404
  return 200
}
