import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { SNAPSHOT_FOLDER, changesThatBreak, madeFiles } from './snapshot.ts'

describe('the contracts, compared with their committed documents in sdk/schemas', () => {
  it('have no change that breaks a client: such a change needs a new version of the contracts', () => {
    assert.deepEqual(changesThatBreak(), [])
  })

  it('are the committed documents: after another change, run `npm run contracts`', () => {
    const made = madeFiles()
    const files = globSync('**/*.json', { cwd: SNAPSHOT_FOLDER }).map((path) => path.replaceAll('\\', '/'))
    assert.deepEqual(files.toSorted(), [...made.keys()].toSorted())
    for (const path of files) assert.equal(readFileSync(`${SNAPSHOT_FOLDER}${path}`, 'utf8'), made.get(path), path)
  })
})
