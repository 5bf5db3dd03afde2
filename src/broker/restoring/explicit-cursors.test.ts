import assert from 'node:assert/strict'
import { it } from 'node:test'
import { encodeCheckpoint } from '../durable/session-record.ts'
import type { StateEntry } from '../ports/engine.ts'
import { withCursors } from './explicit-cursors.ts'

function entry(key: string, record: object): StateEntry {
  return { key, value: Buffer.from(JSON.stringify({ version: 1, ...record })) }
}

it('Sessions and groups get the cursors that they lack from the checkpoint', () => {
  const entries = withCursors([
    { key: 'checkpoint', value: encodeCheckpoint({ tails: [10, 20], isClean: false }) },
    entry('group/tenant\0name\0filter', { behind: [], returned: [] }),
    entry('received/tenant\0user\0client\x007', {}),
    entry('session/tenant\0user\0client', { clientId: 'client', behind: [[1, 15]] }),
  ])
  const read = entries.map(({ key, value }) => [key.split('/')[0], JSON.parse(value.toString())] as const)
  assert.deepEqual(read, [
    [
      'group',
      {
        version: 1,
        behind: [
          [0, 10],
          [1, 20],
        ],
        returned: [],
      },
    ],
    ['received', { version: 1 }],
    [
      'session',
      {
        version: 1,
        clientId: 'client',
        behind: [
          [1, 15],
          [0, 10],
        ],
      },
    ],
  ])
})
