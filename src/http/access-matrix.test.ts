import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ROUTE_CASES } from './access-matrix.testing.ts'
import type { RouteCase, Targets } from './access-matrix.testing.ts'
import { HOOK_SECRET, must, openTestDeployment } from './broker-access/deployment.testing.ts'
import type { Person, TestDeployment } from './broker-access/deployment.testing.ts'
import type { Scope } from '../identity/tokens/scope.ts'

const PEOPLE = ['stranger', 'reader', 'member', 'deviceAdmin', 'organizationAdmin', 'globalAdmin'] as const

/** Credentials that are no session in force. */
const OTHERS = [
  'anonymous',
  'garbage',
  'brokerAccess',
  'readOnlyBrokerAccess',
  'otherBrokerAccess',
  'secondFactorStep',
  'expired',
  'revoked',
  'metricsToken',
  'unknownMetricsToken',
  'brokerHookSecret',
] as const

let deployment: TestDeployment
let others: Readonly<Record<(typeof OTHERS)[number], string | undefined>>
let targets: Targets
let serial = 0
let cells = 0

before(async () => {
  deployment = await openTestDeployment()
  const { registry, clock, userIds, organizationId } = deployment
  const expired = await deployment.session('member')
  // Past the life of that session.
  clock.advance(8 * 86_400_000)
  const revoked = await deployment.session('member')
  clock.advance(2000)
  must(await registry.tokens.signOutEverywhere(userIds.member, { userId: null }))
  clock.advance(2000)
  const access = must(
    await registry.tokens.issueBrokerAccess({ userId: userIds.member, organizationId, ttlSeconds: 86_400 }),
  )
  const narrow = async (scope: Scope): Promise<string> => {
    const grant = { userId: userIds.member, organizationId, ttlSeconds: 86_400, scope }
    return must(await registry.tokens.issueBrokerAccess(grant)).jwt
  }
  others = {
    anonymous: undefined,
    garbage: 'eyJhbGciOiJub25lIn0.e30.',
    brokerAccess: access.jwt,
    readOnlyBrokerAccess: await narrow({ isReadOnly: true }),
    // For another application of the organization.
    otherBrokerAccess: await narrow({ applicationIds: ['999'] }),
    secondFactorStep: await registry.tokens.issueSecondFactorStep({ id: userIds.member }),
    expired,
    revoked,
    metricsToken: must(await registry.metricsTokens.create('matrix', { userId: null })).token,
    unknownMetricsToken: 'fgm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA',
    brokerHookSecret: HOOK_SECRET,
  }
  targets = {
    brokerToken: access.jwt,
    organizationId,
    applicationId: deployment.applicationId,
    devEui: deployment.devEui,
    userId: userIds.member,
    tokenId: access.tokenId,
    credentialId: '1',
    metricsTokenId: '1',
    apiKeyId: '1',
    connectionId: '1',
    webhookId: '1',
    profileId: '1',
    registrationRuleId: '1',
    libraryProfileId: '1',
  }
})

after(async () => {
  await deployment.close()
})

test('every route of the server stands in the table, with the credential that it takes', () => {
  const inTable = ROUTE_CASES.map(({ method, url, credential }) => `${method} ${url} ${credential}`)
  const inServer = deployment.app.accessPolicy
    .filter(({ method }) => method !== 'HEAD')
    .map(({ method, url, credential }) => `${method} ${url} ${credential}`)
  assert.deepEqual(inTable.toSorted(), [...new Set(inServer)].toSorted())
})

for (const route of ROUTE_CASES) {
  test(`${route.method} ${route.url} answers each kind of credential as the table says`, async () => {
    for (const [index, person] of PEOPLE.entries()) {
      const status = await ask(route, await deployment.session(person))
      assert.equal(status, route.people[index], person)
    }
    for (const kind of OTHERS) {
      const status = await ask(route, others[kind])
      assert.equal(status, statusFor(route, kind), kind)
    }
  })
}

for (const route of ROUTE_CASES.filter(({ hides }) => hides === true)) {
  test(`${route.method} ${route.url} tells a stranger of an id of another organization what it tells of an unknown id`, async () => {
    const stranger: Person = 'stranger'
    serial += 1
    const existing = { ...targets, ...(await route.fresh?.(deployment, serial)) }
    const unknown: Targets = {
      brokerToken: 'unknown',
      organizationId: '987654321',
      applicationId: '987654322',
      devEui: 'fedcba9876543210',
      userId: '987654323',
      tokenId: '987654324',
      credentialId: '987654325',
      metricsTokenId: '987654327',
      apiKeyId: '987654328',
      connectionId: '987654326',
      webhookId: 'aaaaaaaa-0000-4000-8000-00000000000f',
      profileId: 'aaaaaaaa-0000-4000-8000-00000000000e',
      registrationRuleId: 'aaaaaaaa-0000-4000-8000-000000000010',
      libraryProfileId: 'aaaaaaaa-0000-4000-8000-000000000011',
    }
    const answers = []
    for (const about of [existing, unknown]) {
      const { statusCode, body, headers } = await deployment.ask(await deployment.session(stranger), {
        method: route.method,
        ...route.request(about, serial),
      })
      answers.push({ statusCode, body, contentType: headers['content-type'] })
    }
    assert.deepEqual(answers[0], answers[1])
    assert.ok((answers[0]?.statusCode ?? 0) >= 400)
  })
}

test('the size of the matrix', (context) => {
  context.diagnostic(`access matrix: ${ROUTE_CASES.length} routes, ${cells} cells`)
  assert.equal(cells, ROUTE_CASES.length * (PEOPLE.length + OTHERS.length))
})

async function ask(route: RouteCase, token: string | undefined): Promise<number> {
  serial += 1
  cells += 1
  // Sessions issued in the second of a sign-out are void.
  const fresh = await route.fresh?.(deployment, serial)
  const { statusCode } = await deployment.ask(token, {
    method: route.method,
    ...route.request({ ...targets, ...fresh }, serial),
  })
  deployment.clock.advance(1000)
  return statusCode
}

function statusFor(route: RouteCase, kind: (typeof OTHERS)[number]): number {
  const [, asReader, asMember] = route.people
  switch (route.credential) {
    case 'none':
      return asMember
    case 'sessionOrBrokerAccess':
      if (route.token !== undefined && kind.endsWith('rokerAccess')) return route.token
      if (kind === 'otherBrokerAccess') return 404
      if (kind === 'readOnlyBrokerAccess') return asReader
      return kind === 'brokerAccess' ? asMember : 401
    case 'secondFactorStep':
      // The step's token is let in; the person has no second factor configured.
      return kind === 'secondFactorStep' ? 400 : 401
    case 'metrics':
      return kind === 'metricsToken' ? 200 : 401
    case 'brokerHook':
      // Nobody is a superuser of a foreign broker.
      return kind !== 'brokerHookSecret' ? 401 : route.url.endsWith('/superuser') ? 403 : 200
    case 'session':
    case 'serviceCredential':
      return 401
  }
}
