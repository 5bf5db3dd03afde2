/** The commands `fieldgate application ...`: applications are groups of devices. */
import type { Command } from 'commander'
import {
  column,
  listQuery,
  showCreated,
  showFields,
  showJson,
  showList,
  withClient,
  withListOptions,
} from './administration.ts'
import { given } from '../../given.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { objectAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { counted } from '../terminal/counted.ts'
import { readTextFile } from '../terminal/file-failure.ts'
import { namesOf } from './names.ts'
import { applicationIdOf, organizationIdOf } from './references.ts'
import { countOf, withRemoval } from './removal.ts'
import type { Removal } from './removal.ts'
import { cellText, linesText } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface ApplicationOptions {
  readonly name?: string
  readonly id?: string
  readonly organization?: string
  readonly description?: string
  readonly codec?: string
  readonly encoderFile?: string
  readonly decoderFile?: string
  readonly eventShape?: string
  readonly objectCommands?: string
  readonly retainLastEvents?: boolean
  readonly json?: true
}

/** Adds the commands to the program. */
export function addApplicationCommands(program: Command, terminal: Terminal): void {
  const application = program
    .command('application')
    .description('create, change and list applications: groups of devices')
  application.addHelpText(
    'afterAll',
    `
An application is named by id, by name, or as organization/name.

Examples:
  fieldgate application create water-network --organization alpine-valley-water --codec CAYENNE_LPP
  fieldgate application create gas --organization alpine-valley-water --id 7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11
  fieldgate application update water-network --codec CUSTOM_JS --decoder-file decoder.js
  fieldgate application update water-network --event-shape NORMALIZED
  fieldgate application update water-network --retain-last-events
  fieldgate application list --organization alpine-valley-water
  fieldgate application get alpine-valley-water/water-network --json`,
  )
  addCreateAndUpdate(application, terminal)

  withListOptions(
    application
      .command('list')
      .description('list applications')
      .option('--organization <organization>', 'only applications of this organization'),
  ).action(async (options: ListOptions & ApplicationOptions, command: Command) => {
    const { list, organizationName } = await withClient(terminal, command, async (client) => {
      const { organization } = options
      const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
      return {
        list: await listPage(client, '/api/applications', { ...listQuery(options), organizationID }),
        organizationName: await namesOf(client, 'organizations'),
      }
    })
    const owner: Column<JsonObject> = { title: 'ORGANIZATION', cell: (row) => organizationName(row['organizationID']) }
    const columns = [column('ID', 'id'), column('NAME', 'name'), owner]
    showList(terminal, list, options, [...columns, column('DESCRIPTION', 'description')])
  })

  application
    .command('get')
    .description('show an application')
    .argument('<application>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: ApplicationOptions, command: Command) => {
      const found = await withClient(terminal, command, async (client) =>
        client.request('GET', `/api/applications/${await applicationIdOf(client, reference)}`),
      )
      showApplication(terminal, found, options.json)
    })

  withRemoval(
    application
      .command('delete')
      .description('delete an application with its devices; subscriptions to it get nothing more')
      .argument('<application>'),
    terminal,
    'delete',
    findRemoval,
  )
}

/** Shows the fields of an application, and below them its scripts as they were written. */
function showApplication(terminal: Terminal, found: JsonObject, isJson: boolean | undefined): void {
  if (isJson === true) return showJson(terminal, found)
  const { application: _, ...rest } = found
  const { payloadDecoderScript, payloadEncoderScript, ...fields } = objectAt(found, 'application') ?? {}
  showFields(terminal, { application: fields, ...rest }, false)
  for (const [name, script] of Object.entries({ payloadDecoderScript, payloadEncoderScript })) {
    if (typeof script !== 'string' || script === '') continue
    terminal.out(`\n${name}\n${linesText(script.trimEnd()).replaceAll(/^(?=.)/gm, '  ')}\n`)
  }
  return undefined
}

async function findRemoval(client: ApiClient, reference: string): Promise<Removal> {
  const id = await applicationIdOf(client, reference)
  const path = `/api/applications/${id}`
  const name = textAt(objectAt(await client.request('GET', path), 'application'), 'name') ?? ''
  const devices = await countOf(client, '/api/devices', { applicationID: id })
  return {
    path,
    what: `the application ${cellText(name)} (id ${id}) with ${counted(devices, 'device')}`,
    consequence: 'Subscriptions to it get nothing more.',
    ...(devices === 0 ? {} : { nameToType: name }),
    json: { id, name, devices },
  }
}

function addCreateAndUpdate(application: Command, terminal: Terminal): void {
  withFieldOptions(
    application.command('create').description('create an application and print its id').argument('<name>'),
  )
    .requiredOption('--organization <organization>', 'the organization that owns it; this can’t be changed later')
    .option('--id <id>', 'the id that its network server has for it: a UUID or digits; for global admins')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, options: ApplicationOptions, command: Command) => {
      const changes = await changesOf(options)
      const created = await withClient(terminal, command, async (client) => {
        const organizationID = await organizationIdOf(client, options.organization ?? '')
        const fields = { ...given({ id: options.id }), name, organizationID, ...changes }
        return client.request('POST', '/api/applications', { application: fields })
      })
      showCreated(terminal, created, `application ${name}`, options.json)
    })

  withFieldOptions(
    application
      .command('update')
      .description('change an application; fields that are not given stay as they are')
      .argument('<application>'),
  )
    .option('--name <name>', 'a new name')
    .action(async (reference: string, options: ApplicationOptions, command: Command) => {
      const body = { application: { ...given({ name: options.name }), ...(await changesOf(options)) } }
      await withClient(terminal, command, async (client) =>
        client.request('PUT', `/api/applications/${await applicationIdOf(client, reference)}`, body),
      )
      terminal.out(`Changed the application ${reference}.\n`)
    })
}

async function changesOf(options: ApplicationOptions) {
  return given({
    description: options.description,
    payloadCodec: options.codec === 'none' ? '' : options.codec,
    eventShape: options.eventShape === 'received' ? '' : options.eventShape,
    objectCommands: options.objectCommands === 'refuse' ? '' : options.objectCommands,
    retainsLastEvents: options.retainLastEvents,
    payloadEncoderScript: options.encoderFile === undefined ? undefined : await readTextFile(options.encoderFile),
    payloadDecoderScript: options.decoderFile === undefined ? undefined : await readTextFile(options.decoderFile),
  })
}

function withFieldOptions(command: Command): Command {
  return command
    .option('--description <text>')
    .option('--codec <codec>', 'how payloads are decoded: none, CAYENNE_LPP or CUSTOM_JS')
    .option('--encoder-file <path>', 'JavaScript that encodes commands, for CUSTOM_JS')
    .option('--decoder-file <path>', 'JavaScript that decodes events, for CUSTOM_JS')
    .option('--event-shape <shape>', 'the shape of its events: received, V3, V4 or NORMALIZED')
    .option('--object-commands <who>', 'objects that no codec here encodes: refuse, or NETWORK_SERVER to pass them on')
    .option('--retain-last-events', 'retain the last uplink and state of each device, for new subscriptions')
    .option('--no-retain-last-events', 'retain them no more, and forget them')
}
