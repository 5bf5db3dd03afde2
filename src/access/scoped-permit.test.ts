/** The rights of a token with a scope: by properties over many scopes, and over live changes. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import * as fc from 'fast-check'
import { MISSED_TOPIC_NAME } from '../broker/delivery/missed-notice.ts'
import type { Credentials, Permit } from '../broker/ports/policy.ts'
import { parseScope, reachesDevice, reachesEventKind, SCOPE_EVENT_KINDS } from '../identity/tokens/scope.ts'
import type { Scope } from '../identity/tokens/scope.ts'
import { STORED_EVENT_KINDS } from '../lorawan/uplinks/event-history.ts'
import { Topic } from '../mqtt/topic.ts'
import { matches } from '../mqtt/topic-filter.ts'
import { FakeRegistry, NOW_MS } from './fake-registry.testing.ts'
import { readHolder } from './holders.ts'
import { AccessPolicy } from './policy.ts'

const [FIRST, SECOND, THIRD, FOREIGN] = ['0101010101010101', '0202020202020202', '0303030303030303', '0909090909090909']
const NOBODYS = 'ffffffffffffffff'
const TAGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  [FIRST]: { site: 'north', floor: '1' },
  [SECOND]: { site: 'north' },
  [THIRD]: {},
  [FOREIGN]: { site: 'north', floor: '1' },
}
const APPLICATION_OF: Readonly<Record<string, string>> = { [FIRST]: '5', [SECOND]: '5', [THIRD]: '6', [FOREIGN]: '7' }

/** Organization 1 has applications 5 and 6, organization 2 has application 7. */
function populated(): FakeRegistry {
  const registry = new FakeRegistry()
  registry.addOrganization('1', '5', '6')
  registry.addOrganization('2', '7')
  for (const [devEui, applicationId] of Object.entries(APPLICATION_OF)) {
    registry.addDevice(devEui, applicationId)
    registry.setTags(devEui, TAGS[devEui] ?? {})
  }
  registry.addUser('ann')
  registry.addMember('1', 'ann')
  return registry
}

let serial = 0

async function permitWith(registry: FakeRegistry, policy: AccessPolicy, scope: Scope | undefined): Promise<Permit> {
  serial += 1
  registry.addToken(`token-${serial}`, 'ann', '1', NOW_MS + 1, scope)
  const credentials: Credentials = {
    protocolVersion: 5,
    clientId: 'client',
    userName: `token-${serial}`,
    password: Buffer.from('default'),
    authenticationMethod: undefined,
    authenticationData: undefined,
    peer: { address: '203.0.113.7', listener: 'tls' },
  }
  const admission = await policy.authenticate(credentials)
  assert.ok(admission.allowed)
  return admission.permit
}

async function bench(scope: Scope | undefined) {
  const registry = populated()
  const policy = new AccessPolicy(registry)
  const permit = await permitWith(registry, policy, scope)
  return { registry, policy, permit }
}

async function codeOf(permit: Permit, topicName: string): Promise<string> {
  const decision = await permit.mayPublish(new Topic(topicName))
  return decision.allowed ? 'allowed' : decision.code
}

function subscribing(permit: Permit, topicFilter: string): string {
  const decision = permit.maySubscribe(topicFilter)
  return decision.allowed ? 'allowed' : decision.code
}

const command = (applicationId: string, devEui: string): string =>
  `application/${applicationId}/device/${devEui}/command/down`
const event = (applicationId: string, devEui: string, kind = 'up'): string =>
  `application/${applicationId}/device/${devEui}/event/${kind}`

const WORDS = {
  applicationId: ['5', '6', '7', '8'],
  devEui: [FIRST, SECOND, THIRD, FOREIGN, NOBODYS],
  kind: ['up', 'join', 'log'],
}

const anyScope = fc
  .record(
    {
      applicationIds: fc.uniqueArray(fc.constantFrom('5', '6', '7', '8'), { minLength: 1 }),
      devEuis: fc.uniqueArray(fc.constantFrom(...WORDS.devEui), { minLength: 1 }),
      tags: fc.constantFrom({ site: 'north' }, { site: 'north', floor: '1' }, { site: 'south' }),
      eventKinds: fc.uniqueArray(fc.constantFrom('up', 'join'), { minLength: 1 }),
      isReadOnly: fc.constant(true),
    },
    { requiredKeys: [] },
  )
  .map((body) => {
    const parsed = parseScope(body)
    assert.ok(parsed.ok)
    return parsed.value
  })

const anyFilter = fc
  .tuple(
    fc.constantFrom('+', ...WORDS.applicationId),
    fc.constantFrom('+', ...WORDS.devEui),
    fc.constantFrom('+', 'response', ...WORDS.kind),
  )
  .map(([applicationId, devEui, kind]) => event(applicationId, devEui, kind))

const anyTopic = fc.record({
  applicationId: fc.constantFrom(...WORDS.applicationId),
  devEui: fc.constantFrom(...WORDS.devEui),
  kind: fc.constantFrom(...WORDS.kind),
})

it('scopes can name every kind of event that is stored', () => {
  assert.deepEqual(SCOPE_EVENT_KINDS, STORED_EVENT_KINDS)
})

it('whatever is subscribed to: a message comes when it is of the organization and within the scope, and else never', async () => {
  await fc.assert(
    fc.asyncProperty(anyScope, anyFilter, anyTopic, async (scope, topicFilter, { applicationId, devEui, kind }) => {
      const { permit } = await bench(scope)
      const topicName = event(applicationId, devEui, kind)
      const isGranted = permit.maySubscribe(topicFilter).allowed
      const gets = isGranted && matches(topicFilter, topicName) && (permit.mayReceive?.(new Topic(topicName)) ?? true)
      const isOwn = applicationId === '5' || applicationId === '6'
      // The tags are those of the organization's own devices.
      const tags = devEui === FOREIGN ? {} : (TAGS[devEui] ?? {})
      const isWithin = reachesDevice(scope, { applicationId, devEui, tags }) && reachesEventKind(scope, kind)
      if (gets) assert.ok(isOwn && isWithin, `${topicName} by ${topicFilter}`)
      // The filter of the application's topic brings everything that the token may get.
      if (isOwn && isWithin && topicFilter === event(applicationId, '+', '+')) assert.ok(gets, topicName)
    }),
    { numRuns: 500 },
  )
})

it('a command goes to a device of the organization within the scope, and else nowhere', async () => {
  await fc.assert(
    fc.asyncProperty(anyScope, anyTopic, async (scope, { applicationId, devEui }) => {
      const { permit } = await bench(scope)
      const isThere = APPLICATION_OF[devEui] === applicationId && applicationId !== '7'
      const isWithin = reachesDevice(scope, { applicationId, devEui, tags: TAGS[devEui] ?? {} })
      const expected =
        scope?.isReadOnly === true ? 'publish_read_only' : isThere && isWithin ? 'allowed' : 'publish_not_granted'
      assert.equal(await codeOf(permit, command(applicationId, devEui)), expected)
    }),
    { numRuns: 300 },
  )
})

describe('a token without a scope', () => {
  it('is not asked at deliveries, and is told nothing of parts', async () => {
    const { permit } = await bench(undefined)
    assert.equal(permit.mayReceive, undefined)
    assert.equal(permit.whyNarrower?.(event('5', '+', '+')), undefined)
  })

  it('that is only read-only is not asked at deliveries either', async () => {
    const { permit } = await bench({ isReadOnly: true })
    assert.equal(permit.mayReceive, undefined)
    assert.equal(subscribing(permit, event('5', '+', '+')), 'allowed')
  })
})

describe('a subscription of a narrow token', () => {
  it('that names something outside is refused in one way, whatever is there', async () => {
    const { permit } = await bench({ applicationIds: ['5'], devEuis: [FIRST, THIRD], eventKinds: ['up'] })
    for (const topicFilter of [
      event('6', '+', '+'),
      event('7', '+', '+'),
      event('8', '+', '+'),
      event('5', SECOND, '+'),
      event('5', FOREIGN, '+'),
      event('5', NOBODYS, '+'),
      event('5', FIRST, 'join'),
      event('5', FIRST, 'no-kind'),
    ]) {
      assert.equal(subscribing(permit, topicFilter), 'subscribe_outside_scope', topicFilter)
    }
    for (const topicFilter of [event('5', '+', '+'), event('5', FIRST, 'up'), event('5', '+', 'response')]) {
      assert.equal(subscribing(permit, topicFilter), 'allowed', topicFilter)
    }
    for (const topicFilter of ['#', 'application/#', 'application/5/#', 'application/+/device/+/event/+']) {
      assert.equal(subscribing(permit, topicFilter), 'subscribe_wildcard_not_granted', topicFilter)
    }
    assert.equal(subscribing(permit, MISSED_TOPIC_NAME), 'allowed')
  })

  it('tells what it brings where its wildcards reach further', async () => {
    const { permit } = await bench({
      applicationIds: ['5'],
      devEuis: [FIRST],
      tags: { site: 'north' },
      eventKinds: ['up'],
    })
    const only = '1 device, devices with 1 tag, events of the kind up'
    assert.equal(permit.whyNarrower?.(event('5', '+', '+')), only)
    assert.equal(permit.whyNarrower?.(event('5', FIRST, 'up')), undefined)
  })

  it('is not told of a device in an application that is outside', async () => {
    const { permit } = await bench({ applicationIds: ['5'] })
    const why = await permit.whyUnmatched?.(event('5', THIRD, 'up'))
    assert.equal(why?.code, 'device_unknown')
  })
})

describe('live', () => {
  it('a device that gets or loses a tag comes and goes without another subscription', async () => {
    const { registry, permit } = await bench({ tags: { site: 'north' } })
    const third = new Topic(event('6', THIRD))
    assert.equal(permit.mayReceive?.(third), false)
    registry.setTags(THIRD, { site: 'north' })
    assert.equal(permit.mayReceive?.(third), true)
    registry.setTags(THIRD, {})
    assert.equal(permit.mayReceive?.(third), false)
  })

  it('an application that is removed brings nothing, and nothing when another organization makes it anew', async () => {
    const { registry, permit } = await bench({ applicationIds: ['5'] })
    const topic = new Topic(event('5', FIRST))
    assert.equal(permit.mayReceive?.(topic), true)
    registry.removeApplication('5')
    assert.equal(permit.mayReceive?.(topic), false)
    registry.addApplication('5', '2')
    assert.equal(permit.mayReceive?.(topic), false)
    assert.equal(subscribing(permit, event('5', '+', '+')), 'subscribe_application_not_granted')
    assert.equal(await codeOf(permit, command('5', FIRST)), 'publish_not_granted')
  })

  it('a member who becomes read-only sends no more commands, and keeps its connection and its events', async () => {
    const { registry, permit } = await bench(undefined)
    const ends: unknown[] = []
    permit.watch({ permitChanged: (end) => ends.push(end) })
    assert.equal(await codeOf(permit, command('5', FIRST)), 'allowed')
    registry.setReadOnly('1', 'ann', true)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await codeOf(permit, command('5', FIRST)), 'publish_read_only')
    assert.equal(
      await codeOf(permit, command('7', FOREIGN)),
      'publish_read_only',
      'the answer tells nothing of devices',
    )
    assert.equal(subscribing(permit, event('5', '+', '+')), 'allowed')
    registry.setReadOnly('1', 'ann', false)
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await codeOf(permit, command('5', FIRST)), 'allowed')
    assert.deepEqual(ends, [])
  })

  it('a permit that was asked for before its member became read-only is read-only once it is held', async () => {
    const registry = populated()
    const policy = new AccessPolicy(registry)
    const letGo = registry.hold('applicationsOf')
    const asked = permitWith(registry, policy, undefined)
    await new Promise((resolve) => setImmediate(resolve))
    registry.setReadOnly('1', 'ann', true)
    letGo()
    const permit = await asked
    permit.watch({ permitChanged: () => {} })
    await new Promise((resolve) => setImmediate(resolve))
    assert.equal(await codeOf(permit, command('5', FIRST)), 'publish_read_only')
  })

  it('a Will Message after a restart has the scope of its token', async () => {
    const { registry, policy } = await bench(undefined)
    registry.addToken('narrow', 'ann', '1', NOW_MS + 1, { devEuis: [FIRST] })
    registry.addToken('reading', 'ann', '1', NOW_MS + 1, { isReadOnly: true })
    const [narrow, reading] = [await policy.permitOn('token:narrow'), await policy.permitOn('token:reading')]
    assert.ok(narrow !== undefined && reading !== undefined)
    assert.equal(await codeOf(narrow, command('5', FIRST)), 'allowed')
    assert.equal(await codeOf(narrow, command('5', SECOND)), 'publish_not_granted')
    assert.equal(await codeOf(reading, command('5', FIRST)), 'publish_read_only')
  })
})

it('tokens with the same limits are of one identity, others are not, and all belong to the user', async () => {
  const registry = populated()
  const policy = new AccessPolicy(registry)
  const scope: Scope = { devEuis: [FIRST], isReadOnly: true }
  const [whole, narrow, again, other] = [
    await permitWith(registry, policy, undefined),
    await permitWith(registry, policy, scope),
    await permitWith(registry, policy, scope),
    await permitWith(registry, policy, { devEuis: [FIRST] }),
  ]
  assert.equal(whole.identity, 'user:ann')
  assert.equal(narrow.identity, again.identity)
  assert.equal(new Set([whole.identity, narrow.identity, other.identity]).size, 3)
  for (const permit of [whole, narrow, other]) assert.equal(readHolder(permit).userId, 'ann')
  registry.setReadOnly('1', 'ann', true)
  assert.equal((await permitWith(registry, policy, undefined)).identity, 'user:ann', 'a live right is no part of it')
})
