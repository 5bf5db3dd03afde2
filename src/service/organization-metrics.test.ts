import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { BoundsByOrganization } from '../organization-bounds.ts'
import type { OrganizationUsage } from '../organization-bounds.ts'
import { registerOrganizationBounds } from './organization-metrics.ts'

test('the metrics have the use and the bound of each organization that is measured, and of no other', async () => {
  const uses: Record<string, OrganizationUsage> = { 1: { sessions: 5, connectsPerSecond: 0.5 }, 2: { sessions: 6 } }
  const bounds = new BoundsByOrganization()
  bounds.override('2', { sessions: 7 })
  const nearBounds = { measured: ['2', '1'] }
  const registry = new Registry()
  registerOrganizationBounds(registry, {
    usage: { usageOf: (organizationId) => uses[organizationId] ?? {} },
    bounds,
    nearBounds,
  })
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('fieldgate'))
  assert.deepEqual(await lines(), [
    'fieldgate_organization_usage{organization="2",bound="sessions"} 6',
    'fieldgate_organization_usage{organization="1",bound="connectsPerSecond"} 0.5',
    'fieldgate_organization_usage{organization="1",bound="sessions"} 5',
    'fieldgate_organization_bound{organization="2",bound="sessions"} 7',
    'fieldgate_organization_bound{organization="1",bound="connectsPerSecond"} 200',
    'fieldgate_organization_bound{organization="1",bound="sessions"} 10000',
  ])
  nearBounds.measured = []
  assert.deepEqual(await lines(), [])
})
