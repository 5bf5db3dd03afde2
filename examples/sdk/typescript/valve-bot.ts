// Closes a valve when its sensor reports a leak, and says what became of the command. The first
// byte of an uplink is 1 where there is a leak; the downlink 00 on port 10 closes the valve.
import { connect, FieldgateError } from '@fieldgate/sdk'

await using fieldgate = await connect()
for await (const event of fieldgate.events({ session: 'valve-bot', kinds: ['up'] })) {
  if (event.kind !== 'up' || event.data[0] !== 1) continue
  // The id makes the command one command, also where the event comes a second time.
  const command = fieldgate
    .device(event.devEui, { application: event.applicationId })
    .send({ id: `close-${event.id}`, fPort: 10, data: Uint8Array.of(0), confirmed: true })
  try {
    await command.accepted
    console.log(`${event.deviceName}: the command is accepted`)
    await command.acknowledged
    console.log(`${event.deviceName}: the valve is closed`)
  } catch (error) {
    if (!(error instanceof FieldgateError)) throw error
    console.error(`${event.deviceName}: ${error.code}: ${error.message}`)
  }
}
