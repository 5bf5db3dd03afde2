/** The commands `fieldgate registration-rule ...`: rules register unknown devices by themselves. */
import type { Command } from 'commander'
import { objectsAt, textAt } from '../../json.ts'
import { listPage, pathWith } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { column, listQuery, showCreated, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { namesOf } from './names.ts'
import { organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { filterOf, newDevicesOf, withMeantOptions, withNewDeviceOptions } from './unknown-device-commands.ts'
import type { MeantOptions, NewDeviceOptions } from './unknown-device-commands.ts'

const PATH = '/api/registration-rules'

/** Adds the commands to the program. */
export function addRegistrationRuleCommands(program: Command, terminal: Terminal): void {
  const rule = program
    .command('registration-rule')
    .description('create, list and delete rules that register unknown devices')
  rule.addHelpText(
    'afterAll',
    `
The oldest rule that means a device is used. Devices that wait already are registered when the rule is made.

Examples:
  fieldgate registration-rule create --application water-network --server-profile Water --prefix a8
  fieldgate registration-rule list --organization alpine-valley-water`,
  )
  withNewDeviceOptions(withMeantOptions(rule.command('create').description('create a rule and print its id')))
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (options: MeantOptions & NewDeviceOptions, command: Command) => {
      const created = await withClient(terminal, command, async (client) => {
        const { deviceProfileName: networkServerProfileName, ...filter } = filterOf(options)
        const meant = networkServerProfileName === undefined ? filter : { ...filter, networkServerProfileName }
        return client.request('POST', PATH, {
          registrationRule: { ...meant, ...(await newDevicesOf(client, options)) },
        })
      })
      showCreated(terminal, created, 'registration rule', options.json)
    })

  withListOptions(
    inOrganization(rule.command('list').description('list rules in the order in which they are tried')),
  ).action(async (options: ListOptions & { readonly organization: string }, command: Command) => {
    const { list, applicationName } = await withClient(terminal, command, async (client) => {
      const organizationID = await organizationIdOf(client, options.organization)
      const rules = await listPage(client, PATH, { ...listQuery(options), organizationID })
      return { list: rules, applicationName: await namesOf(client, 'applications') }
    })
    showList(terminal, list, options, [
      column('ID', 'id'),
      { title: 'APPLICATION', cell: (row) => applicationName(row['applicationID']) },
      column('NETWORK SERVER', 'networkServer'),
      {
        title: 'ITS APPLICATION',
        cell: (row) => row['networkServerApplicationName'] || row['networkServerApplicationID'],
      },
      column('ITS PROFILE', 'networkServerProfileName'),
      column('PREFIX', 'devEUIPrefix'),
      column('OF DEPLOYMENT', 'ofDeployment'),
    ])
  })

  withRemoval(
    inOrganization(
      rule.command('delete').description('delete a rule; devices that it registered stay').argument('<id>'),
    ),
    terminal,
    'delete',
    async (client, id, options) => {
      const organizationID = await organizationIdOf(client, textAt(options, 'organization') ?? '')
      const found = await client.request('GET', pathWith(PATH, { organizationID, limit: 1000 }))
      const item = objectsAt(found, 'result').find((one) => textAt(one, 'id') === id)
      if (item === undefined) throw new CommandFailure(`There is no registration rule ${id}.`)
      const path = pathWith(`${PATH}/${encodeURIComponent(id)}`, { organizationID })
      return { path, what: `the registration rule ${cellText(id)}`, json: item }
    },
  )
}

function inOrganization(command: Command): Command {
  return command.requiredOption('--organization <organization>', 'the organization of the rule')
}
