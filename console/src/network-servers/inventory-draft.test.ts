import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryReport, InventoryStep } from '../api/inventories.ts'
import { choicesFor, draftOf, emptyRow, faultsOf, settingsOf } from './inventory-draft.ts'

const OWN = { ofDeployment: false }

const STEP: InventoryStep = {
  intervalSeconds: 7200,
  removeMissing: true,
  applications: { water: '1', gas: '2' },
  createApplications: false,
  profiles: 'BY_NAME',
  tags: { site: 'north' },
  lastRunAt: null,
  lastCode: '',
  lastMessage: '',
  lastReport: null,
}

const REPORT: InventoryReport = {
  dryRun: true,
  createdCount: 0,
  updatedCount: 0,
  unchangedCount: 0,
  refusedCount: 0,
  missingCount: 0,
  removedCount: 0,
  applications: [],
  deviceProfiles: [],
  devices: [],
}

const row = (theirs: string | null, ours: string | null) => ({ ...emptyRow(), theirs, ours })

test('the draft of a step that nobody changed gives its settings', () => {
  const { applications, createApplications, profiles, tags } = STEP
  assert.deepEqual(settingsOf(draftOf(STEP), OWN), { applications, createApplications, profiles, tags, ...OWN })
})

test('without a step, applications go by their names, and are made', () => {
  const settings = { createApplications: true, profiles: 'IMPORT', tags: {}, ofDeployment: true }
  assert.deepEqual(settingsOf(draftOf(null), { ofDeployment: true }), settings)
  const byName = draftOf({ ...STEP, applications: {} })
  assert.equal(byName.applications, 'BY_NAME')
  assert.equal(settingsOf(byName, OWN)?.applications, undefined)
})

test('chosen applications need a row, and both sides of each', () => {
  const draft = { ...draftOf(null), applications: 'CHOSEN' as const }
  const withRows = (...rows: ReturnType<typeof row>[]) => settingsOf({ ...draft, rows }, OWN)
  assert.equal(withRows(), undefined)
  assert.equal(withRows(row('water', '1'), row('gas', null)), undefined)
  assert.equal(withRows(row(null, '1')), undefined)
  const settings = withRows(row('water', '1'), row('gas', '1'))
  assert.deepEqual([settings?.applications, settings?.createApplications], [{ water: '1', gas: '1' }, false])
})

test('an application may be chosen by one row, and equal names are told apart by their ids', () => {
  const listed = [
    { id: 'a', name: 'Water' },
    { id: 'b', name: 'Gas' },
    { id: 'c', name: 'Gas' },
  ]
  const [first, second] = [row('a', null), row('gone', null)]
  const gases = [
    { value: 'b', label: 'Gas (b)' },
    { value: 'c', label: 'Gas (c)' },
  ]
  assert.deepEqual(choicesFor(first, [first, second], listed), [{ value: 'a', label: 'Water' }, ...gases])
  assert.deepEqual(choicesFor(second, [first, second], listed), [...gases, { value: 'gone', label: 'gone' }])
})

test('an application that is not there is a fault at its field, and so is one that was refused', () => {
  const theirs = [{ id: 'water', name: 'Water' }]
  const ours = [{ id: '1' }]
  const none = { theirs: undefined, ours: undefined, report: undefined }
  assert.deepEqual(faultsOf(row('water', '1'), { theirs, ours, report: REPORT }), {})
  assert.deepEqual(faultsOf(row(null, null), { theirs, ours, report: undefined }), {})
  assert.deepEqual(faultsOf(row('gone', '9'), none), {})
  assert.deepEqual(faultsOf(row('gone', '9'), { theirs, ours, report: undefined }), {
    theirs: 'The network server lists no application with this id.',
    ours: 'The organization has no application with this id.',
  })
  const message = 'the organization has no application 1'
  const ids = { networkServerApplicationID: 'water', applicationID: '' }
  const report: InventoryReport = { ...REPORT, applications: [{ ...ids, name: 'Water', outcome: 'refused', message }] }
  assert.deepEqual(faultsOf(row('water', '1'), { theirs, ours, report }), {
    ours: 'The organization has no application 1.',
  })
  const missing = 'the network server has no application with this id'
  const gone: InventoryReport = {
    ...REPORT,
    applications: [{ ...ids, name: 'water', outcome: 'missing', message: missing }],
  }
  assert.deepEqual(faultsOf(row('water', '1'), { theirs, ours, report: gone }), {
    theirs: 'The network server has no application with this id.',
  })
})
