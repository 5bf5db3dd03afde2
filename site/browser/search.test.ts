import assert from 'node:assert/strict'
import { test } from 'node:test'
import { search } from './search.ts'
import type { SearchIndex } from './search.ts'

const INDEX: SearchIndex = [
  {
    name: 'Errors',
    title: 'Errors',
    address: '/docs/errors',
    weight: 1,
    sections: [
      ['', 'Errors', 'Every refusal carries a stable code.'],
      [
        'mqtt-token_expired',
        'token_expired',
        'token_expired (0x86; 0x87 on a live connection): the time of the token is over.',
      ],
      ['mqtt-token_revoked', 'token_revoked, gone', 'token_revoked: unlike token_expired somebody ended it.'],
      ['mqtt-keep', 'keep_alive_timeout', 'Nothing was received within one and a half times the Keep Alive.'],
    ],
  },
  {
    name: 'Conformance',
    title: 'Conformance',
    address: '/docs/conformance',
    weight: 0.3,
    sections: [['x', 'token_expired', 'token_expired 0x87 Keep Alive alive keep']],
  },
]

const addresses = (question: string): string[] => search(INDEX, question).map(({ address }) => address)

test('a code is found first at its own paragraph', () => {
  assert.deepEqual(addresses('token_expired'), [
    '/docs/errors#mqtt-token_expired',
    '/docs/conformance#x',
    '/docs/errors#mqtt-token_revoked',
  ])
  assert.equal(addresses('TOKEN_REVOKED')[0], '/docs/errors#mqtt-token_revoked')
})

test('all words must be there, in any order and case, and words in quotes beside each other', () => {
  assert.equal(addresses('Keep Alive')[0], '/docs/errors#mqtt-keep')
  assert.deepEqual(addresses('"alive keep"'), ['/docs/conformance#x'])
  assert.deepEqual(addresses('"keep alive'), ['/docs/errors#mqtt-keep', '/docs/conformance#x'])
  assert.deepEqual(addresses('keep nonsense'), [])
})

test('a hit shows what stands around the words, and which piece is one', () => {
  const [hit] = search(INDEX, '0x87 live')
  assert.deepEqual(
    hit?.excerpt.filter((_, position) => position % 2 === 1),
    ['0x87', 'live'],
  )
  assert.equal(hit?.excerpt.join(''), 'token_expired (0x86; 0x87 on a live connection): the time of the token is over.')
})

test('signs that mean something to patterns are words like others, and no question finds nothing', () => {
  assert.deepEqual(addresses('(0x86;').length, 1)
  assert.deepEqual(addresses('.*'), [])
  assert.deepEqual(addresses('   '), [])
  assert.deepEqual(addresses('"'), [])
})
