/**
 * Records an example of each operation: the requests of the access matrix, and what a service
 * answers to them. Secrets are replaced, for examples are read by everybody.
 */
import assert from 'node:assert/strict'
import type { InjectOptions } from 'fastify'
import type { OperationExample } from '../../src/http/api/openapi-examples.ts'
import { ROUTE_CASES } from '../../src/http/access-matrix.testing.ts'
import type { RouteCase, Targets } from '../../src/http/access-matrix.testing.ts'
import { HOOK_SECRET, must, openTestDeployment } from '../../src/http/broker-access/deployment.testing.ts'
import type { TestDeployment } from '../../src/http/broker-access/deployment.testing.ts'
import { TestEvents } from '../../src/http/devices/stored-events.testing.ts'
import { SAMPLES_A } from '../../src/lorawan/contracts/samples-a.ts'

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** The part of the OpenAPI document that names the operations. */
interface Paths {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<Record<string, { readonly operationId: string; readonly parameters?: readonly Parameter[] }>>
    >
  >
}

interface Parameter {
  readonly name: string
  readonly in: string
}

/**
 * Operations whose success the matrix can't have: they need a code of the moment, or they refuse
 * everybody.
 */
const WITHOUT_SUCCESS: Readonly<Record<string, { readonly request: Json; readonly answer: Json }>> = {
  askMosquittoSuperuser: { request: { username: 'eyJ' }, answer: { ok: true, error: '' } },
  loginSecondStep: { request: {}, answer: { jwt: '', is2faRequired: false } },
  enableTotp: { request: {}, answer: {} },
  disableTotp: { request: {}, answer: {} },
  renewRecoveryCodes: { request: { regenerate: true }, answer: { recoveryCode: ['01234-abcde', '56789-fghij'] } },
}

/** Texts in the place of secrets and of long texts, by the name of the member. */
const REPLACED: Readonly<Record<string, Json>> = {
  jwt: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  jwtMqttAuth: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  secret: 'JBSWY3DPEHPK3PXP',
  qrCode: 'iVBORw0KGgo=',
  url: 'otpauth://totp/Fieldgate:anna@example.org?secret=JBSWY3DPEHPK3PXP&issuer=Fieldgate',
  recoveryCode: ['01234-abcde', '56789-fghij'],
}

const FORM = 'application/x-www-form-urlencoded'

/** The longest answer that stands in the document as it is, in characters. */
const MAXIMUM_JSON = 5_000

/** The most items of a list: the topics of a device are so many. */
const MAXIMUM_LIST = 8

/** The longest text of an answer that is no JSON. */
const MAXIMUM_TEXT = 200

/** The examples by the name of their operation, in alphabetical order. */
export async function recordedExamples(): Promise<ReadonlyMap<string, OperationExample>> {
  const history = new TestEvents()
  const deployment = await openTestDeployment({ history })
  try {
    const { paths } = (await deployment.ask(undefined, { method: 'GET', url: '/api/openapi.json' })).json<Paths>()
    const targets = await targetsOf(deployment)
    const { applicationId, devEui } = targets
    history.add({
      id: '37-5021',
      kind: 'status',
      applicationId,
      devEui,
      payload: Buffer.from(JSON.stringify(SAMPLES_A.status)),
    })
    const examples = new Map<string, OperationExample>()
    let serial = 0
    for (const route of ROUTE_CASES) {
      const operation = paths[route.url.replaceAll(/:([a-zA-Z]+)/g, '{$1}')]?.[route.method.toLowerCase()]
      if (operation === undefined) continue
      const { operationId, parameters = [] } = operation
      serial += 1
      const fresh = { ...targets, ...(await route.fresh?.(deployment, serial)) }
      const request = route.request(fresh, serial)
      examples.set(operationId, await recorded(deployment, route, request, { operationId, parameters }))
      // So that a session that was ended does not take the next one with it.
      deployment.clock.advance(2_000)
    }
    return new Map([...examples].toSorted(([a], [b]) => (a < b ? -1 : 1)))
  } finally {
    await deployment.close()
  }
}

async function targetsOf({
  registry,
  organizationId,
  applicationId,
  devEui,
  userIds,
}: TestDeployment): Promise<Targets> {
  const grant = { userId: userIds.member, organizationId, ttlSeconds: 86_400 }
  const { tokenId, jwt } = must(await registry.tokens.issueBrokerAccess(grant))
  const ids = {
    credentialId: '1',
    metricsTokenId: '1',
    connectionId: '1',
    apiKeyId: '1',
    webhookId: '1',
    profileId: '1',
    registrationRuleId: '1',
    libraryProfileId: '1',
  }
  return { organizationId, applicationId, devEui, userId: userIds.member, tokenId, brokerToken: jwt, ...ids }
}

async function recorded(
  deployment: TestDeployment,
  route: RouteCase,
  { headers = {}, ...request }: ReturnType<RouteCase['request']>,
  { operationId, parameters }: { readonly operationId: string; readonly parameters: readonly Parameter[] },
): Promise<OperationExample> {
  const response = await deployment.ask(undefined, {
    ...request,
    method: route.method,
    headers: { ...headers, ...(await credentialOf(deployment, route)) },
  })
  assert.ok(typeof request.url === 'string')
  const given = parametersOf(route.url, request.url, request.query, parameters)
  const known = WITHOUT_SUCCESS[operationId]
  if (known !== undefined) return { ...given, request: json(known.request), answer: json(known.answer) }
  assert.ok(response.statusCode < 300, `${operationId} was answered ${response.statusCode}: ${response.body}`)
  const mediaType = headers['content-type'] ?? 'application/json'
  const { payload } = request
  const sent = payload === undefined ? {} : { request: { mediaType, value: shown(bodyOf(mediaType, payload)) } }
  return { ...given, ...sent, ...answerOf(response.headers['content-type'] ?? '', response.body) }
}

function bodyOf(mediaType: string, payload: NonNullable<InjectOptions['payload']>): Json {
  // An archive is no text: its first letters stand for it.
  if (payload instanceof Buffer) return payload.toString('latin1', 0, 2)
  return (mediaType === FORM ? Object.fromEntries(new URLSearchParams(payload as string)) : payload) as Json
}

function answerOf(contentType: string, body: string): Pick<OperationExample, 'answer'> {
  const mediaType = contentType.split(';')[0] ?? ''
  if (body === '') return {}
  if (mediaType === 'application/json') return { answer: json(JSON.parse(body) as Json) }
  if (mediaType === 'application/x-ndjson') {
    return { answer: { mediaType, value: shown(JSON.parse(body.split('\n')[0] ?? '') as Json) } }
  }
  return { answer: { mediaType, value: body.slice(0, MAXIMUM_TEXT) } }
}

function json(value: Json): { readonly mediaType: string; readonly value: Json } {
  const isLong = (given: Json): boolean => JSON.stringify(given).length > MAXIMUM_JSON
  const short = isLong(value) ? shown(value, '', 1) : shown(value)
  return { mediaType: 'application/json', value: isLong(short) || hasReference(short) ? cut(short) : short }
}

/** True for a schema with references: tools would look for them in the OpenAPI document. */
function hasReference(value: Json): boolean {
  return JSON.stringify(value).includes('"$ref":')
}

/** The members of a whole document that are no objects. */
function cut(value: Json): Json {
  return Object.fromEntries(Object.entries(value ?? {}).filter(([, member]) => typeof member !== 'object'))
}

/** Without secrets, and without the end of long lists. */
function shown(value: Json, name = '', maximumList = MAXIMUM_LIST): Json {
  const replaced = REPLACED[name]
  if (replaced !== undefined && typeof value === typeof replaced) {
    return name === 'url' && typeof value === 'string' && !value.startsWith('otpauth:') ? value : replaced
  }
  if (typeof value === 'string' && value.startsWith('eyJ')) return REPLACED['jwt'] ?? ''
  if (typeof value === 'string') return isSecret(name, value) ? masked(value) : value
  if (Array.isArray(value))
    return (value as readonly Json[]).slice(0, maximumList).map((item) => shown(item, name, maximumList))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([member, inner]) => [member, shown(inner, member, maximumList)]))
}

/** Tokens of this service begin with `fg`; a password that it makes has 43 characters. */
function isSecret(name: string, value: string): boolean {
  return /^(?:fg[a-z]?|whsec)_/.test(value) || (name === 'password' && value.length === 43)
}

function masked(secret: string): string {
  const [prefix = ''] = /^(?:fg[a-z]?|whsec)_/.exec(secret) ?? []
  return prefix + secret.slice(prefix.length).replaceAll(/[A-Za-z0-9-]/g, 'A')
}

/** The values of the parameters, from the path and from the query. */
function parametersOf(
  template: string,
  url: string,
  query: unknown,
  parameters: readonly Parameter[],
): Pick<OperationExample, 'parameters'> {
  const [path = '', search = ''] = url.split('?')
  const segments = path.split('/')
  const inPath = template
    .split('/')
    .flatMap((segment, index): readonly (readonly [string, string])[] =>
      segment.startsWith(':') ? [[segment.slice(1), decodeURIComponent(segments[index] ?? '')]] : [],
    )
  const asked = { ...Object.fromEntries(new URLSearchParams(search)), ...(query as Readonly<Record<string, string>>) }
  const values = Object.entries({ ...Object.fromEntries(inPath), ...asked })
  const known = values.filter(([name]) => parameters.some((one) => one.name === name && one.in !== 'header'))
  return known.length === 0 ? {} : { parameters: Object.fromEntries(known) }
}

/** The header with the credential of whoever may send the request. */
async function credentialOf(
  deployment: TestDeployment,
  { credential, people, url }: RouteCase,
): Promise<Readonly<Record<string, string>>> {
  const { registry, organizationId, userIds } = deployment
  const actor = { userId: null }
  switch (credential) {
    case 'none':
      return {}
    case 'brokerHook':
      return { authorization: `Bearer ${HOOK_SECRET}` }
    case 'metrics':
      return { authorization: `Bearer ${must(await registry.metricsTokens.create(`of ${url}`, actor)).token}` }
    case 'serviceCredential': {
      const made = must(await registry.serviceCredentials.create({ name: `of ${url}`, organizationId }, actor))
      return { authorization: `Basic ${Buffer.from(`${made.userName}:${made.password}`).toString('base64')}` }
    }
    case 'secondFactorStep':
      return { authorization: `Bearer ${await registry.tokens.issueSecondFactorStep({ id: userIds.member })}` }
    case 'session':
    case 'sessionOrBrokerAccess': {
      const person = people[3] < 300 ? 'organizationAdmin' : 'globalAdmin'
      return { authorization: `Bearer ${await deployment.session(person)}` }
    }
    default:
      return credential satisfies never
  }
}
