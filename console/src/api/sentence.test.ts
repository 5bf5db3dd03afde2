import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sentenceFor } from './sentence.ts'

test('a code that the console has words for is said in these', () => {
  assert.match(sentenceFor('member_exists', 'object already exists'), /is a member already/)
})

test('the rule of a member is told with the name of its field', () => {
  assert.equal(
    sentenceFor('invalid_argument', 'device.devEUI: must be 16 hexadecimal digits'),
    'The DevEUI must be 16 hexadecimal digits.',
  )
})

test('what the console does not know is told as the service says it, as a sentence', () => {
  assert.equal(sentenceFor('invalid_argument', 'limit: must be an integer'), 'Limit: must be an integer.')
  assert.equal(sentenceFor('new_code', 'wait a moment'), 'Wait a moment.')
})

test('a sentence that begins with a name of code leaves it as it is', () => {
  for (const text of ['decodeUplink must give an object', 'fPort: is missing', 'dev_eui is wrong', 'x() is none']) {
    assert.equal(sentenceFor('', text), `${text}.`)
  }
})
