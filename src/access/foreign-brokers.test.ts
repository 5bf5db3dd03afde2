import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Scope } from '../identity/tokens/scope.ts'
import { FakeRegistry, NOW_MS } from './fake-registry.testing.ts'
import { ForeignBrokers } from './foreign-brokers.ts'
import type { ForeignClient, Verdict } from './foreign-brokers.ts'
import { AccessPolicy } from './policy.ts'

const DEVICE = '0101010101010101'
const FOREIGN_DEVICE = '0202020202020202'

let registry: FakeRegistry
let brokers: ForeignBrokers

/** Organization 1 has application 5, and organization 2 has application 7. */
beforeEach(() => {
  registry = new FakeRegistry()
  registry.addOrganization('1', '5')
  registry.addOrganization('2', '7')
  registry.addDevice(DEVICE, '5')
  registry.addDevice(FOREIGN_DEVICE, '7')
  registry.addUser('ann')
  registry.addMember('1', 'ann')
  registry.addToken('ann-1', 'ann', '1', NOW_MS + 5_000)
  registry.addCredential('own', '1')
  registry.addCredential('all', null)
  brokers = new ForeignBrokers({ policy: new AccessPolicy(registry), changes: registry.changes })
})

const client = (userName: string, onlyOrganizationId?: string): ForeignClient => ({ userName, onlyOrganizationId })
const ann = client('ann-1')
const codeOf = (verdict: Verdict): string => (verdict.allowed ? 'allowed' : verdict.code)

describe('a CONNECT to a foreign broker', () => {
  it('is allowed with a token, until the token’s end', async () => {
    const verdict = await brokers.mayConnect(ann, { password: 'default', clientId: '1-dashboard' })
    assert.deepEqual(verdict, { allowed: true, expiresAtMs: NOW_MS + 5_000 })
  })

  for (const [title, who, password, clientId, code] of [
    ['a token that nobody issued', client('nobody-1'), 'default', '1-a', 'token_malformed'],
    ['another password than the word default', ann, 'Default', '1-a', 'password_invalid'],
    ['a Client Identifier of another organization', ann, 'default', '2-dashboard', 'hook_client_id_not_own'],
    ['a Client Identifier of an organization whose id begins alike', ann, 'default', '11-a', 'hook_client_id_not_own'],
    ['no Client Identifier', ann, 'default', '', 'hook_client_id_not_own'],
    ['the broker of another organization', client('ann-1', '2'), 'default', '1-a', 'hook_organization_other'],
    ['a credential with a wrong password', client('network-server-own'), 'wrong', '1-a', 'service_credential_invalid'],
  ] as const) {
    it(`is refused with ${title}`, async () => {
      assert.equal(codeOf(await brokers.mayConnect(who, { password, clientId })), code)
    })
  }

  it('may have any Client Identifier at a broker of the organization alone', async () => {
    const verdict = await brokers.mayConnect(client('ann-1', '1'), { password: 'default', clientId: '2-dashboard' })
    assert.equal(codeOf(verdict), 'allowed')
  })

  it('may have the Client Identifier that mosquitto makes up', async () => {
    const clientId = 'auto-0123ABCD-0123-4567-89AB-0123456789AB'
    assert.equal(codeOf(await brokers.mayConnect(ann, { password: 'default', clientId })), 'allowed')
  })

  it('of a network server may have a Client Identifier that begins with its user name', async () => {
    const all = client('network-server-all')
    const given = (clientId: string) => brokers.mayConnect(all, { password: 'secret', clientId })
    assert.equal(codeOf(await given('network-server-all-1')), 'allowed')
    assert.equal(codeOf(await given('1-a')), 'hook_client_id_not_own')
  })
})

describe('the rights of a token at a foreign broker', () => {
  const events = `application/5/device/${DEVICE}/event`
  for (const [topicFilter, code] of [
    ['application/5/device/+/event/+', 'allowed'],
    ['$share/a/application/5/device/+/event/up', 'allowed'],
    [`${events}/up`, 'allowed'],
    ['application/7/device/+/event/+', 'subscribe_application_not_granted'],
    ['$share/a/application/7/device/+/event/up', 'subscribe_application_not_granted'],
    ['application/+/device/+/event/+', 'subscribe_wildcard_not_granted'],
    ['#', 'subscribe_wildcard_not_granted'],
    ['$share/a/#', 'subscribe_wildcard_not_granted'],
    ['$share//a', 'hook_topic_invalid'],
    ['a/#/b', 'hook_topic_invalid'],
    ['', 'hook_topic_invalid'],
    ['$queue/application/7/device/+/event/up', 'subscribe_not_granted'],
  ] as const) {
    it(`judge the Topic Filter ${topicFilter || '""'}: ${code}`, async () => {
      for (const asksAtDelivery of [false, true]) {
        assert.equal(codeOf(await brokers.maySubscribe(ann, topicFilter, asksAtDelivery)), code)
      }
    })
  }

  for (const [topicName, code] of [
    [`application/5/device/${DEVICE}/command/down`, 'allowed'],
    [`application/7/device/${FOREIGN_DEVICE}/command/down`, 'publish_not_granted'],
    [`application/5/device/${FOREIGN_DEVICE}/command/down`, 'publish_not_granted'],
    [`${events}/up`, 'publish_not_granted'],
    ['application/5/device/+/command/down', 'hook_topic_invalid'],
  ] as const) {
    it(`judge a PUBLISH to ${topicName}: ${code}`, async () => {
      assert.equal(codeOf(await brokers.mayPublish(ann, topicName)), code)
    })
  }

  it('judge each delivery by the topic', async () => {
    assert.equal(codeOf(await brokers.mayReceive(ann, `${events}/up`)), 'allowed')
    const foreign = `application/7/device/${FOREIGN_DEVICE}/event/up`
    assert.equal(codeOf(await brokers.mayReceive(ann, foreign)), 'subscribe_application_not_granted')
    assert.equal(codeOf(await brokers.mayReceive(ann, 'application/5/device/+/event/up')), 'hook_topic_invalid')
  })

  it('end with the next question after a revocation', async () => {
    assert.equal(codeOf(await brokers.mayReceive(ann, `${events}/up`)), 'allowed')
    registry.revokeToken('ann-1')
    for (const verdict of [
      await brokers.isAdmitted(ann),
      await brokers.mayReceive(ann, `${events}/up`),
      await brokers.maySubscribe(ann, `${events}/up`, true),
      await brokers.mayPublish(ann, `application/5/device/${DEVICE}/command/down`),
    ]) {
      assert.equal(codeOf(verdict), 'token_revoked')
    }
  })
})

describe('a narrow token at a foreign broker', () => {
  const OTHER_DEVICE = '0303030303030303'
  const scoped = async (scope: Scope) => {
    registry.addDevice(OTHER_DEVICE, '5')
    registry.addToken('narrow-1', 'ann', '1', NOW_MS + 5_000, scope)
    const narrow = client('narrow-1')
    return {
      subscribe: async (topicFilter: string, asksAtDelivery = false) =>
        codeOf(await brokers.maySubscribe(narrow, topicFilter, asksAtDelivery)),
      receive: async (topicName: string) => codeOf(await brokers.mayReceive(narrow, topicName)),
      publish: async (topicName: string) => codeOf(await brokers.mayPublish(narrow, topicName)),
    }
  }

  it('for one application subscribes to all of it', async () => {
    const { subscribe } = await scoped({ applicationIds: ['5'] })
    assert.equal(await subscribe('application/5/device/+/event/+'), 'allowed')
  })

  it('for one device subscribes to the device, and to more only where each delivery is judged', async () => {
    const { subscribe, receive } = await scoped({ devEuis: [DEVICE] })
    assert.equal(await subscribe(`application/5/device/${DEVICE}/event/+`), 'allowed')
    assert.equal(await subscribe('application/5/device/+/event/+'), 'hook_filter_too_wide')
    assert.equal(await subscribe('application/5/device/+/event/+', true), 'allowed')
    assert.equal(await receive(`application/5/device/${DEVICE}/event/up`), 'allowed')
    assert.notEqual(await receive(`application/5/device/${OTHER_DEVICE}/event/up`), 'allowed')
  })

  it('for one kind of event subscribes to the kind', async () => {
    const { subscribe } = await scoped({ eventKinds: ['up'] })
    assert.equal(await subscribe('application/5/device/+/event/up'), 'allowed')
    assert.equal(await subscribe('application/5/device/+/event/+'), 'hook_filter_too_wide')
  })

  it('for reading sends no command', async () => {
    const { publish } = await scoped({ isReadOnly: true })
    assert.notEqual(await publish(`application/5/device/${DEVICE}/command/down`), 'allowed')
  })
})

describe('the rights of a network server at a foreign broker', () => {
  const own = client('network-server-own')
  const all = client('network-server-all')
  const everyCommand = 'application/+/device/+/command/down'
  const foreignCommand = `application/7/device/${FOREIGN_DEVICE}/command/down`

  it('let it publish events of its organization alone', async () => {
    assert.equal(codeOf(await brokers.mayPublish(own, `application/5/device/${DEVICE}/event/up`)), 'allowed')
    const foreign = `application/7/device/${FOREIGN_DEVICE}/event/up`
    assert.equal(codeOf(await brokers.mayPublish(own, foreign)), 'event_device_unknown')
    assert.equal(codeOf(await brokers.mayPublish(all, foreign)), 'allowed')
  })

  it('let it subscribe to the commands of all where each delivery is judged, and keep those of others from it', async () => {
    assert.equal(codeOf(await brokers.maySubscribe(own, everyCommand, true)), 'allowed')
    assert.equal(codeOf(await brokers.mayReceive(own, foreignCommand)), 'subscribe_not_granted')
    assert.equal(codeOf(await brokers.mayReceive(own, `application/5/device/${DEVICE}/command/down`)), 'allowed')
  })

  it('refuse a filter that is wider than its organization where no delivery is judged', async () => {
    assert.equal(codeOf(await brokers.maySubscribe(own, everyCommand, false)), 'hook_filter_too_wide')
    const device = `application/5/device/${DEVICE}/command`
    assert.equal(codeOf(await brokers.maySubscribe(own, `${device}/+`, false)), 'allowed')
    assert.equal(codeOf(await brokers.maySubscribe(own, `${device}/down`, false)), 'allowed')
    const application = 'application/5/device/+/command/down'
    assert.equal(codeOf(await brokers.maySubscribe(own, application, false)), 'allowed')
    const foreign = 'application/7/device/+/command/down'
    assert.equal(codeOf(await brokers.maySubscribe(own, foreign, false)), 'subscribe_not_granted')
    assert.equal(codeOf(await brokers.maySubscribe(all, everyCommand, false)), 'allowed')
  })

  it('end with the next question after the credential is revoked', async () => {
    assert.equal(codeOf(await brokers.isAdmitted(own)), 'allowed')
    registry.revokeCredential('own')
    assert.equal(codeOf(await brokers.isAdmitted(own)), 'service_credential_invalid')
  })
})

describe('the Client Identifier of a queue', () => {
  it('must be one that the client may use', async () => {
    assert.equal(codeOf(await brokers.mayUseClientId(ann, '1-a')), 'allowed')
    assert.equal(codeOf(await brokers.mayUseClientId(ann, '2-a')), 'hook_client_id_not_own')
    assert.equal(codeOf(await brokers.mayUseClientId(client('nobody'), '1-a')), 'token_malformed')
  })
})
