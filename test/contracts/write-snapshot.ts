/**
 * `npm run contracts`: writes the documents of the contracts to `sdk/schemas/`. Refuses to do so
 * where a change breaks a client of this version.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { SNAPSHOT_FOLDER, changesThatBreak, madeFiles } from './snapshot.ts'

const breaks = changesThatBreak()
if (breaks.length > 0) {
  console.error(`These changes break clients, and need a new CONTRACT_VERSION:\n${breaks.join('\n')}`)
  process.exit(1)
}
const files = madeFiles()
rmSync(SNAPSHOT_FOLDER, { recursive: true, force: true })
for (const [path, text] of files) {
  const file = join(SNAPSHOT_FOLDER, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}
console.log(`${files.size} files written to ${SNAPSHOT_FOLDER}`)
