/** Properties of the permits, against an oracle that enumerates topics. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { assert as assertProperty, constantFrom, integer, property, tuple } from 'fast-check'
import { EXPIRY_TOPIC_NAME } from '../broker/delivery/expiry-notice.ts'
import { MISSED_TOPIC_NAME } from '../broker/delivery/missed-notice.ts'
import type { PermitWatcher } from '../broker/ports/policy.ts'
import { Topic } from '../mqtt/topic.ts'
import { FakeRegistry } from './fake-registry.testing.ts'
import type { BrokerAccessClaims } from '../identity/tokens/tokens.ts'
import { IntegratorPermit } from './integrator-permit.ts'
import { NetworkServerPermit } from './network-server-permit.ts'

const DEVICE = '0101010101010101'
const DISABLED = '0202020202020202'
const FOREIGN = '0303030303030303'
const NOBODYS = '0404040404040404'

/** Organization 1 has application 5 with two devices, organization 2 has application 7 with one. */
const registry = new FakeRegistry()
registry.addOrganization('1', '5')
registry.addOrganization('2', '7')
registry.addDevice(DEVICE, '5')
registry.addDevice(DISABLED, '5', { isDisabled: true })
registry.addDevice(FOREIGN, '7')
const own = new Set(['5'])
const common = {
  directory: registry.directory,
  maximumMessagesPerSecond: 1,
  holders: { held: () => {}, released: () => {} },
}
const ofUsers = { ...common, madeAtMs: async () => 0, recheck: async (claims: BrokerAccessClaims) => claims }
const ofUser = {
  claims: { userId: '3', organizationId: '1', tokenId: 't', expiresAtMs: 0 },
  applications: own,
  seenChanges: 0,
}
const ofServer = { ...common, seenChanges: 0, recheck: async () => undefined }
const integrator = new IntegratorPermit(ofUsers, ofUser)
const ownServer = new NetworkServerPermit({
  ...ofServer,
  credential: { id: 'own', organizationId: '1' },
  applications: own,
})
const deploymentServer = new NetworkServerPermit({
  ...ofServer,
  credential: { id: 'all', organizationId: null },
  applications: undefined,
})

/** The words of each level. Every filter of these words matches a Topic Name of these words. */
const LEVELS: readonly (readonly string[])[] = [
  ['application', '$SYS', 'other'],
  ['5', '7', ''],
  ['device', 'gateway'],
  [DEVICE, DISABLED, FOREIGN, NOBODYS, 'reader'],
  ['event', 'command'],
  ['up', 'down', 'response'],
  ['more'],
]

/** All Topic Names of one to seven of these words. */
const TOPIC_NAMES: readonly string[] = LEVELS.flatMap((_, index) =>
  LEVELS.slice(0, index + 1)
    .reduce<readonly (readonly string[])[]>(
      (names, words) => names.flatMap((name) => words.map((word) => name.concat(word))),
      [[]],
    )
    .map((name) => name.join('/')),
)

/** Whether a filter matches a name, level by level as MQTT 5.0 §4.7 has it. */
function oracleMatches(filter: string, name: string): boolean {
  const [asked, given] = [filter.split('/'), name.split('/')]
  if (name.startsWith('$') && (asked[0] === '+' || asked[0] === '#')) return false
  for (const [index, word] of asked.entries()) {
    if (word === '#') return true
    if (index >= given.length || (word !== '+' && word !== given[index])) return false
  }
  return asked.length === given.length
}

function isEvent(name: string, applicationId: string): boolean {
  const [application, id, device, , event, , more] = name.split('/')
  const isShape = name.split('/').length === 6 && more === undefined
  return isShape && application === 'application' && id === applicationId && device === 'device' && event === 'event'
}

function isCommand(name: string, applicationIds: readonly string[]): boolean {
  const [application, id = '', device, devEui = '', command, down] = name.split('/')
  const isShape = name.split('/').length === 6 && /^(?:0\d){8}$/.test(devEui)
  return (
    isShape &&
    application === 'application' &&
    applicationIds.includes(id) &&
    device === 'device' &&
    command === 'command' &&
    down === 'down'
  )
}

/** Filters with `+` in any level, and perhaps `#` as the last. */
const topicFilter = tuple(
  tuple(...LEVELS.map((words) => constantFrom(words[0] as string, ...words, '+'))),
  integer({ min: 0, max: LEVELS.length }),
  constantFrom(true, false),
).map(([words, length, isOpen]) => {
  const levels = words.slice(0, length)
  return (isOpen || length === 0 ? levels.concat('#') : levels).join('/')
})

const matched = (filter: string) => TOPIC_NAMES.filter((name) => oracleMatches(filter, name))

/** The Topic Names to which the permit may publish. */
async function publishable(permit: IntegratorPermit | NetworkServerPermit): Promise<readonly string[]> {
  const allowed: string[] = []
  for (const name of TOPIC_NAMES) {
    const decision = await permit.mayPublish(new Topic(name))
    if (decision.allowed && decision.as === undefined) allowed.push(name)
  }
  return allowed
}

/** The code of the refusal, and what it does to a client that can't be told. */
const codeOf = async (permit: IntegratorPermit | NetworkServerPermit, topicName: string) => {
  const decision = await permit.mayPublish(new Topic(topicName))
  return decision.allowed ? 'allowed' : `${decision.code} ${decision.untold}`
}

describe('containment', () => {
  it('an integrator may subscribe exactly to filters that match events of its applications alone', () => {
    assertProperty(
      property(topicFilter, (filter) => {
        const names = matched(filter)
        const expected = names.length > 0 && names.every((name) => isEvent(name, '5'))
        assert.equal(integrator.maySubscribe(filter).allowed, expected, filter)
      }),
      { numRuns: 1_500 },
    )
  })

  it('a network server of an organization gets nothing but commands of its applications, however wide its filter', () => {
    assertProperty(
      property(topicFilter, (filter) => {
        if (!ownServer.maySubscribe(filter).allowed) return
        const received = matched(filter).filter((name) => ownServer.mayReceive?.(new Topic(name)) === true)
        for (const name of received) assert.ok(isCommand(name, ['5']), `${filter} brings ${name}`)
      }),
      { numRuns: 1_500 },
    )
    assert.equal(ownServer.maySubscribe('application/+/device/+/command/down').allowed, true)
  })

  it('a network server of the deployment may subscribe to no filter that matches an event', () => {
    assertProperty(
      property(topicFilter, (filter) => {
        if (!deploymentServer.maySubscribe(filter).allowed) return
        const events = matched(filter).filter((name) => isEvent(name, '5') || isEvent(name, '7'))
        assert.deepEqual(events, [], filter)
      }),
      { numRuns: 1_500 },
    )
  })
})

describe('of all topics', () => {
  it('an integrator may publish commands to enabled devices of its organization, and nothing else', async () => {
    const waits = TOPIC_NAMES.filter((name) => integrator.mayPublish(new Topic(name)) instanceof Promise)
    assert.deepEqual(waits, [], 'the answers are at hand')
    assert.deepEqual(await publishable(integrator), [`application/5/device/${DEVICE}/command/down`])
  })

  it('a network server may publish events of enabled devices in its applications, and nothing else', async () => {
    const ofOwn = `application/5/device/${DEVICE}/event/up`
    assert.deepEqual(await publishable(ownServer), [ofOwn])
    assert.deepEqual(await publishable(deploymentServer), [ofOwn, `application/7/device/${FOREIGN}/event/up`])
  })

  it('the answers are the same where places of devices have to be looked up', async () => {
    registry.isSlow = true
    try {
      assert.deepEqual(await publishable(integrator), [`application/5/device/${DEVICE}/command/down`])
      assert.deepEqual(await publishable(ownServer), [`application/5/device/${DEVICE}/event/up`])
    } finally {
      registry.isSlow = false
    }
  })
})

describe('a refusal', () => {
  it('of a command reads the same for a device of another organization and for one that nobody has', async () => {
    const refused = 'publish_not_granted close'
    for (const topicName of [
      `application/7/device/${FOREIGN}/command/down`,
      `application/7/device/${NOBODYS}/command/down`,
      `application/5/device/${FOREIGN}/command/down`,
      `application/5/device/${NOBODYS}/command/down`,
      `application/9/device/${DEVICE}/command/down`,
      `application/5/device/${DEVICE}/event/up`,
    ]) {
      assert.equal(await codeOf(integrator, topicName), refused, topicName)
    }
    const disabled = `application/5/device/${DISABLED}/command/down`
    assert.equal(await codeOf(integrator, disabled), 'device_disabled close')
  })

  it('of an event closes no connection: the other devices’ events must flow', async () => {
    for (const [topicName, code] of [
      [`application/5/device/${NOBODYS}/event/up`, 'event_device_unknown'],
      [`application/7/device/${FOREIGN}/event/up`, 'event_device_unknown'],
      [`application/5/device/${FOREIGN}/event/up`, 'event_device_unknown'],
      [`application/5/device/${DISABLED}/event/up`, 'device_disabled'],
      [`application/5/device/${DEVICE}/command/down`, 'event_topic_invalid'],
      ['meters', 'event_topic_invalid'],
    ] as const) {
      assert.equal(await codeOf(ownServer, topicName), `${code} discard`, topicName)
    }
    const foreign = await codeOf(deploymentServer, `application/5/device/${FOREIGN}/event/up`)
    assert.equal(foreign, 'event_device_unknown discard', 'the device is not of this application')
  })
})

it('an integrator may subscribe to the notices of its own Session, which match no event', () => {
  for (const topicName of [MISSED_TOPIC_NAME, EXPIRY_TOPIC_NAME]) {
    assert.equal(integrator.maySubscribe(topicName).allowed, true)
    assert.equal(integrator.whyUnmatched(topicName), undefined)
    assert.equal(ownServer.maySubscribe(topicName).allowed, false)
  }
  assert.equal(integrator.maySubscribe('$notice/+').allowed, false)
})

it('what a filter matches is the tenant’s since its application was made', async () => {
  const asked: string[] = []
  const madeAtMs = async (applicationId: string): Promise<number> => {
    asked.push(applicationId)
    return applicationId === '5' ? 7 : Infinity
  }
  const permit = new IntegratorPermit({ ...ofUsers, madeAtMs }, ofUser)
  assert.equal(await permit.belongsSinceMs('application/5/device/+/event/+'), 7)
  assert.equal(await permit.belongsSinceMs(MISSED_TOPIC_NAME), Infinity)
  assert.deepEqual(asked, ['5', ''])
})

it('a fault in an event is told under one topic for all devices of an application', () => {
  const fault = ownServer.inspect(
    new Topic(`application/5/device/${DEVICE}/event/up`),
    { payload: Buffer.from([0x0a, 0xff]) },
    0,
  )
  assert.equal(fault?.topic, 'application/5/device/+/event/up')
  assert.equal(
    ownServer.inspect(new Topic(`application/5/device/${DEVICE}/command/down`), { payload: Buffer.from([0xff]) }, 0),
    undefined,
  )
})

it('a permit that is over allows no PUBLISH, and whoever watches it is told until it lets go', () => {
  for (const permit of [
    new NetworkServerPermit({ ...ofServer, credential: { id: 'own', organizationId: '1' }, applications: own }),
    new IntegratorPermit(ofUsers, ofUser),
  ]) {
    const told: (string | undefined)[] = []
    const watcher: PermitWatcher = { permitChanged: (end) => told.push(end?.code) }
    permit.watch(watcher)
    permit.tell(undefined)
    const isIntegrator = permit instanceof IntegratorPermit
    const topic = new Topic(`application/5/device/${DEVICE}/${isIntegrator ? 'command/down' : 'event/up'}`)
    assert.deepEqual(permit.mayPublish(topic), { allowed: true }, 'perhaps narrower, and not over')
    permit.unwatch(watcher)
    permit.tell({ reasonCode: 0x98, reason: 'gone', code: 'gone' })
    assert.deepEqual(told, [undefined])
    const decision = permit.mayPublish(topic)
    assert.ok(!(decision instanceof Promise) && !decision.allowed)
    assert.equal(decision.code, 'permit_over')
  }
})

/** Whether the network servers of the deployment, and of organization 1, may publish events. */
async function answers(topic: Topic, on = registry): Promise<readonly string[]> {
  const options = { ...ofServer, directory: on.directory }
  const permits = [
    new NetworkServerPermit({ ...options, credential: { id: 'all', organizationId: null }, applications: undefined }),
    new NetworkServerPermit({ ...options, credential: { id: 'own', organizationId: '1' }, applications: own }),
  ]
  const codes: string[] = []
  for (const permit of permits) {
    const decision = await permit.mayPublish(topic)
    codes.push(decision.allowed ? (decision.as?.name ?? 'allowed') : decision.code)
  }
  return codes
}

describe('the answer that a topic keeps', () => {
  const NEW = '0505050505050505'

  it('is forgotten with each change of the device and of its application', async () => {
    const unknown = ['event_device_unknown', 'event_device_unknown']
    const topic = new Topic(`application/5/device/${NEW}/event/up`)
    assert.deepEqual(await answers(topic), unknown)
    registry.addDevice(NEW, '5')
    assert.deepEqual(await answers(topic), ['allowed', 'allowed'])
    registry.addDevice(NEW, '5', { isDisabled: true })
    assert.deepEqual(await answers(topic), ['device_disabled', 'device_disabled'])
    registry.addDevice(NEW, '7')
    assert.deepEqual(await answers(topic), unknown)
    const elsewhere = new Topic(`application/7/device/${NEW}/event/up`)
    assert.deepEqual(await answers(elsewhere), ['allowed', 'event_device_unknown'])
    registry.addDevice(NEW, '5')
    assert.deepEqual(await answers(topic), ['allowed', 'allowed'])
    // The organization does not learn whether another organization has the application.
    const own5 = `application/5/device/${NEW}/event/up`
    assert.deepEqual(await answers(elsewhere), ['event_device_unknown', own5])
    assert.deepEqual(await answers(new Topic(`application/99/device/${NEW}/event/up`)), [own5, own5])
    const whole = new FakeRegistry()
    whole.addOrganization('1', '5')
    whole.addDevice(NEW, '5')
    assert.deepEqual(await answers(topic, whole), ['allowed', 'allowed'])
    whole.removeApplication('5')
    assert.deepEqual(await answers(topic, whole), unknown)
    assert.deepEqual(await answers(topic), ['allowed', 'allowed'], 'another registry has its own answer')
  })

  it('does not outlive the permit, and does not widen another one', () => {
    const topic = new Topic(`application/7/device/${FOREIGN}/event/up`)
    const all = new NetworkServerPermit({
      ...ofServer,
      credential: { id: 'all', organizationId: null },
      applications: undefined,
    })
    assert.deepEqual(all.mayPublish(topic), { allowed: true })
    const narrow = ownServer.mayPublish(topic)
    assert.ok(!(narrow instanceof Promise) && !narrow.allowed)
    all.tell({ reasonCode: 0x98, reason: 'revoked', code: 'revoked' })
    const over = all.mayPublish(topic)
    assert.ok(!(over instanceof Promise) && !over.allowed && over.code === 'permit_over')
  })
})
