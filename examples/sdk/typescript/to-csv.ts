// Appends each uplink to a CSV file. FIELDGATE_CSV names the file.
import { appendFileSync, existsSync } from 'node:fs'
import { connect } from '@fieldgate/sdk'

const file = process.env['FIELDGATE_CSV'] ?? 'uplinks.csv'
const quoted = (value: unknown): string => `"${String(value).replaceAll('"', '""')}"`

if (!existsSync(file)) appendFileSync(file, 'id,devEui,name,fCnt,fPort,data\n')
await using fieldgate = await connect()
for await (const event of fieldgate.events({ session: 'to-csv', kinds: ['up'], from: 'oldest' })) {
  if (event.kind !== 'up') continue
  const { id, devEui, deviceName, fCnt, fPort, data } = event
  const fields = [id, devEui, deviceName, fCnt, fPort, Buffer.from(data).toString('hex')]
  appendFileSync(file, `${fields.map(quoted).join(',')}\n`)
}
