/** The program of the proof, written with the SDK for TypeScript: one line for each event. */
import { appendFileSync, readFileSync } from 'node:fs'
import { connect, FilePositionStore } from '../../../sdk/typescript/src/index.ts'

const setting = (name: string): string => {
  const value = process.env[name]
  if (value === undefined) throw new Error(`${name} is missing`)
  return value
}

const stopping = new AbortController()
process.on('SIGTERM', () => stopping.abort())
await using fieldgate = await connect({
  url: setting('FIELDGATE_URL'),
  broker: setting('FIELDGATE_BROKER'),
  ca: readFileSync(setting('FIELDGATE_CA'), 'utf8'),
  apiKey: setting('FIELDGATE_API_KEY'),
  organization: setting('FIELDGATE_ORGANIZATION'),
  tokenSeconds: Number(setting('FIELDGATE_TOKEN_SECONDS')),
  retry: { firstMs: 100, maximumMs: 2_000 },
  log: (entry) => console.error(JSON.stringify(entry)),
  signal: stopping.signal,
})
const events = fieldgate.events({
  application: setting('FIELDGATE_APPLICATION'),
  session: setting('FIELDGATE_SESSION'),
  store: new FilePositionStore(setting('FIELDGATE_STORE')),
})
console.log('ready')
for await (const event of events) {
  if (event.kind !== 'up') continue
  appendFileSync(setting('FIELDGATE_HANDED_OVER'), `${event.id} ${event.devEui} ${event.fCnt}\n`)
}
