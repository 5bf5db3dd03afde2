import assert from 'node:assert/strict'
import { test } from 'node:test'
import { devEuisOf, rightsText, scopeText, tagsOf, unrestrictable } from './api-key.ts'

test('rights and restrictions are said in words', () => {
  assert.equal(rightsText(['commands.send', 'events.read']), 'Read events, send commands')
  assert.equal(rightsText([]), '')
  assert.equal(scopeText(null), '')
  assert.equal(
    scopeText({ applicationIds: ['1', '2'], devEuis: ['0101010101010101'], tags: { site: 'north' } }),
    '2 applications, 1 device, tag site=north',
  )
})

test('a right that can’t be restricted is named', () => {
  const devices = { applications: false, devices: true }
  const applications = { applications: true, devices: false }
  assert.equal(unrestrictable(['events.read', 'codecs.write'], devices), 'Write codecs')
  assert.equal(unrestrictable(['events.read', 'codecs.write'], applications), undefined)
  assert.equal(unrestrictable(['members.write'], applications), 'Administer members')
  assert.equal(unrestrictable(['members.write'], { applications: false, devices: false }), undefined)
})

test('tags and DevEUIs are read as people write them', () => {
  assert.deepEqual(tagsOf(' site = north\n\nnote=a=b\n'), { site: 'north', note: 'a=b' })
  assert.equal(tagsOf('site'), undefined)
  assert.deepEqual(tagsOf(''), {})
  assert.deepEqual(devEuisOf('0101010101010101, 0202020202020202\n 0303030303030303 '), [
    '0101010101010101',
    '0202020202020202',
    '0303030303030303',
  ])
})
