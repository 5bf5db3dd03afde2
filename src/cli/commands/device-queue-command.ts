/** The command `fieldgate device queue`. */
import type { Command } from 'commander'
import { column, showJson, withClient } from './administration.ts'
import { needsService } from './needs-service.ts'
import { objectsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** Adds the command to `fieldgate device`. It shows for each waiting command the reason to wait. */
export function addDeviceQueueCommand(device: Command, terminal: Terminal): void {
  device
    .command('queue')
    .description('list the commands of a device: first the waiting commands, then the commands of the last day')
    .argument('<devEui>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (devEui: string, { json }: { readonly json?: true }, command: Command) => {
      const path = `/api/devices/${encodeURIComponent(devEui)}`
      const found = await withClient(terminal, command, async (client) => {
        // A missing device is reported as missing, not as a missing queue.
        await client.request('GET', path)
        return client.request('GET', `${path}/queue`).catch(needsService('the commands of a device'))
      })
      if (json === true) return showJson(terminal, found)
      const items = objectsAt(found, 'deviceQueueItems')
      const columns = [column('ID', 'id'), column('STATE', 'state'), column('PORT', 'fPort'), column('DATA', 'data')]
      const why = { title: 'WAITS FOR, OR WHY', cell: (item: JsonObject) => item['waitReason'] || item['error'] }
      terminal.out(formatTable([...columns, column('CREATED', 'createdAt'), why], items))
      return undefined
    })
}
