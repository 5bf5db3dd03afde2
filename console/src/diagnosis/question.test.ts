import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factName, guessKind, kindOf, whyHref } from './question.ts'

test('the kind of a question is seen from its text, and the address may name another', () => {
  const kinds = ['00005EEF1000000B', '0x00005eef1000000b', 'dashboard', 'application/1/device/+/event/up', '#'].map(
    guessKind,
  )
  assert.deepEqual(kinds, ['devEui', 'devEui', 'clientId', 'topic', 'topic'])
  assert.equal(kindOf('clientId', 'a/b'), 'clientId')
  assert.equal(kindOf('nonsense', 'a/b'), 'topic')
})

test('the name of a fact is shown in words', () => {
  assert.deepEqual(['lastHeardAt', 'applicationID', 'at'].map(factName), ['last heard at', 'application ID', 'at'])
})

test('the address of a question keeps every character', () => {
  const topic = 'application/1/device/+/event/#&x=1'
  const href = new URL(whyHref('topic', topic), 'https://localhost')
  assert.deepEqual([href.searchParams.get('about'), href.searchParams.get('kind')], [topic, 'topic'])
})
