import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import type { SteadyMs } from '../clock.ts'
import { silentLogger } from '../logger.ts'
import { registerDeviceStates } from './fleet-metrics.ts'

test('devices are counted by state, of the deployment and of measured organizations, once in ten seconds', async () => {
  let nowMs = 0
  let asked = 0
  let fails = false
  const registry = new Registry()
  registerDeviceStates(registry, {
    async count() {
      asked += 1
      if (fails) throw new Error('away')
      return [
        { organizationId: '1', state: 'ON_TIME', devices: asked },
        { organizationId: '2', state: 'ON_TIME', devices: 5 },
        { organizationId: '2', state: 'SILENT', devices: 3 },
      ]
    },
    nearBounds: { measured: ['2'] },
    clock: { steady: () => nowMs as SteadyMs },
    log: silentLogger,
  })
  const lines = async () => (await registry.metrics()).split('\n').filter((line) => line.startsWith('fieldgate'))
  const first = [
    'fieldgate_devices{state="ON_TIME"} 6',
    'fieldgate_devices{state="LATE"} 0',
    'fieldgate_devices{state="SILENT"} 3',
    'fieldgate_devices{state="NEVER_HEARD"} 0',
    'fieldgate_organization_devices{organization="2",state="ON_TIME"} 5',
    'fieldgate_organization_devices{organization="2",state="SILENT"} 3',
  ]
  assert.deepEqual(await lines(), first)
  nowMs = 9_999
  assert.deepEqual(await lines(), first)
  assert.equal(asked, 1)
  nowMs = 10_000
  assert.equal((await lines())[0], 'fieldgate_devices{state="ON_TIME"} 7')
  fails = true
  nowMs = 20_000
  assert.deepEqual(await lines(), [])
})
