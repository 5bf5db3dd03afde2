/** An organization at its bounds takes no room from another one, before and after a restart. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import type { ServiceCredential } from '../support/administration.ts'
import { LiveConnections } from '../support/live-connections.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import { codeOf, reasonOf } from '../support/wire-client.ts'
import type { WireClient } from '../support/wire-client.ts'

interface Place {
  readonly organizationId: string
  readonly token: string
  readonly topics: readonly string[]
  readonly filter: string
}

const environment = {
  FIELDGATE_MAXIMUM_SESSIONS_PER_ORGANIZATION: '2',
  FIELDGATE_MAXIMUM_SUBSCRIPTIONS_PER_ORGANIZATION: '2',
  FIELDGATE_MAXIMUM_RETAINED_MESSAGES_PER_ORGANIZATION: '2',
}

let dataDirectory: string
let service: RunningService
let administration: Administration
let live: LiveConnections
let full: Place
let other: Place
let changing: Place
let credential: ServiceCredential

before(async () => {
  dataDirectory = await makeFolder()
  await start()
  full = await makePlace()
  other = await makePlace()
  changing = await makePlace()
  credential = await administration.serviceCredential('')
})

after(async () => {
  await stop()
  await rm(dataDirectory, { recursive: true, force: true })
})

async function start(): Promise<void> {
  service = await startInProcess({ dataDirectory, environment })
  administration = new Administration(service)
  live = new LiveConnections(service)
}

async function stop(): Promise<void> {
  live.closeAll()
  await service.stop()
}

async function makePlace(): Promise<Place> {
  const organizationId = await administration.organization()
  const applicationId = await administration.application(organizationId)
  const topics: string[] = []
  for (let count = 0; count < 3; count += 1) {
    topics.push(`application/${applicationId}/device/${await administration.device(applicationId)}/event/status`)
  }
  const token = await administration.brokerToken(service.adminSession, organizationId)
  return { organizationId, token, topics, filter: `application/${applicationId}/device/+/event/status` }
}

function keptSession({ token }: Place, clientId: string): Promise<WireClient> {
  return live.integrator(5, token, { clientId, clean: false, properties: { sessionExpiryInterval: 600 } })
}

/** A topic without a retained message. */
function upOf({ topics }: Place, index: number): string {
  return (topics[index] ?? '').replace('/status', '/up')
}

function devEuiOf(topic: string): string {
  return topic.split('/')[3] ?? ''
}

/** Publishes retained events from a network server of the whole deployment. */
async function retain(topics: readonly string[]): Promise<void> {
  const server = await live.networkServer(credential)
  for (const topic of topics) {
    server.send(server.publishPacket(topic, '{}', 1, true))
    const puback = await server.next()
    assert.ok(puback?.cmd === 'puback' && codeOf(puback) < 0x80, JSON.stringify(puback))
  }
}

async function retainedFor(place: Place): Promise<number> {
  const reader = await live.integrator(5, place.token, { clientId: 'a', clean: true })
  assert.equal(await reader.subscribe(place.filter, 0), 0)
  const packets = await reader.ping()
  reader.destroy()
  return packets.length
}

describe('an organization at its bounds', () => {
  it('has its own room for retained messages, though one network server publishes for all', async () => {
    await retain(full.topics)
    await retain(other.topics.slice(0, 2))
    assert.equal(await retainedFor(full), 2)
    assert.equal(await retainedFor(other), 2)
    const { result } = await administration.must('GET', '/api/refusals?limit=10')
    const codes = (result as { code: string }[]).map(({ code }) => code)
    assert.deepEqual(codes, ['retained_quota'])
    await stop()
    await start()
    // The directory has no device in memory yet.
    await retain(full.topics)
    await retain(other.topics)
    assert.equal(await retainedFor(full), 2)
    assert.equal(await retainedFor(other), 2)
  })

  it('has room again when a device with a retained message is removed', async () => {
    await stop()
    await start()
    const [first = '', second = '', third = ''] = full.topics
    await administration.must('DELETE', `/api/devices/${devEuiOf(first)}`)
    assert.equal(await retainedFor(full), 1)
    await retain([third])
    assert.equal(await retainedFor(full), 2)
    await administration.must('DELETE', `/api/devices/${devEuiOf(second)}`)
    assert.equal(await retainedFor(full), 1)
    await stop()
    await start()
    assert.equal(await retainedFor(full), 1)
  })

  it('has its own Sessions and subscriptions', async () => {
    const first = await keptSession(full, 'one')
    const second = await keptSession(full, 'two')
    assert.equal(await first.subscribe(upOf(full, 0), 1), 1)
    assert.equal(await second.subscribe(upOf(full, 0), 1), 1)
    const third = await second.suback(upOf(full, 1), 1)
    assert.deepEqual(third.granted, [0x97])
    assert.match(reasonOf(third) ?? '', /too many subscriptions of this organization, which may have 2$/)
    await assert.rejects(keptSession(full, 'three'), /151 !== 0|0x97/)
    const elsewhere = await keptSession(other, 'one')
    assert.equal(await elsewhere.subscribe(upOf(other, 0), 1), 1)
    await stop()
    await start()
    await assert.rejects(keptSession(full, 'three'), /151 !== 0|0x97/)
    const again = await keptSession(full, 'one')
    assert.equal(await again.subscribe(upOf(full, 1), 1), 0x97)
    assert.equal(await again.subscribe(upOf(full, 0), 1), 1)
  })

  it('gets another bound by the API for its next SUBSCRIBE, and keeps it over a restart', async () => {
    const place = changing
    const path = `/api/organizations/${place.organizationId}/bounds`
    const boundOf = async (name: string) => {
      const { bounds } = await administration.must('GET', path)
      return (bounds as { name: string }[]).find((bound) => bound.name === name)
    }
    const reader = await keptSession(place, 'reader')
    assert.equal(await reader.subscribe(upOf(place, 0), 1), 1)
    assert.equal(await reader.subscribe(upOf(place, 1), 1), 1)
    assert.equal(await reader.subscribe(upOf(place, 2), 1), 0x97)
    assert.partialDeepStrictEqual(await boundOf('subscriptions'), {
      maximum: 2,
      isOverridden: false,
      used: 2,
      isNear: true,
    })
    await administration.must('PUT', path, { bounds: { subscriptions: 3 } })
    assert.equal(await reader.subscribe(upOf(place, 2), 1), 1)
    const own = { maximum: 3, deploymentMaximum: 2, isOverridden: true, used: 3 }
    assert.partialDeepStrictEqual(await boundOf('subscriptions'), own)
    assert.partialDeepStrictEqual(await boundOf('connections'), { used: 1 })
    await stop()
    await start()
    assert.partialDeepStrictEqual(await boundOf('subscriptions'), own)
    const again = await keptSession(place, 'reader')
    assert.equal(await again.subscribe(place.filter, 1), 0x97)
    await administration.must('PUT', path, { bounds: { subscriptions: 4 } })
    assert.equal(await again.subscribe(place.filter, 1), 1)
    await administration.must('PUT', path, { bounds: { subscriptions: null } })
    // The subscriptions above the bound stay.
    assert.equal(await again.subscribe(place.filter, 1), 1)
    assert.equal(await again.subscribe(place.filter.replace('/status', '/up'), 1), 0x97)
  })

  it('is in the status, the log and the metrics from the first look of the service on', async () => {
    await stop()
    await start()
    const until = Date.now() + 20_000
    for (;;) {
      const { numbers } = await administration.must('GET', '/api/status')
      const near = (numbers as { nearBounds: { bound: string; organizationID: string }[] }).nearBounds
      const first = near.find(({ bound }) => bound === 'subscriptions')
      if (first === undefined) {
        assert.ok(Date.now() < until, 'the service looks after a second')
        continue
      }
      assert.partialDeepStrictEqual(first, { organizationID: changing.organizationId, used: 4, maximum: 2 })
      break
    }
    const told = `"organizationId":"${changing.organizationId}"[^\\n]*"bound":"subscriptions","used":4,"maximum":2[^\\n]*organization.near_bound`
    assert.match(service.logText(), new RegExp(told))
    const { text } = await service.http.ask('GET', '/metrics')
    const labels = `{organization="${changing.organizationId}",bound="subscriptions"}`
    assert.ok(text.includes(`fieldgate_organization_usage${labels} 4\n`), text)
    assert.ok(text.includes(`fieldgate_organization_bound${labels} 2\n`), text)
  })
})
