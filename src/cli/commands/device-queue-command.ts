import type { Command } from 'commander'
import { column, showJson, withClient } from './administration.ts'
import { ApiRefusal } from '../api/api-client.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** `fieldgate device queue <devEui>`: the commands of a device, and for what each of them waits. */
export function addDeviceQueueCommand(device: Command, terminal: Terminal): void {
  device
    .command('queue')
    .description('list the commands of a device: those that wait, and for what, then those of the last day')
    .argument('<devEui>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (devEui: string, { json }: { readonly json?: true }, command: Command) => {
      const path = `/api/devices/${encodeURIComponent(devEui)}`
      const found = await withClient(terminal, command, async (client) => {
        // A device that is not there is told as one.
        await client.request('GET', path)
        return client.request('GET', `${path}/queue`).catch(needsService)
      })
      if (json === true) return showJson(terminal, found)
      const items = Array.isArray(found['deviceQueueItems']) ? (found['deviceQueueItems'] as JsonObject[]) : []
      const columns = [column('ID', 'id'), column('STATE', 'state'), column('PORT', 'fPort'), column('DATA', 'data')]
      const why = { title: 'WAITS FOR, OR WHY', cell: (item: JsonObject) => item['waitReason'] || item['error'] }
      terminal.out(formatTable([...columns, column('CREATED', 'createdAt'), why], items))
      return undefined
    })
}

/** Where no service runs, nobody has the queue open. */
function needsService(error: unknown): never {
  if (error instanceof ApiRefusal && error.status === 404) {
    throw new CommandFailure(
      'The commands of a device are known to the running service only. Start it by `fieldgate serve`.',
    )
  }
  throw error
}
