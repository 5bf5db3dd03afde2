import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestRefused } from './errors.ts'
import { demand, mayDo, ROLES, roleOf } from './permissions.ts'
import type { Action } from './permissions.ts'

/** For each action: none, reader, member, device admin, organization admin, global admin. */
const MATRIX: Readonly<Record<Action, readonly [0 | 1, 0 | 1, 0 | 1, 0 | 1, 0 | 1, 0 | 1]>> = {
  'organization.read': [0, 1, 1, 1, 1, 1],
  'organization.update': [0, 0, 0, 0, 1, 1],
  'organization.govern': [0, 0, 0, 0, 0, 1],
  'member.read': [0, 1, 1, 1, 1, 1],
  'member.write': [0, 0, 0, 0, 1, 1],
  'application.read': [0, 1, 1, 1, 1, 1],
  'application.write': [0, 0, 0, 0, 1, 1],
  'deviceProfile.read': [0, 1, 1, 1, 1, 1],
  'deviceProfile.write': [0, 0, 0, 0, 1, 1],
  'device.read': [0, 1, 1, 1, 1, 1],
  'device.write': [0, 0, 0, 1, 1, 1],
  'command.send': [0, 0, 1, 1, 1, 1],
  'brokerToken.issue': [0, 1, 1, 1, 1, 1],
  'brokerToken.manage': [0, 0, 0, 0, 1, 1],
  'serviceCredential.manage': [0, 0, 0, 0, 1, 1],
  'inventory.manage': [0, 0, 0, 0, 1, 1],
  'webhook.manage': [0, 0, 0, 0, 1, 1],
  'audit.read': [0, 0, 0, 0, 1, 1],
  'connection.manage': [0, 0, 0, 0, 1, 1],
  'command.read': [0, 1, 1, 1, 1, 1],
  'event.read': [0, 1, 1, 1, 1, 1],
  'application.change': [0, 0, 0, 0, 1, 1],
  'codec.write': [0, 0, 0, 0, 1, 1],
  'refusal.list': [0, 1, 1, 1, 1, 1],
  'apiKey.manage': [0, 0, 0, 0, 1, 1],
  'refusal.read': [0, 0, 0, 0, 1, 1],
  'diagnosis.read': [0, 1, 1, 1, 1, 1],
}

test('each role may do exactly what the matrix says', (context) => {
  let cells = 0
  for (const [action, row] of Object.entries(MATRIX)) {
    for (const [index, role] of ROLES.entries()) {
      assert.equal(mayDo(role, action as Action), row[index] === 1, `${role} ${action}`)
      cells += 1
    }
  }
  context.diagnostic(`permission matrix: ${cells} cells`)
})

test('a membership becomes the highest role that it gives', () => {
  assert.equal(roleOf(false, undefined), 'none')
  assert.equal(roleOf(false, { isAdmin: false, isDeviceAdmin: false, isReadOnly: false }), 'member')
  assert.equal(roleOf(false, { isAdmin: false, isDeviceAdmin: true, isReadOnly: false }), 'deviceAdmin')
  assert.equal(roleOf(false, { isAdmin: true, isDeviceAdmin: false, isReadOnly: false }), 'organizationAdmin')
  assert.equal(roleOf(true, undefined), 'globalAdmin')
  assert.equal(roleOf(false, { isAdmin: true, isDeviceAdmin: true, isReadOnly: true }), 'reader')
})

test('whoever has no role hears that nothing exists, a member which role is needed', () => {
  assert.equal(refusal('none')?.message, 'object does not exist')
  assert.equal(refusal('none')?.statusCode, 404)
  assert.equal(refusal('member')?.message, 'permission denied: this needs the role device admin of the organization')
  assert.equal(refusal('member')?.statusCode, 403)
  assert.equal(refusal('deviceAdmin'), undefined)
})

function refusal(role: (typeof ROLES)[number]): RequestRefused | undefined {
  try {
    demand(role, 'device.write')
    return undefined
  } catch (error) {
    assert.ok(error instanceof RequestRefused)
    return error
  }
}
