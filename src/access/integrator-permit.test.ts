import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IntegratorPermit } from './integrator-permit.ts'

const permit = new IntegratorPermit(
  {
    directory: { device: () => undefined } as never,
    madeAtMs: async () => 0,
    maximumMessagesPerSecond: 1,
    recheck: async (claims) => claims,
    holders: { held: () => {}, released: () => {} },
  },
  {
    claims: { userId: '1', organizationId: '2', tokenId: 'token', expiresAtMs: 0 },
    applications: new Set(['5']),
    seenChanges: 0,
  },
)

function verdict(topicFilter: string): string {
  const decision = permit.maySubscribe(topicFilter)
  assert.ok(!(decision instanceof Promise))
  return decision.allowed ? 'allowed' : decision.code
}

for (const [code, topicFilters] of [
  ['allowed', ['application/5/device/+/event/+', 'application/5/device/0101010101010101/event/up']],
  [
    'subscribe_wildcard_not_granted',
    ['#', '+/#', '+/5/device/+/event/+', 'application/#', 'application/+/device/+/event/up', 'application/5/#'],
  ],
  [
    'subscribe_wildcard_not_granted',
    ['application/5/device/+/+/up', 'application/5/+/+/event/up', 'application/5/device/#'],
  ],
  ['subscribe_application_not_granted', ['application/7/device/+/event/+', 'application/7/#', 'application//device']],
  [
    'subscribe_not_granted',
    ['meters', 'application', 'application/5', 'application/5/device/+/command/down', '$SYS/#'],
  ],
] as const) {
  for (const topicFilter of topicFilters) {
    test(`a subscription to ${topicFilter} is told as ${code}`, () => assert.equal(verdict(topicFilter), code))
  }
}
