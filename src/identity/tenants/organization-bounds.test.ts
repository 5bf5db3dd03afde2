import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import { addOrganization, nobody, openTestRegistry, reasonOf, valueOf } from '../registry.testing.ts'
import type { Change } from '../store/changes.ts'
import type { BoundChanges } from './organization-bounds.ts'

const admin = { userId: '1', isAdmin: true }
const all = { limit: 100, offset: 0 }

test('an organization keeps the bounds that it was given, and goes back to the deployment’s by null', async () => {
  await using opened = await openTestRegistry()
  const { organizationBounds, changes } = opened.registry
  const own = await addOrganization(opened.registry, 'own')
  const other = await addOrganization(opened.registry, 'other')
  const heard: Change[] = []
  changes.subscribe((change) => heard.push(change))
  assert.deepEqual(await organizationBounds.of(own), {})
  valueOf(await organizationBounds.change(own, { sessions: 20_000, storedBytes: 281_474_976_710_656 }, nobody))
  valueOf(await organizationBounds.change(other, { connections: 7 }, nobody))
  valueOf(await organizationBounds.change(own, { sessions: null, retainedMessages: 0, codecMsPerSecond: null }, nobody))
  valueOf(await organizationBounds.change(own, {}, nobody))
  const owned = { storedBytes: 281_474_976_710_656, retainedMessages: 0 }
  assert.deepEqual(await organizationBounds.of(own), owned)
  assert.deepEqual(Object.fromEntries(await organizationBounds.all()), { [own]: owned, [other]: { connections: 7 } })
  const kind = 'organization_bounds_changed'
  assert.deepEqual(heard, [
    { kind, organizationId: own, overrides: { sessions: 20_000, storedBytes: 281_474_976_710_656 } },
    { kind, organizationId: other, overrides: { connections: 7 } },
    { kind, organizationId: own, overrides: owned },
  ])
})

test('a value out of its range changes no bound at all, and the refusal names the bound and the range', async () => {
  await using opened = await openTestRegistry()
  const { organizationBounds } = opened.registry
  const own = await addOrganization(opened.registry, 'own')
  const { minimum, maximum } = ORGANIZATION_BOUNDS.sessions
  for (const sessions of [minimum - 1, maximum + 1, 1.5, Number.NaN, Infinity, '7' as unknown as number]) {
    const refused = await organizationBounds.change(own, { connections: 7, sessions }, nobody)
    assert.ok(!refused.ok)
    assert.deepEqual(
      [refused.code, refused.reason, refused.message],
      ['invalid_argument', 'invalid_bound', `sessions must be an integer from ${minimum} to ${maximum}`],
    )
  }
  assert.deepEqual(await organizationBounds.of(own), {})
  valueOf(await organizationBounds.change(own, { sessions: minimum }, nobody))
  valueOf(await organizationBounds.change(own, { sessions: maximum }, nobody))
  assert.deepEqual(await organizationBounds.of(own), { sessions: maximum })
  valueOf(await organizationBounds.change(own, { noBound: 5 } as BoundChanges, nobody))
  assert.deepEqual(await organizationBounds.of(own), { sessions: maximum })
  for (const id of ['', '0', 'x', '99']) {
    assert.equal(reasonOf(await organizationBounds.change(id, { sessions: 5 }, nobody)), 'organization_not_found')
    assert.deepEqual(await organizationBounds.of(id), {})
  }
})

test('each change of bounds is in the audit, with the new values', async () => {
  await using opened = await openTestRegistry()
  const { organizationBounds, audit } = opened.registry
  const own = await addOrganization(opened.registry, 'own')
  valueOf(await organizationBounds.change(own, { sessions: 5, connections: null }, nobody))
  await organizationBounds.change(own, { sessions: 0 }, nobody)
  const { items } = await audit.list(admin, { ...all, search: 'bounds_changed' })
  assert.deepEqual(
    items.map(({ action, subject, organizationId, detail }) => ({ action, subject, organizationId, detail })),
    [
      {
        action: 'organization.bounds_changed',
        subject: own,
        organizationId: own,
        detail: { sessions: 5, connections: null },
      },
    ],
  )
})

test('bounds outlive the process, and end with their organization', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'fieldgate-bounds-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'registry.db')
  let own: string
  {
    await using opened = await openTestRegistry({ file })
    own = await addOrganization(opened.registry, 'own')
    valueOf(await opened.registry.organizationBounds.change(own, { sessions: 5 }, nobody))
  }
  await using opened = await openTestRegistry({ file })
  const { organizationBounds, organizations } = opened.registry
  assert.deepEqual(await organizationBounds.all(), new Map([[own, { sessions: 5 }]]))
  valueOf(await organizations.remove(own, nobody))
  assert.deepEqual(await organizationBounds.all(), new Map())
})
