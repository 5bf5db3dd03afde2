// A page with the latest uplink of each device, over WebSocket. The page comes from the service's
// own origin or from one that the service allows. A real page asks its user for the password.
import { connect } from '@fieldgate/sdk'

const settings = Object.fromEntries(new URLSearchParams(location.hash.slice(1))) as {
  readonly username: string
  readonly password: string
}
const rows = new Map<string, HTMLTableRowElement>()

function rowOf(devEui: string): HTMLTableRowElement {
  const known = rows.get(devEui)
  if (known !== undefined) return known
  const row = (document.querySelector('#meters') as HTMLTableSectionElement).insertRow()
  for (let cell = 0; cell < 3; cell += 1) row.insertCell()
  rows.set(devEui, row)
  return row
}

const fieldgate = await connect({ url: location.origin, ...settings })
document.title = 'Meters: connected'
for await (const event of fieldgate.events({ kinds: ['up'] })) {
  if (event.kind !== 'up') continue
  const { cells } = rowOf(event.devEui)
  const texts = [event.deviceName, String(event.fCnt), [...event.data].join(' ')]
  for (const [index, text] of texts.entries()) {
    const cell = cells[index]
    if (cell !== undefined) cell.textContent = text
  }
}
