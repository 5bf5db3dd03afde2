/** The commands `fieldgate device ...`. */
import { InvalidArgumentError, Option } from 'commander'
import type { Command } from 'commander'
import { column, listQuery, showCreated, showFields, showList, withClient, withListOptions } from './administration.ts'
import { given } from '../../given.ts'
import type { ListOptions } from './administration.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { listPage, pathWith } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { objectAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { addDeviceHistoryCommand } from './device-history-command.ts'
import { addDeviceQueueCommand } from './device-queue-command.ts'
import { DEVICE_FLAGS, DEVICE_ORDERS, DEVICE_STATES } from '../../identity/devices/device.ts'
import { namesOf } from './names.ts'
import { pair } from '../terminal/name-value-pair.ts'
import { applicationIdOf, organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import type { Removal } from './removal.ts'
import { cellText } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface DeviceOptions {
  readonly name?: string
  readonly application?: string
  readonly organization?: string
  readonly description?: string
  readonly profile?: string
  readonly deviceProfile?: string
  readonly tag?: Readonly<Record<string, string>>
  readonly variable?: Readonly<Record<string, string>>
  readonly disabled?: boolean
  readonly state?: string
  readonly flag?: string
  readonly orderBy?: string
  readonly json?: true
}

/** Adds the commands to the program. */
export function addDeviceCommands(program: Command, terminal: Terminal): void {
  const device = program.command('device').description('create, change and list devices')
  device.addHelpText(
    'afterAll',
    `
A device is named by its DevEUI: 16 hexadecimal digits. \`fieldgate import\` creates many devices at once.

Examples:
  fieldgate device create 0101010101010101 --application water-network --name meter-1 --tag street=north
  fieldgate device list --application water-network --search meter
  fieldgate device list --state silent --order-by lastSeenAt
  fieldgate device queue 0101010101010101
  fieldgate device history 0101010101010101 --last 7d --bucket 6h
  fieldgate device export --application water-network > devices.csv
  fieldgate device update 0101010101010101 --disabled
  fieldgate device delete 0101010101010101`,
  )
  addCreateAndUpdate(device, terminal)

  withListOptions(
    device
      .command('list')
      .description('list devices')
      .option('--application <application>', 'only devices of this application')
      .option('--organization <organization>', 'only devices of this organization')
      .addOption(stateOption())
      .addOption(new Option('--flag <flag>', 'only devices with this flag').choices([...DEVICE_FLAGS]))
      .addOption(new Option('--order-by <member>', 'the devices that need somebody first').choices([...DEVICE_ORDERS])),
  ).action(async (options: ListOptions & DeviceOptions, command: Command) => {
    const { application, organization } = options
    const { list, applicationName } = await withClient(terminal, command, async (client) => {
      const applicationID = application === undefined ? undefined : await applicationIdOf(client, application)
      const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
      return {
        list: await listPage(client, '/api/devices', {
          ...listQuery(options),
          applicationID,
          organizationID,
          state: options.state,
          flag: options.flag,
          orderBy: options.orderBy,
        }),
        applicationName: await namesOf(client, 'applications'),
      }
    })
    const place: Column<JsonObject> = { title: 'APPLICATION', cell: (row) => applicationName(row['applicationID']) }
    const columns = [column('DEVEUI', 'devEUI'), column('NAME', 'name'), place]
    const health = [column('STATE', 'state'), { title: 'FLAGS', cell: flagsOf }]
    const seen = [column('DISABLED', 'isDisabled'), column('LAST SEEN', 'lastSeenAt')]
    showList(terminal, list, options, [...columns, ...health, ...seen])
  })

  device
    .command('get')
    .description('show a device')
    .argument('<devEui>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (devEui: string, options: DeviceOptions, command: Command) => {
      const found = await withClient(terminal, command, (client) => client.request('GET', pathOf(devEui)))
      showFields(terminal, found, options.json)
    })

  addExport(device, terminal)
  addDeviceQueueCommand(device, terminal)
  addDeviceHistoryCommand(device, terminal)

  withRemoval(
    device.command('delete').description('delete a device; it sends and gets nothing more').argument('<devEui>'),
    terminal,
    'delete',
    findRemoval,
  )
}

function addExport(device: Command, terminal: Terminal): void {
  device
    .command('export')
    .description('write the devices as CSV, with the columns of `fieldgate import`')
    .option('--application <application>', 'the devices of this application')
    .option('--organization <organization>', 'the devices of this organization')
    .action(async ({ application, organization }: DeviceOptions, command: Command) => {
      if ((application === undefined) === (organization === undefined)) {
        throw new CommandFailure('Give --application or --organization.', 2)
      }
      const table = await withClient(terminal, command, async (client) => {
        const applicationID = application === undefined ? undefined : await applicationIdOf(client, application)
        const organizationID = organization === undefined ? undefined : await organizationIdOf(client, organization)
        return client.download(pathWith('/api/devices/export', { applicationID, organizationID }))
      })
      terminal.out(table.toString())
    })
}

/** Takes a state in any case, such as `silent` and `on-time`. */
function stateOption(): Option {
  const words = DEVICE_STATES.map((state) => state.toLowerCase().replace('_', '-'))
  return new Option('--state <state>', `only devices in this state: ${words.join(', ')}`).argParser((text: string) => {
    const wanted = text.toUpperCase().replace('-', '_')
    const state = DEVICE_STATES.find((one) => one === wanted)
    if (state === undefined) throw new InvalidArgumentError(`must be one of ${words.join(', ')}`)
    return state
  })
}

function flagsOf(row: JsonObject): string {
  return DEVICE_FLAGS.filter((flag) => row[flag] === true).join(' ')
}

async function findRemoval(client: ApiClient, reference: string): Promise<Removal> {
  const path = pathOf(reference)
  const device = objectAt(await client.request('GET', path), 'device')
  const [devEUI = '', name = ''] = [textAt(device, 'devEUI'), textAt(device, 'name')]
  return { path, what: `the device ${devEUI} (${cellText(name)})`, json: { devEUI, name } }
}

function addCreateAndUpdate(device: Command, terminal: Terminal): void {
  withFieldOptions(device.command('create').description('create a device').argument('<devEui>'))
    .requiredOption('--application <application>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (devEUI: string, options: DeviceOptions, command: Command) => {
      const created = await withClient(terminal, command, async (client) => {
        const applicationID = await applicationIdOf(client, options.application ?? '')
        return client.request('POST', '/api/devices', { device: { devEUI, applicationID, ...changesOf(options) } })
      })
      showCreated(terminal, created, `device ${devEUI}`, options.json)
    })

  withFieldOptions(
    device
      .command('update')
      .description('change a device; fields that are not given stay as they are')
      .argument('<devEui>'),
  )
    .option('--no-disabled', 'accept its events and commands again')
    .option('--application <application>', 'move it to another application of its organization')
    .action(async (devEui: string, options: DeviceOptions, command: Command) => {
      await withClient(terminal, command, async (client) => {
        const { application } = options
        const applicationID = application === undefined ? undefined : await applicationIdOf(client, application)
        return client.request('PUT', pathOf(devEui), { device: { ...given({ applicationID }), ...changesOf(options) } })
      })
      terminal.out(`Changed the device ${devEui}.\n`)
    })
}

function changesOf({ name, description, profile, deviceProfile, tag, variable, disabled }: DeviceOptions) {
  const profiles = { deviceProfileID: deviceProfile, deviceProfileName: profile }
  return given({ name, description, ...profiles, tags: tag, variables: variable, isDisabled: disabled })
}

function pathOf(devEui: string): string {
  return `/api/devices/${encodeURIComponent(devEui)}`
}

function withFieldOptions(command: Command): Command {
  return command
    .option('--name <text>')
    .option('--description <text>')
    .option('--profile <text>', 'name of the device profile at the network server')
    .option('--device-profile <id>', 'id of a device profile of the organization; "" for none')
    .option('--tag <name=value>', 'a label that goes out with every event; may be repeated', pair)
    .option('--variable <name=value>', 'a value for the codec; may be repeated', pair)
    .option('--disabled', 'refuse its events and commands')
}
