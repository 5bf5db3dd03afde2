// Adds each uplink to a stream of Redis, one stream for each application. The entry's id is the
// place of the event, so Redis refuses an event that the stream has. REDIS_URL names the server.
import { connect } from '@fieldgate/sdk'
import { createClient } from 'redis'

const redis = createClient({ url: process.env['REDIS_URL'] ?? 'redis://localhost:6379' })
redis.on('error', (error: unknown) => console.error(String(error)))
await redis.connect()
await using fieldgate = await connect()
for await (const event of fieldgate.events({ session: 'to-redis', kinds: ['up'], from: 'oldest' })) {
  if (event.kind !== 'up' || event.id === undefined) continue
  const place = `${event.id.split('-')[1]}-1`
  const fields = { devEui: event.devEui, fCnt: String(event.fCnt), body: JSON.stringify(event.body) }
  try {
    await redis.xAdd(`fieldgate:${event.applicationId}`, place, fields)
  } catch (error) {
    if (!String(error).includes('equal or smaller')) throw error
  }
}
