import assert from 'node:assert/strict'
import { test } from 'node:test'
import { actorText, factsOf, wordsOf } from './audit-words.ts'

test('an action reads as a sentence does, also one that is new to the console', () => {
  assert.equal(wordsOf('device.created'), 'Device created')
  assert.equal(wordsOf('service_credential.revoked'), 'Network-server credential revoked')
  assert.equal(wordsOf('user.password_set'), 'User got a new password')
  assert.equal(wordsOf('water_meter.read_out'), 'Water meter read out')
})

test('the operator of the machine, the service and users are told apart', () => {
  assert.equal(actorText({ actor: 'operator', actorUserID: '', actorName: '' }), 'the operator of this machine')
  assert.equal(actorText({ actor: 'service', actorUserID: '', actorName: '' }), 'the service')
  assert.equal(actorText({ actor: 'user', actorUserID: '2', actorName: 'anna' }), 'anna')
  assert.equal(actorText({ actor: 'user', actorUserID: '3', actorName: '' }), 'user 3')
  assert.equal(actorText({ actor: 'apiKey', actorUserID: '', actorName: 'lake' }), 'the API key lake')
  assert.equal(actorText({ actor: 'apiKey', actorUserID: '', actorName: '' }), 'an API key that is gone')
})

test('details are told with their names and values in words', () => {
  assert.deepEqual(
    factsOf({ isDeviceAdmin: true, userId: '2', name: 'pump', place: { id: 1 } }, new Map([['2', 'anna']])),
    [
      { name: 'device admin', value: 'yes' },
      { name: 'user', value: 'anna' },
      { name: 'name', value: 'pump' },
      { name: 'place', value: '{"id":1}' },
    ],
  )
})
