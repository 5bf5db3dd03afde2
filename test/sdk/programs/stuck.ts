/** A program that never finishes the uplink with the frame counter 30, for a test that kills it. */
import { readFileSync } from 'node:fs'
import { connect, FilePositionStore } from '../../../sdk/typescript/src/index.ts'

const setting = (name: string): string => process.env[name] ?? ''
const fieldgate = await connect({
  url: setting('FIELDGATE_URL'),
  ca: readFileSync(setting('FIELDGATE_CA'), 'utf8'),
  username: setting('FIELDGATE_USER'),
  password: setting('FIELDGATE_PASSWORD'),
})
const events = fieldgate.events({
  application: setting('FIELDGATE_APPLICATION'),
  session: setting('FIELDGATE_SESSION'),
  store: new FilePositionStore(setting('FIELDGATE_STORE')),
  from: 'oldest',
  kinds: ['up'],
})
for await (const event of events) {
  if (event.kind !== 'up' || event.fCnt !== 30) continue
  console.log(`handling 30 ${event.id}`)
  await new Promise(() => {})
  console.log('handled')
}
