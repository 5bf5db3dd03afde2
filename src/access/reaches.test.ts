import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Permit } from '../broker/ports/policy.ts'
import type { Scope } from '../identity/tokens/scope.ts'
import { Topic } from '../mqtt/topic.ts'
import { FakeRegistry, NOW_MS } from './fake-registry.testing.ts'
import { AccessPolicy } from './policy.ts'

const ALL = 'application/+/device/+/event/+'
const ACME = 'organization:1'

/** Organization 1 has application 5, organization 2 has application 7. */
async function bench(scope: Scope = { reachesAllApplications: true }) {
  const registry = new FakeRegistry()
  registry.addOrganization('1', '5')
  registry.addOrganization('2', '7')
  registry.addUser('ann')
  registry.addMember('1', 'ann')
  registry.addToken('ann-1', 'ann', '1', NOW_MS + 1, scope)
  const policy = new AccessPolicy(registry)
  const told: string[] = []
  policy.reach.watch((tenant, branch) => told.push(`${tenant} ${branch}`))
  const permit = await policy.permitOn('token:ann-1')
  assert.ok(permit)
  const branches = (): Record<string, number> => Object.fromEntries(policy.reach.branchesOf(ACME, ALL) ?? [])
  return { registry, policy, permit, told, branches }
}

function codeOf(permit: Permit, topicFilter: string): string {
  const decision = permit.maySubscribe(topicFilter)
  return decision.allowed ? 'allowed' : decision.code
}

describe('the branches of an organization', () => {
  it('are its applications, each since it was made, and are known before the permit is', async () => {
    const { policy, branches } = await bench()
    assert.deepEqual(branches(), { 'application/5': NOW_MS })
    assert.equal(policy.reach.ready(ACME, ALL), undefined)
    for (const [tenant, topicFilter] of [
      [ACME, 'application/5/device/+/event/+'],
      [ACME, 'application/+/device/+/command/down'],
      [ACME, 'application/+/device/0101010101010101/event/+'],
      ['deployment', ALL],
    ] as const) {
      assert.equal(policy.reach.branchesOf(tenant, topicFilter), undefined, `${tenant} ${topicFilter}`)
    }
  })

  it('follow the applications that come, go, and are made anew by another organization', async () => {
    const { registry, policy, branches, told } = await bench()
    const settled = () => policy.reach.ready(ACME, ALL)
    registry.addApplication('6', '1', NOW_MS + 6)
    assert.deepEqual(branches(), { 'application/5': NOW_MS, 'application/6': Infinity }, 'live events come at once')
    await settled()
    assert.deepEqual(branches(), { 'application/5': NOW_MS, 'application/6': NOW_MS + 6 })
    registry.removeApplication('5')
    registry.addApplication('5', '2', NOW_MS + 7)
    await settled()
    assert.deepEqual(branches(), { 'application/6': NOW_MS + 6 })
    registry.removeApplication('5')
    registry.addApplication('5', '1', NOW_MS + 8)
    await settled()
    assert.deepEqual(branches(), { 'application/5': NOW_MS + 8, 'application/6': NOW_MS + 6 })
    assert.deepEqual(told, [
      `${ACME} application/5`,
      `${ACME} application/6`,
      `${ACME} application/5`,
      `${ACME} application/5`,
    ])
  })

  it('are looked up again after changes were missed, and are none once the organization is gone', async () => {
    const { registry, policy, branches, told } = await bench()
    registry.changes.emit({ kind: 'resynchronized' })
    await policy.reach.ready(ACME, ALL)
    assert.deepEqual(branches(), { 'application/5': NOW_MS })
    registry.removeOrganization('1')
    assert.equal(told.at(-1), `${ACME} application/5`)
    await policy.reach.ready(ACME, ALL)
    assert.deepEqual(branches(), {})
  })
})

describe('a token that reaches all applications', () => {
  it('may subscribe to all of them, to one kind, and to nothing wider', async () => {
    const { permit } = await bench()
    for (const topicFilter of [ALL, 'application/+/device/+/event/up', 'application/5/device/+/event/+']) {
      assert.equal(codeOf(permit, topicFilter), 'allowed', topicFilter)
    }
    for (const topicFilter of [
      '#',
      'application/#',
      'application/+/#',
      'application/+/device/#',
      'application/+/device/+/#',
      '+/+/device/+/event/+',
      'application/+/device/+/+/up',
      'application/+/+/+/event/up',
      'application/+/device/+/command/down',
      'application/+/device/0101010101010101/event/up',
      'application/+/device/+/event/other',
      'application/+/device/+/event/response',
    ]) {
      assert.equal(codeOf(permit, topicFilter), 'subscribe_wildcard_not_granted', topicFilter)
    }
    assert.equal(codeOf(permit, 'application/7/device/+/event/+'), 'subscribe_application_not_granted')
    assert.equal(await permit.belongsSinceMs?.(ALL), 0)
    const foreign = new Topic('application/7/device/0101010101010101/event/up')
    assert.equal(permit.mayReceive?.(foreign), false, 'a second lock')
  })

  it('is held to the rest of its scope', async () => {
    const { permit } = await bench({ reachesAllApplications: true, eventKinds: ['up'], devEuis: ['0101010101010101'] })
    assert.equal(codeOf(permit, ALL), 'allowed')
    assert.equal(codeOf(permit, 'application/+/device/+/event/join'), 'subscribe_outside_scope')
    assert.equal(permit.whyNarrower?.(ALL), '1 device, events of the kind up')
    const gets = (devEui: string, kind: string) =>
      permit.mayReceive?.(new Topic(`application/5/device/${devEui}/event/${kind}`))
    assert.deepEqual(
      [gets('0101010101010101', 'up'), gets('0101010101010101', 'join'), gets('0202020202020202', 'up')],
      [true, false, false],
    )
  })

  it('alone may do so: without the member all wildcards across applications are refused', async () => {
    const { permit } = await bench({ applicationIds: ['5'] })
    assert.equal(codeOf(permit, ALL), 'subscribe_wildcard_not_granted')
  })
})
