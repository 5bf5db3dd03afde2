import { connect } from '@fieldgate/sdk'

await using fieldgate = await connect()
for await (const event of fieldgate.events({ session: 'meter-import' })) {
  if (event.kind !== 'up') continue
  console.log(event.deviceName, event.fCnt, event.object ?? event.data)
}
