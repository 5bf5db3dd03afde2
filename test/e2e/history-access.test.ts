/**
 * The right to read stored events: every credential × every application and device by HTTP, and
 * every topic shape by replay.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createMatrixDeployment } from '../support/access-matrix-deployment.ts'
import type { Credential, MatrixDeployment } from '../support/access-matrix-deployment.ts'
import { Oracle } from '../support/access-matrix-oracle.ts'
import { topicShapes, UNKNOWN_APPLICATION, UNKNOWN_DEVICE } from '../support/access-matrix-topics.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Version } from '../support/wire-client.ts'

type Owner = 'A' | 'B' | 'nobody'

interface Case {
  readonly path: string
  readonly owner: Owner
  /** `application/device` of the events in a successful answer. */
  readonly expected: readonly string[]
}

const BEGINNING = '2020-01-01T00:00:00Z'

let service: RunningService
let deployment: MatrixDeployment
/** `application/device` of every device that has an event; each device has one event. */
let stored: Readonly<Record<'A' | 'B', readonly string[]>>

before(async () => {
  service = await startInProcess()
  deployment = await createMatrixDeployment(service)
  const { applicationA, otherApplicationA, applicationB, deviceA, otherDeviceA, deviceB } = deployment.places
  stored = {
    A: [`${applicationA}/${deviceA}`, `${otherApplicationA}/${otherDeviceA}`],
    B: [`${applicationB}/${deviceB}`],
  }
  const everywhere = deployment.credentials.find(({ name }) => name === 'the service credential of the deployment')
  using client = await WireClient.open(service, 5)
  assert.equal(await client.connect(everywhere?.login ?? {}), 0)
  for (const [application = '', device = ''] of [...stored.A, ...stored.B].map((place) => place.split('/'))) {
    client.send(client.publishPacket(`application/${application}/device/${device}/event/up`, '{"fCnt":1}', 1))
    assert.equal((await client.next())?.cmd, 'puback')
  }
})

after(async () => {
  await service.stop()
})

function storedOf(applicationId: string): string[] {
  return [...stored.A, ...stored.B].filter((place) => place.startsWith(`${applicationId}/`))
}

function casesOfHttp(): Case[] {
  const { applicationA, otherApplicationA, applicationB, deviceA, otherDeviceA, deviceB, disabledDeviceA } =
    deployment.places
  const applications = [
    ['A', applicationA],
    ['A', otherApplicationA],
    ['B', applicationB],
    ['nobody', UNKNOWN_APPLICATION],
  ] as const
  const devices = [
    ['A', deviceA, [`${applicationA}/${deviceA}`]],
    ['A', otherDeviceA.toUpperCase(), [`${otherApplicationA}/${otherDeviceA}`]],
    ['A', disabledDeviceA, []],
    ['B', deviceB, [`${applicationB}/${deviceB}`]],
    ['nobody', UNKNOWN_DEVICE, []],
  ] as const
  return [
    ...applications.map(([owner, id]) => ({
      path: `/api/applications/${id}/events`,
      owner,
      expected: storedOf(id),
    })),
    ...devices.map(([owner, devEui, expected]) => ({ path: `/api/devices/${devEui}/events`, owner, expected })),
  ]
}

/**
 * As for the topic endpoints (specification §5), with the organization of the named application or
 * device.
 */
function expectedStatus({ bearer }: Credential, owner: Owner): number {
  if (bearer.kind === 'none in force') return 401
  if (bearer.kind === 'former broker access') return 403
  const organizations: readonly Owner[] = bearer.kind === 'session' ? bearer.sees : [bearer.organization]
  return organizations.includes(owner) ? 200 : 404
}

test('each credential reads what its organization has, and of all else hears one and the same refusal', async (context) => {
  let cases = 0
  const byToken = new Map(deployment.credentials.map((credential) => [credential.token, credential]))
  for (const credential of byToken.values()) {
    const refusals = new Set<string>()
    for (const { path, owner, expected } of casesOfHttp()) {
      for (const accept of ['application/json', 'application/x-ndjson']) {
        // A header can't carry control characters; the rest of such a token must be refused as
        // well.
        const token = credential.token?.replace('\u0001', '%01')
        const answer = await service.http.ask('GET', path, { token, headers: { accept } })
        const title = `${credential.name}: ${path}: ${answer.text}`
        assert.equal(answer.status, expectedStatus(credential, owner), title)
        cases += 1
        if (answer.status === 200) assert.deepEqual(placesIn(answer.text, accept), expected, title)
        else assert.ok(!answer.text.includes('fCnt'), title)
        if (answer.status === 404) refusals.add(answer.text)
      }
    }
    assert.ok(refusals.size <= 1, `${credential.name}: ${[...refusals].join(' | ')}`)
  }
  context.diagnostic(`access matrix of the history: ${cases} cases`)
})

function placesIn(text: string, accept: string): string[] {
  const items: unknown =
    accept === 'application/json'
      ? (JSON.parse(text) as { readonly result: unknown }).result
      : text
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as unknown)
  return (items as { applicationID: string; devEUI: string }[]).map((item) => `${item.applicationID}/${item.devEUI}`)
}

for (const version of [4, 5] as const) {
  test(`a replay in MQTT ${version === 4 ? '3.1.1' : '5'} is granted as the topics behind it are, and brings its organization’s events alone`, async (context) => {
    const oracle = new Oracle(deployment.places)
    let cases = 0
    let granted = 0
    for (const { login, standing, name } of deployment.credentials) {
      if (standing.kind !== 'integrator' || !name.includes('a member of')) continue
      for (const shape of topicShapes(deployment.places)) {
        for (const prefix of [`$replay/${BEGINNING}/`, '$replay/0-0/', `$replay/${BEGINNING}/$replay/${BEGINNING}/`]) {
          const title = `${name}: ${prefix}${shape}`
          const { isGranted, topicNames } = await replay(login, `${prefix}${shape}`, version)
          cases += 1
          const isOwn: boolean =
            oracle.subscribe(standing, shape, version) === 'granted' && !shape.startsWith('$share/')
          // A place belongs to one partition, so `0-0` may be refused even for an own topic. No
          // topic stands behind two prefixes.
          if (prefix.startsWith('$replay/0-0')) assert.ok(isOwn || !isGranted, title)
          else assert.equal(isGranted, isOwn && prefix.lastIndexOf('$replay') === 0, title)
          for (const topicName of topicNames) {
            const [, application, , device] = topicName.split('/')
            assert.ok(stored[standing.organization].includes(`${application}/${device}`), `${title}: ${topicName}`)
          }
          granted += topicNames.length
        }
      }
    }
    context.diagnostic(`access matrix of replay: ${cases} cases, ${granted} events`)
    assert.ok(granted > 0)
  })
}

/** The result of a subscription at QoS 0, on its own connection. */
async function replay(login: Credential['login'], topicFilter: string, version: Version) {
  using client = await WireClient.open(service, version)
  assert.equal(await client.connect(login), 0)
  client.send(client.subscribePacket(topicFilter, 0))
  const topicNames: string[] = []
  let isGranted = false
  for (const packet of await packetsBeforeTheEnd(client)) {
    if (packet.cmd === 'suback') isGranted = Number(packet.granted[0]) < 0x80
    if (packet.cmd === 'publish') topicNames.push(packet.topic)
  }
  return { isGranted, topicNames }
}

/** The packets of two round trips: the second begins when the stored messages have been read. */
async function packetsBeforeTheEnd(client: WireClient) {
  const first = await client.ping()
  if (first === 'closed') return []
  const second = await client.ping()
  return second === 'closed' ? first : [...first, ...second]
}
