import { connect } from '@fieldgate/sdk'

const [devEui = '', data = ''] = process.argv.slice(2)
await using fieldgate = await connect()
const command = fieldgate.device(devEui).send({ fPort: 10, data, confirmed: true })
for (const step of ['accepted', 'sent', 'acknowledged'] as const) {
  await command[step]
  console.log(step)
}
