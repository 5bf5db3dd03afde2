// Writes the numbers of each uplink to InfluxDB by its line protocol. INFLUXDB_WRITE_URL is
// `http://localhost:8086/write?db=meters` for InfluxDB 1, and for 2 and 3
// `http://localhost:8086/api/v2/write?org=valley&bucket=meters` with a token in INFLUXDB_TOKEN.
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from '@fieldgate/sdk'
import type { UpEvent } from '@fieldgate/sdk'

const url = process.env['INFLUXDB_WRITE_URL'] ?? 'http://localhost:8086/write?db=meters'
const token = process.env['INFLUXDB_TOKEN']
const headers = token === undefined ? {} : { authorization: `Token ${token}` }

/** `{ temperatureSensor: { '1': 21.5 } }` becomes `temperatureSensor_1=21.5`. */
function* fieldsOf(value: unknown, name: string): Generator<string> {
  if (typeof value === 'number') yield `${name.replaceAll(/[,= \\]/g, '_')}=${value}`
  if (typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) yield* fieldsOf(member, name === '' ? key : `${name}_${key}`)
}

/**
 * A point is known by its tags and its time. So an event that comes a second time, because the
 * program died before its position was stored, writes the same point again.
 */
function pointOf({ family, body, applicationId, devEui, fCnt, object }: UpEvent): string {
  const time = family === 'b' ? body.time : body.rxInfo?.find((gateway) => gateway.time)?.time
  const ms = time === undefined || time === null ? Date.now() : Date.parse(time)
  // The frame counter takes the place of the nanoseconds: two uplinks of a moment are two points.
  const nanoseconds = `${ms}${String(fCnt % 1_000_000).padStart(6, '0')}`
  const fields = [`fCnt=${fCnt}i`, ...fieldsOf(object, '')].join(',')
  return `uplink,application=${applicationId},devEui=${devEui} ${fields} ${nanoseconds}`
}

await using fieldgate = await connect()
for await (const event of fieldgate.events({ session: 'to-influxdb', kinds: ['up'], from: 'oldest' })) {
  if (event.kind !== 'up') continue
  for (;;) {
    const answer = await fetch(url, { method: 'POST', headers, body: pointOf(event) }).catch(String)
    if (typeof answer !== 'string' && answer.ok) break
    console.error(typeof answer === 'string' ? answer : `${answer.status} ${await answer.text()}`)
    // InfluxDB takes no point whose field had another type before: no further try helps.
    if (typeof answer !== 'string' && answer.status === 400) break
    await sleep(1_000)
  }
}
