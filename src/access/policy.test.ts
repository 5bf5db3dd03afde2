import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { beforeEach, describe, it } from 'node:test'
import type { Admission, Credentials, LostAccess, Permit, PermitEnd, PermitWatcher } from '../broker/ports/policy.ts'
import type { Change } from '../identity/store/changes.ts'
import { ReasonCodes } from '../mqtt/reason-codes.ts'
import { Topic } from '../mqtt/topic.ts'
import { FakeRegistry, NOW_MS } from './fake-registry.testing.ts'
import { AccessPolicy } from './policy.ts'

const DEVICE = '0101010101010101'
const FOREIGN_DEVICE = '0202020202020202'
const COMMANDS = 'application/+/device/+/command/down'
const commandTo = (applicationId: string, devEui = DEVICE): string =>
  `application/${applicationId}/device/${devEui}/command/down`

/**
 * Organization 1 has application 5 and the users `ann` and `bob`; organization 2 has application 7
 * and the user `cat`. `eve` is a global admin and no member.
 */
let registry: FakeRegistry
let policy: AccessPolicy
let lost: LostAccess[]
let presence: string[]

beforeEach(() => {
  registry = new FakeRegistry()
  registry.addOrganization('1', '5')
  registry.addOrganization('2', '7')
  registry.addDevice(DEVICE, '5')
  registry.addDevice(FOREIGN_DEVICE, '7')
  for (const user of ['ann', 'bob', 'cat']) {
    registry.addUser(user)
    registry.addMember(user === 'cat' ? '2' : '1', user)
  }
  registry.addUser('eve', { isAdmin: true })
  registry.addToken('ann-1', 'ann', '1')
  registry.addToken('ann-2', 'ann', '1')
  registry.addToken('bob-1', 'bob', '1')
  registry.addToken('cat-2', 'cat', '2')
  registry.addToken('eve-1', 'eve', '1')
  registry.addCredential('own', '1')
  registry.addCredential('other', '2')
  registry.addCredential('all', null)
  lost = []
  presence = []
  const limits = { integratorMessagesPerSecond: 10, networkServerMessagesPerSecond: 20 }
  policy = new AccessPolicy(registry, limits, {
    came: (tenant) => presence.push(`came ${tenant}`),
    went: (tenant) => presence.push(`went ${tenant}`),
    forget: (tenant) => presence.push(`forget ${tenant}`),
  })
  policy.watchAccess((access) => lost.push(access))
})

function connect(given: Partial<Credentials>): Promise<Admission> {
  return policy.authenticate({
    protocolVersion: 5,
    clientId: 'c',
    userName: undefined,
    password: Buffer.from('default'),
    authenticationMethod: undefined,
    authenticationData: undefined,
    peer: { address: '::1', listener: 'tls' },
    ...given,
  })
}

const withToken = (token: string): Promise<Admission> => connect({ userName: token })
const withCredential = (id: string, password = 'secret'): Promise<Admission> =>
  connect({ userName: `network-server-${id}`, password: Buffer.from(password) })

async function permitOf(admission: Promise<Admission>): Promise<Permit> {
  const admitted = await admission
  assert.ok(admitted.allowed)
  return admitted.permit
}

/** A permit that a connection holds, with all that the connection was told. */
async function hold(admission: Promise<Admission>) {
  const permit = await permitOf(admission)
  const told: (string | undefined)[] = []
  const ends: PermitEnd[] = []
  const watcher: PermitWatcher = {
    permitChanged: (end) => {
      told.push(end?.code)
      if (end !== undefined) ends.push(end)
    },
  }
  permit.watch(watcher)
  return { permit, told, ends, release: () => permit.unwatch(watcher) }
}

/** The identity of the permit that rests on the ground. */
const found = async (ground: string) => (await policy.permitOn(ground))?.identity

/** Holds a permit that was asked for by its ground. */
async function watch(asked: Promise<Permit | undefined>) {
  const told: (string | undefined)[] = []
  const permit = await asked
  assert.ok(permit)
  permit.watch({ permitChanged: (end) => told.push(end?.code) })
  await turn()
  return { told }
}

/** A refused admission: the Reason Code, the stable code and the holder's ground. */
async function refusalOf(admission: Promise<Admission>) {
  const refused = await admission
  assert.ok(!refused.allowed)
  return [refused.reasonCode, refused.code, refused.holder?.ground]
}

describe('a CONNECT', () => {
  it('by another Authentication Method than JWT is refused [MQTT-4.12.0-1]', async () => {
    const other = connect({ userName: 'ann-1', authenticationMethod: 'SCRAM-SHA-1' })
    assert.deepEqual(await refusalOf(other), [ReasonCodes.badAuthenticationMethod, 'authentication_method', undefined])
    await permitOf(connect({ userName: 'ann-1', authenticationMethod: 'JWT' }))
  })

  it('without a user name that can be a token is refused before the registry is asked', async () => {
    registry.fail('verify')
    registry.fail('credential')
    for (const userName of [undefined, 'x'.repeat(4_097), 'a\u0000b', 'network-server-own\n', '\u0085']) {
      const expected = [ReasonCodes.badUserNameOrPassword, 'user_name_invalid', undefined]
      assert.deepEqual(await refusalOf(connect({ userName })), expected)
    }
  })

  it('with a broker-access token gets a permit of its user, organization and token', async () => {
    const permit = await permitOf(withToken('ann-1'))
    const { tenant, identity, ground, expiresAtMs, maximumMessagesPerSecond } = permit
    assert.deepEqual([tenant, identity, ground], ['organization:1', 'user:ann', 'token:ann-1'])
    assert.deepEqual([expiresAtMs, maximumMessagesPerSecond], [NOW_MS + 1, 10])
    assert.equal(permit.maySubscribe('application/5/device/+/event/+').allowed, true)
    assert.equal(permit.maySubscribe('application/7/device/+/event/+').allowed, false)
  })

  it('with a token and any password but the word default is refused, and its holder is told', async () => {
    for (const password of [undefined, '', 'Default', 'default\0', 'defaul', 'secret']) {
      const refused = connect({
        userName: 'ann-1',
        password: password === undefined ? undefined : Buffer.from(password),
      })
      const expected = [ReasonCodes.badUserNameOrPassword, 'password_invalid', 'token:ann-1']
      assert.deepEqual(await refusalOf(refused), expected)
    }
    const forged = connect({ userName: 'forged', password: undefined })
    assert.deepEqual(await refusalOf(forged), [ReasonCodes.badUserNameOrPassword, 'password_invalid', undefined])
  })

  it('with a token that is good no more is refused, and its holder is told', async () => {
    const { badUserNameOrPassword, notAuthorized } = ReasonCodes
    registry.addToken('old', 'ann', '1', NOW_MS)
    registry.revokeToken('ann-2')
    registry.changeUser('bob', { isActive: false })
    registry.removeMember('2', 'cat')
    assert.deepEqual(await refusalOf(withToken('forged')), [badUserNameOrPassword, 'token_malformed', undefined])
    assert.deepEqual(await refusalOf(withToken('old')), [badUserNameOrPassword, 'token_expired', 'token:old'])
    assert.deepEqual(await refusalOf(withToken('ann-2')), [badUserNameOrPassword, 'token_revoked', 'token:ann-2'])
    assert.deepEqual(await refusalOf(withToken('bob-1')), [badUserNameOrPassword, 'user_inactive', 'token:bob-1'])
    assert.deepEqual(await refusalOf(withToken('cat-2')), [notAuthorized, 'not_a_member', 'token:cat-2'])
  })

  it('with a service credential gets a permit of its organization, or of the deployment', async () => {
    const own = await permitOf(withCredential('own'))
    assert.deepEqual([own.tenant, own.identity, own.ground], ['organization:1', 'network-server:own', 'credential:own'])
    assert.deepEqual([own.maximumMessagesPerSecond, own.expiresAtMs, own.backPressure], [20, undefined, 'own'])
    const all = await permitOf(withCredential('all'))
    assert.deepEqual([all.tenant, all.identity, all.backPressure], ['deployment', 'network-server:all', 'shared'])
  })

  it('with a service credential that is wrong is refused, whatever is wrong', async () => {
    const expected = [ReasonCodes.badUserNameOrPassword, 'service_credential_invalid', undefined]
    for (const [id, password] of [
      ['own', 'default'],
      ['own', ''],
      ['nobody', 'secret'],
    ] as const) {
      assert.deepEqual(await refusalOf(withCredential(id, password)), expected)
    }
    const without = connect({ userName: 'network-server-own', password: undefined })
    assert.deepEqual(await refusalOf(without), expected)
  })

  it('fails, and admits nobody, while the registry gives no answer', async () => {
    registry.fail('applicationsOf')
    await assert.rejects(withToken('ann-1'))
    await assert.rejects(withCredential('own'))
  })
})

describe('a re-authentication', () => {
  it('brings a new token in its Authentication Data', async () => {
    const permit = await permitOf(withToken('ann-1'))
    const renewed = await permitOf(policy.reauthenticate(permit, Buffer.from('ann-2')))
    assert.deepEqual([renewed.identity, renewed.ground], [permit.identity, 'token:ann-2'])
  })

  it('without a token that is good is refused', async () => {
    const permit = await permitOf(withToken('ann-1'))
    for (const authenticationData of [undefined, Buffer.alloc(4_097)]) {
      const refused = await refusalOf(policy.reauthenticate(permit, authenticationData))
      assert.deepEqual(refused, [ReasonCodes.notAuthorized, 'token_missing', undefined])
    }
    const forged = await refusalOf(policy.reauthenticate(permit, Buffer.from('forged')))
    assert.deepEqual(forged, [ReasonCodes.badUserNameOrPassword, 'token_malformed', undefined])
  })
})

describe('a change of the registry', () => {
  const HOLDERS = ['ann-1', 'ann-2', 'bob-1', 'cat-2', 'eve-1', 'own', 'other', 'all'] as const

  /**
   * The holders that a change reaches, with the codes that they are told. An empty code means: look
   * again.
   */
  async function reached(change: () => void): Promise<Readonly<Record<string, string>>> {
    const holders = await Promise.all(
      HOLDERS.map(async (name) => {
        const isToken = name.includes('-')
        const { told } = await hold(isToken ? withToken(name) : withCredential(name))
        return { name, told }
      }),
    )
    change()
    await turn()
    return Object.fromEntries(
      holders
        .filter(({ told }) => told.length > 0)
        .map(({ name, told }) => [name, told.map((code) => code ?? '').join()] as const),
    )
  }

  it('token_revoked ends the connections by this token, and no other', async () => {
    assert.deepEqual(await reached(() => registry.revokeToken('ann-1')), { 'ann-1': 'token_revoked' })
    assert.deepEqual(lost, [], 'the user may connect by another token, and find its Session')
  })

  it('service_credential_revoked ends the connections by this credential, and their Sessions', async () => {
    assert.deepEqual(await reached(() => registry.revokeCredential('own')), { own: 'service_credential_revoked' })
    assert.deepEqual(
      lost.map(({ tenant, identity, end }) => [tenant, identity, end.code]),
      [[undefined, 'network-server:own', 'service_credential_revoked']],
    )
  })

  it('organization_removed ends all connections of its tenant, and their Sessions', async () => {
    const ends = await reached(() => registry.removeOrganization('1'))
    assert.deepEqual(
      Object.entries(ends).map(([name, codes]) => [name, codes.split(',')[0]]),
      ['ann-1', 'ann-2', 'bob-1', 'eve-1', 'own'].map((name) => [name, 'organization_removed']),
    )
    assert.deepEqual(
      [lost[0]?.tenant, lost[0]?.identity, lost[0]?.end.code],
      ['organization:1', undefined, 'organization_removed'],
    )
    assert.ok(presence.includes('forget organization:1'))
    assert.ok(!presence.includes('forget organization:2'))
  })

  it('application_removed has the connections of its organization look again', async () => {
    const ends = await reached(() => registry.removeApplication('5'))
    assert.deepEqual(ends, { 'ann-1': '', 'ann-2': '', 'bob-1': '', 'eve-1': '', own: '' })
    assert.deepEqual(lost, [])
  })

  it('member_removed ends the connections of the user in that organization, and its Sessions there', async () => {
    registry.addMember('2', 'ann')
    registry.addToken('ann-of-2', 'ann', '2')
    const elsewhere = await hold(withToken('ann-of-2'))
    const ends = await reached(() => registry.removeMember('1', 'ann'))
    assert.deepEqual(ends, { 'ann-1': 'not_a_member', 'ann-2': 'not_a_member' })
    assert.deepEqual(elsewhere.told, [])
    assert.deepEqual(
      lost.map(({ tenant, identity, end }) => [tenant, identity, end.code]),
      [['organization:1', 'user:ann', 'not_a_member']],
    )
  })

  it('member_removed takes nothing from a global admin', async () => {
    registry.addMember('1', 'eve')
    assert.deepEqual(await reached(() => registry.removeMember('1', 'eve')), {})
    assert.deepEqual(lost, [])
  })

  it('user_changed ends the connections of a user that is inactive or has lost its rights, and no other', async () => {
    assert.deepEqual(await reached(() => registry.changeUser('bob', {})), {})
    assert.deepEqual(
      await reached(() => {
        registry.changeUser('ann', { isActive: false })
        registry.changeUser('eve', { isAdmin: false })
      }),
      { 'ann-1': 'user_inactive', 'ann-2': 'user_inactive', 'eve-1': 'not_a_member' },
    )
  })

  it('user_changed and member_removed of a removed user end its connections and its Sessions', async () => {
    const ends = await reached(() => registry.removeUser('ann'))
    assert.deepEqual(Object.keys(ends), ['ann-1', 'ann-2'])
    assert.match(ends['ann-1'] ?? '', /^user_inactive/)
    assert.deepEqual(
      lost.map(({ tenant, identity, end }) => [tenant, identity, end.code]),
      [['organization:1', 'user:ann', 'user_inactive']],
    )
  })

  it('that widens rights, or changes devices, ends nothing', async () => {
    const device = { devEui: DEVICE, applicationId: '5', organizationId: '1' }
    const application = { applicationId: '5', organizationId: '1' }
    const changes: readonly Change[] = [
      { kind: 'member_added', organizationId: '1', userId: 'ann' },
      { kind: 'application_created', ...application },
      { kind: 'application_changed', ...application },
      { kind: 'device_created', ...device },
      { kind: 'device_changed', ...device },
      { kind: 'device_removed', ...device },
      { kind: 'devices_changed', devEuis: ['0101010101010101'] },
    ]
    for (const change of changes) assert.deepEqual(await reached(() => registry.changes.emit(change)), {}, change.kind)
    assert.deepEqual(lost, [])
  })

  it('that ends a permit ends what its Will Message may do, too', async () => {
    const { permit, ends } = await hold(withToken('ann-1'))
    assert.deepEqual(await permit.mayPublish(new Topic(commandTo('5'))), { allowed: true })
    registry.revokeToken('ann-1')
    assert.deepEqual(
      ends.map(({ reasonCode }) => reasonCode),
      [ReasonCodes.administrativeAction],
    )
    const decision = await permit.mayPublish(new Topic(commandTo('5')))
    assert.equal(!decision.allowed && decision.code, 'permit_over')
  })

  it('reaches no permit that was let go, and no policy that was closed', async () => {
    const { told, release } = await hold(withToken('ann-1'))
    const other = await hold(withToken('ann-1'))
    assert.equal(policy.connectionsWith('ann-1'), 2)
    release()
    assert.equal(policy.connectionsWith('ann-1'), 1)
    policy.close()
    registry.revokeToken('ann-1')
    assert.deepEqual([told, other.told], [[], []])
  })

  it('gives a live permit the applications that are made, and takes those that are removed', async () => {
    const { permit } = await hold(withToken('ann-1'))
    const { permit: networkServer } = await hold(withCredential('own'))
    const allowed = (applicationId: string) => [
      permit.maySubscribe(`application/${applicationId}/device/+/event/+`).allowed,
      networkServer.mayReceive?.(new Topic(commandTo(applicationId))),
    ]
    assert.deepEqual(allowed('6'), [false, false])
    registry.addApplication('6', '1')
    assert.deepEqual(allowed('6'), [true, true])
    registry.removeApplication('6')
    assert.deepEqual(allowed('6'), [false, false])
    // The same id, made anew by another organization, is that organization's.
    registry.addApplication('6', '2')
    assert.deepEqual(allowed('6'), [false, false])
  })
})

describe('a permit whose ground goes between its check and its connection', () => {
  it('is ended as soon as it is held: a token that is revoked meanwhile', async () => {
    for (const question of ['verify', 'applicationsOf'] as const) {
      const letGo = registry.hold(question)
      const admission = withToken(question === 'verify' ? 'ann-1' : 'ann-2')
      await turn()
      registry.revokeToken(question === 'verify' ? 'ann-1' : 'ann-2')
      letGo()
      const { told, ends } = await hold(admission)
      await turn()
      assert.deepEqual(told, ['token_revoked'], question)
      assert.equal(ends[0]?.reasonCode, ReasonCodes.notAuthorized)
    }
  })

  it('is ended as soon as it is held: a permit that was made, and not held yet', async () => {
    const permit = await permitOf(withToken('ann-1'))
    registry.removeMember('1', 'ann')
    const told: (string | undefined)[] = []
    permit.watch({ permitChanged: (end) => told.push(end?.code) })
    await turn()
    assert.deepEqual(told, ['not_a_member'])
  })

  it('is ended as soon as it is held: a service credential that is revoked meanwhile', async () => {
    const letGo = registry.hold('credential')
    const admission = withCredential('own')
    await turn()
    registry.revokeCredential('own')
    letGo()
    const { told } = await hold(admission)
    await turn()
    assert.deepEqual(told, ['service_credential_revoked'])
  })

  it('lives on where another change came meanwhile', async () => {
    const permits = [await permitOf(withToken('ann-1')), await permitOf(withCredential('own'))]
    registry.revokeToken('bob-1')
    for (const permit of permits) {
      const told: (string | undefined)[] = []
      permit.watch({ permitChanged: (end) => told.push(end?.code) })
      await turn()
      assert.deepEqual(told, [])
    }
  })

  it('is not checked again where nothing changed', async () => {
    const permit = await permitOf(withToken('ann-1'))
    registry.fail('recheck')
    const told: (string | undefined)[] = []
    permit.watch({ permitChanged: (end) => told.push(end?.code) })
    await turn()
    assert.deepEqual(told, [])
  })

  it('is over when that can’t be told: nobody keeps a right by a fault', async () => {
    const token = await hold(withToken('ann-1'))
    const credential = await permitOf(withCredential('own'))
    registry.fail('recheck')
    registry.fail('credential')
    registry.changeUser('ann', {})
    const told: (PermitEnd | undefined)[] = []
    credential.watch({ permitChanged: (end) => told.push(end) })
    await turn()
    assert.deepEqual(
      [...token.ends, ...told].map((end) => [end?.code, end?.reasonCode]),
      [
        ['permit_unchecked', ReasonCodes.unspecifiedError],
        ['permit_unchecked', ReasonCodes.unspecifiedError],
      ],
    )
  })

  it('is ended by the later of two changes while it is being checked for the first', async () => {
    const { told } = await hold(withToken('ann-1'))
    const letGo = registry.hold('recheck')
    registry.changeUser('ann', {})
    registry.removeMember('1', 'ann')
    letGo()
    await turn()
    assert.deepEqual(told, ['not_a_member', 'not_a_member'])
  })
})

it('Sessions of a former member are lost when nobody can tell whether it is a global admin', async () => {
  registry.addMember('1', 'eve')
  registry.fail('user')
  registry.removeMember('1', 'eve')
  await turn()
  assert.deepEqual(
    lost.map(({ tenant, identity }) => [tenant, identity]),
    [['organization:1', 'user:eve']],
  )
})

describe('a permit that is asked for by its ground, after a restart', () => {
  it('is found for a token and for a service credential', async () => {
    assert.equal(await found('token:ann-1'), 'user:ann')
    assert.equal(await found('token:eve-1'), 'user:eve', 'a global admin needs no membership')
    assert.equal(await found('credential:own'), 'network-server:own')
    const permit = await policy.permitOn('token:ann-1')
    assert.deepEqual([permit?.tenant, permit?.ground], ['organization:1', 'token:ann-1'])
    assert.equal((await permit?.mayPublish(new Topic(commandTo('5'))))?.allowed, true)
    assert.equal((await permit?.mayPublish(new Topic(commandTo('7', FOREIGN_DEVICE))))?.allowed, false)
  })

  it('is not found once the ground is gone', async () => {
    registry.addToken('old', 'ann', '1', NOW_MS)
    registry.revokeToken('ann-2')
    registry.revokeCredential('own')
    registry.changeUser('bob', { isActive: false })
    registry.removeMember('2', 'cat')
    const grounds = ['token:old', 'token:ann-2', 'token:bob-1', 'token:cat-2', 'token:nobody', 'credential:own']
    for (const ground of [...grounds, 'user:ann', 'organization:1', 'token', 'token:', '']) {
      assert.equal(await found(ground), undefined, ground)
    }
  })

  it('is not found where the organization or the user was removed', async () => {
    registry.removeOrganization('1')
    registry.removeUser('cat')
    for (const ground of ['token:ann-1', 'token:eve-1', 'token:cat-2', 'credential:own']) {
      assert.equal(await found(ground), undefined, ground)
    }
  })

  it('is ended as soon as it is held, where its ground went meanwhile', async () => {
    registry.addToken('ann-9', 'ann', '1')
    const free = registry.hold('applicationsOf')
    const held = policy.permitOn('token:ann-9')
    await turn()
    registry.revokeToken('ann-9')
    free()
    assert.deepEqual((await watch(held)).told, ['token_revoked'])
    const letGo = registry.hold('applicationsOf')
    const asked = policy.permitOn('credential:own')
    await turn()
    registry.revokeCredential('own')
    letGo()
    assert.deepEqual((await watch(asked)).told, ['service_credential_revoked'])
  })
})

it('the presence of network servers follows their connections, and no integrator’s', async () => {
  const own = await hold(withCredential('own'))
  const all = await hold(withCredential('all'))
  const integrator = await hold(withToken('ann-1'))
  for (const { release } of [integrator, own, all]) release()
  assert.deepEqual(presence, ['came organization:1', 'came deployment', 'went organization:1', 'went deployment'])
})

it('two network servers of an organization and of the deployment get the commands of their own applications', async () => {
  const [own, all] = [await permitOf(withCredential('own')), await permitOf(withCredential('all'))]
  for (const permit of [own, all]) assert.equal(permit.maySubscribe(COMMANDS).allowed, true)
  assert.deepEqual(
    [own.mayReceive?.(new Topic(commandTo('5'))), own.mayReceive?.(new Topic(commandTo('7')))],
    [true, false],
  )
  assert.equal(all.mayReceive, undefined, 'the deployment’s gets all')
})
