/** The command `fieldgate why`. */
import type { Command } from 'commander'
import { showJson, withClient } from './administration.ts'
import { organizationIdOf } from './references.ts'
import { ApiRefusal, pathWith } from '../api/api-client.ts'
import { objectsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

const HELP = `
The service walks the way from the device to the client, and names the cause in one sentence with what to do. 16
hexadecimal digits are a DevEUI, a text with / + or # is a topic, and any other text is a Client Identifier; an option says
it where this is wrong. The exit code is 0 if nothing wrong was found, and 1 if a cause was found.

Examples:
  fieldgate why 0101010101010101
  fieldgate why dashboard
  fieldgate why 'application/1/device/+/event/uplink'
  fieldgate why --organization alpine '#'`

const DEV_EUI = /^(?:0x)?[0-9a-f]{16}$/i

interface WhyOptions {
  readonly as?: string
  readonly organization?: string
  readonly json?: true
}

/** Adds the command to the program. It sets the exit code. */
export function addWhyCommand(program: Command, terminal: Terminal, exit: { code: number }): void {
  program
    .command('why')
    .description('say why no data comes from a device, to a client or on a topic')
    .argument('<what>', 'a DevEUI, a Client Identifier or a topic')
    .option('--as <kind>', 'take <what> as devEui, clientId or topic')
    .option('--organization <organization>', 'the organization that is meant, by its name or id')
    .option('--json', 'print the JSON of the API, for programs')
    .addHelpText('after', HELP)
    .action(async (what: string, { as, organization, json }: WhyOptions, command: Command) => {
      const kind = as ?? kindOf(what)
      if (!['devEui', 'clientId', 'topic'].includes(kind)) {
        throw new CommandFailure('--as must be devEui, clientId or topic.', 2)
      }
      const told = await withClient(terminal, command, async (client) => {
        const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
        return client.request('GET', pathWith('/api/diagnosis', { [kind]: what, organizationID })).catch(needsService)
      })
      exit.code = told['isWell'] === true ? 0 : 1
      if (json === true) return showJson(terminal, told)
      show(terminal, told)
      return undefined
    })
}

function kindOf(what: string): 'devEui' | 'clientId' | 'topic' {
  if (DEV_EUI.test(what)) return 'devEui'
  return /[/+#]/.test(what) ? 'topic' : 'clientId'
}

function show(terminal: Terminal, told: JsonObject): void {
  terminal.out(`${cellText(told['sentence'])}\n\n`)
  const columns = ['step', 'status', 'sentence'].map((name) => ({
    title: name.toUpperCase(),
    cell: (item: JsonObject) => item[name],
  }))
  terminal.out(formatTable(columns, objectsAt(told, 'steps')))
  const missing = told['missingNodes']
  if (Array.isArray(missing)) terminal.error(`These nodes did not answer: ${cellText(missing.join(', '))}.\n`)
}

/** Without a running service there are no clients to look at: the route is missing. */
function needsService(error: unknown): never {
  if (error instanceof ApiRefusal && error.status === 404) {
    throw new CommandFailure('Only a running service can say why. Start it by `fieldgate serve`.')
  }
  throw error
}
