/**
 * Every credential × every organization, application and device, at endpoints 2 to 7 of the
 * specification.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createMatrixDeployment } from '../support/access-matrix-deployment.ts'
import type { Credential, MatrixDeployment } from '../support/access-matrix-deployment.ts'
import { UNKNOWN_APPLICATION, UNKNOWN_DEVICE } from '../support/access-matrix-topics.ts'
import { quotedTopic } from '../support/administration.ts'
import type { HttpAnswer } from '../support/https-client.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

type Owner = 'A' | 'B' | 'nobody'

interface Case {
  readonly endpoint: 2 | 3 | 4 | 5 | 6 | 7
  readonly path: string
  readonly json?: object
  /**
   * The organization that is named, and the one that owns the application or device that is named.
   */
  readonly organization?: Owner
  readonly thing?: Owner
  /** The answer to a permitted request. */
  readonly expected: unknown
}

const UNKNOWN_ORGANIZATION = '424242'
/** The two ways to send a bearer token. */
const HEADERS = ['grpc-metadata-authorization', 'authorization'] as const

let service: RunningService
let deployment: MatrixDeployment

before(async () => {
  service = await startInProcess()
  deployment = await createMatrixDeployment(service)
})

after(async () => {
  await service.stop()
})

test('each credential gets what its organization owns, and of all else one and the same refusal', async (context) => {
  let cases = 0
  const byToken = new Map(deployment.credentials.map((credential) => [credential.token, credential]))
  for (const credential of byToken.values()) {
    const answers = await Promise.all(
      HEADERS.flatMap((header) => [...allCases(credential)].map((one) => check(credential, header, one))),
    )
    cases += answers.length
    // Nobody learns whether an id is unknown or a neighbour's.
    const refusals = new Set(answers.filter(({ status }) => status === 404).map(({ text }) => text))
    assert.ok(refusals.size <= 1, `${credential.name}: ${[...refusals].join(' | ')}`)
  }
  context.diagnostic(`access matrix of HTTP: ${cases} cases`)
})

async function check(credential: Credential, header: (typeof HEADERS)[number], one: Case): Promise<HttpAnswer> {
  const answer = await ask(credential, header, one)
  const title = `${credential.name}: ${one.path} ${JSON.stringify(one.json ?? '')} by ${header}`
  const status = expectedStatus(credential, one)
  assert.equal(answer.status, status, `${title}: ${answer.text}`)
  if (status === 200) assert.deepEqual(gist(one.endpoint, answer), one.expected, title)
  else assertErrorBody(answer, title)
  return answer
}

function* allCases(credential: Credential): Generator<Case> {
  const { organizationA, organizationB, places } = deployment
  const organizations = [
    ['A', organizationA],
    ['B', organizationB],
    ['nobody', UNKNOWN_ORGANIZATION],
  ] as const
  const applications = { A: [places.applicationA, places.otherApplicationA], B: [places.applicationB], nobody: [] }
  const sees = credential.bearer.kind === 'session' ? credential.bearer.sees : []
  const visible = organizations.filter(([owner]) => owner !== 'nobody' && sees.includes(owner)).map(([, id]) => id)
  const all = 'limit=999&offset=0'
  yield { endpoint: 2, path: `/api/organizations?${all}`, expected: visible.toSorted(byText) }
  const allApplications = sees.flatMap((owner) => applications[owner]).toSorted(byText)
  yield { endpoint: 3, path: `/api/applications?${all}`, expected: allApplications }
  for (const [organization, id] of organizations) {
    const ofOne = applications[organization].toSorted(byText)
    yield { endpoint: 3, path: `/api/applications?${all}&organizationID=${id}`, organization, expected: ofOne }
    const json = { organizationId: id, ttlInSeconds: '60' }
    yield { endpoint: 4, path: '/api/mosquitto-auth/login', json, organization, expected: 'a token' }
    yield* topicCases(organization, id)
  }
}

function* topicCases(organization: Owner, organizationId: string): Generator<Case> {
  const { places } = deployment
  const applications = [
    ['A', places.applicationA],
    ['A', places.otherApplicationA],
    ['B', places.applicationB],
    ['nobody', UNKNOWN_APPLICATION],
  ] as const
  const devices = [
    ['A', places.deviceA, places.applicationA],
    ['A', places.otherDeviceA.toUpperCase(), places.otherApplicationA],
    ['A', `0x${places.disabledDeviceA}`, places.applicationA],
    ['B', places.deviceB, places.applicationB],
    ['nobody', UNKNOWN_DEVICE, ''],
  ] as const
  const path = '/api/mosquitto-auth'
  const query = `organizationId=${organizationId}`
  for (const [thing, id] of applications) {
    const expected = `application/${id}/device/+/event/+`
    const at = `${path}/subscribe-application-events?applicationId=${id}&${query}`
    yield { endpoint: 5, path: at, organization, thing, expected }
  }
  for (const [thing, devEui, application] of devices) {
    const root = `application/${application}/device/${devEui.toLowerCase().replace('0x', '')}`
    const kinds = ['up', 'join', 'ack', 'error', 'status', 'location', 'txack', '+']
    const both = { organization, thing }
    yield {
      endpoint: 6,
      path: `${path}/subscribe-device-events?devEui=${devEui}&${query}`,
      ...both,
      expected: kinds.map((kind) => `${root}/event/${kind}`),
    }
    yield {
      endpoint: 7,
      path: `${path}/send-command?devEui=${devEui}&${query}`,
      ...both,
      expected: `${root}/command/down`,
    }
  }
}

/** The rules of specification §5, by what the credential is and who owns what is named. */
function expectedStatus({ bearer }: Credential, { endpoint, organization, thing }: Case): number {
  const isTopic = endpoint >= 5
  if (bearer.kind === 'none in force') return 401
  if (bearer.kind === 'former broker access') return isTopic ? 403 : 401
  if (bearer.kind === 'broker access') {
    if (!isTopic) return 401
    return organization === bearer.organization && thing === organization ? 200 : 404
  }
  if (organization === undefined) return 200
  const isVisible = organization !== 'nobody' && bearer.sees.includes(organization)
  return isVisible && (!isTopic || thing === organization) ? 200 : 404
}

function ask(credential: Credential, header: (typeof HEADERS)[number], one: Case): Promise<HttpAnswer> {
  const { token } = credential
  // A header can't carry control characters; what is left of such a token must be refused as well.
  const value = token === undefined ? undefined : `Bearer ${token.replace('\u0001', '%01')}`
  const headers = value === undefined ? {} : { [header]: value }
  const { path, json } = one
  return service.http.ask(
    json === undefined ? 'GET' : 'POST',
    path,
    json === undefined ? { headers } : { headers, json },
  )
}

/** The part of a successful answer that is compared. */
function gist(endpoint: Case['endpoint'], { body }: HttpAnswer): unknown {
  const { result, totalCount, jwtMqttAuth, topic } = body
  if (endpoint === 4) return typeof jwtMqttAuth === 'string' && jwtMqttAuth.split('.').length === 3 ? 'a token' : body
  if (endpoint >= 5) return Array.isArray(topic) ? topic.map(quotedTopic) : quotedTopic(topic)
  assert.ok(Array.isArray(result) && totalCount === String(result.length))
  return result.map(({ id }: { readonly id: string }) => id).toSorted(byText)
}

function assertErrorBody({ body, headers }: HttpAnswer, title: string): void {
  assert.deepEqual(Object.keys(body).toSorted(byText), ['code', 'details', 'error', 'message'], title)
  assert.equal(body['error'], body['message'], title)
  assert.match(headers['content-type'] ?? '', /^application\/json/, title)
}

function byText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right)
}
