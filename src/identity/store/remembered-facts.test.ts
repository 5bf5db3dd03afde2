import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChanges } from './changes.ts'
import type { Change } from './changes.ts'
import { forgetOnChange } from './remembered-facts.ts'
import type { RememberedFacts } from './remembered-facts.ts'

/** Changes, and memories that write down what they are told. */
function open() {
  const told: string[] = []
  const memory = (fact: string) => ({
    forget: (id: string) => void told.push(`${fact} ${id}`),
    forgetAll: () => void told.push(`${fact} all`),
    forgetGroup: (group: string) => void told.push(`${fact} group ${group}`),
    amend: (id: string, apply: (ids: Set<string>) => void) => {
      const ids = new Set(['1', '2'])
      apply(ids)
      told.push(`${fact} ${id} becomes ${[...ids].join()}`)
    },
  })
  const facts: Required<RememberedFacts> = {
    user: memory('user'),
    access: memory('access'),
    apiKey: memory('apiKey'),
    application: memory('application'),
    applicationIds: memory('applicationIds'),
    device: memory('device'),
    deviceProfile: memory('deviceProfile'),
    place: memory('place'),
  }
  const changes = createChanges(assert.ifError)
  return { told, facts, changes }
}

const application = { applicationId: '2', organizationId: '7' }
const device = { devEui: 'eui', applicationId: '2', organizationId: '7' }
const member = { organizationId: '7', userId: '3' }

/** The facts that each kind of change makes wrong. */
const TABLE: readonly (readonly [Change, readonly string[]])[] = [
  [{ kind: 'user_changed', userId: '3' }, ['user 3', 'access all']],
  [{ kind: 'member_added', ...member }, ['access all']],
  [{ kind: 'member_removed', ...member }, ['access all']],
  [{ kind: 'token_revoked', tokenId: 't' }, ['access t']],
  [
    { kind: 'organization_removed', organizationId: '7' },
    ['access all', 'applicationIds 7 becomes ', 'applicationIds 7'],
  ],
  [
    { kind: 'application_created', applicationId: '9', organizationId: '7' },
    ['application 9', 'applicationIds 7 becomes 1,2,9'],
  ],
  [{ kind: 'application_changed', ...application }, ['application 2']],
  [{ kind: 'application_removed', ...application }, ['application 2', 'applicationIds 7 becomes 1', 'place group 2']],
  [{ kind: 'device_created', ...device }, ['device eui', 'place eui']],
  [{ kind: 'device_changed', ...device }, ['device eui', 'place eui']],
  [{ kind: 'device_removed', ...device }, ['device eui', 'place eui']],
  [{ kind: 'devices_changed', devEuis: ['e1', 'e2'] }, ['device e1', 'place e1', 'device e2', 'place e2']],
  [{ kind: 'device_profile_changed', profileId: 'p', organizationId: '7' }, ['deviceProfile p']],
  [{ kind: 'service_credential_revoked', id: 'c' }, []],
  [{ kind: 'api_key_revoked', apiKeyId: 'k' }, ['apiKey k']],
  [{ kind: 'api_key_changed', apiKeyId: 'k' }, ['apiKey k']],
]

for (const [change, expected] of TABLE) {
  test(`${change.kind} makes wrong: ${expected.join(', ') || 'nothing'}`, () => {
    const { told, facts, changes } = open()
    forgetOnChange(changes, facts)
    changes.emit(change)
    assert.deepEqual(told, expected)
  })
}

test('a memory of one fact is told of no other, and nothing is told after the end', () => {
  const { told, facts, changes } = open()
  const end = forgetOnChange(changes, { device: facts.device })
  for (const [change] of TABLE) changes.emit(change)
  assert.deepEqual(told, ['device eui', 'device eui', 'device eui', 'device e1', 'device e2'])
  end()
  changes.emit({ kind: 'devices_changed', devEuis: ['e3'] })
  assert.equal(told.length, 5)
})
