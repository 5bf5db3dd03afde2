/** The commands `fieldgate organization ...`: organizations and their members. */
import type { Command } from 'commander'
import { column, listQuery, showCreated, showFields, showList, withClient, withListOptions } from './administration.ts'
import { given } from '../../given.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { objectAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { counted } from '../terminal/counted.ts'
import { addOrganizationBoundCommands } from './organization-bound-commands.ts'
import { organizationIdOf, userIdOf } from './references.ts'
import { countOf, withRemoval } from './removal.ts'
import type { Removal } from './removal.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface OrganizationOptions {
  readonly name?: string
  readonly displayName?: string
  readonly gateways?: boolean
  readonly json?: true
}

interface RoleOptions {
  readonly admin?: boolean
  readonly deviceAdmin?: boolean
  readonly gatewayAdmin?: boolean
  readonly readOnly?: boolean
}

/** Adds the commands to the program. */
export function addOrganizationCommands(program: Command, terminal: Terminal): void {
  const organization = program
    .command('organization')
    .description('create, change and list organizations, their members and their bounds')
  organization.addHelpText(
    'afterAll',
    `
An organization is named by id or by name.

Examples:
  fieldgate organization create alpine-valley-water --display-name "Alpine Valley Water"
  fieldgate organization add-member alpine-valley-water anna --device-admin
  fieldgate organization list-members alpine-valley-water
  fieldgate organization remove-member alpine-valley-water anna
  fieldgate organization bounds alpine-valley-water
  fieldgate organization set-bounds alpine-valley-water sessions=20000 retainedBytes=default`,
  )
  addCreateAndUpdate(organization, terminal)
  addMembers(organization, terminal)
  addOrganizationBoundCommands(organization, terminal)

  withListOptions(organization.command('list').description('list organizations')).action(
    async (options: ListOptions, command: Command) => {
      const list = await withClient(terminal, command, (client) =>
        listPage(client, '/api/organizations', listQuery(options)),
      )
      showList(terminal, list, options, [
        column('ID', 'id'),
        column('NAME', 'name'),
        column('DISPLAY NAME', 'displayName'),
      ])
    },
  )

  organization
    .command('get')
    .description('show an organization')
    .argument('<organization>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: OrganizationOptions, command: Command) => {
      const found = await withClient(terminal, command, async (client) =>
        client.request('GET', `/api/organizations/${await organizationIdOf(client, reference)}`),
      )
      showFields(terminal, found, options.json)
    })

  withRemoval(
    organization
      .command('delete')
      .description('delete an organization with its applications, devices and tokens; its connections end at once')
      .argument('<organization>'),
    terminal,
    'delete',
    findRemoval,
  )
}

async function findRemoval(client: ApiClient, reference: string): Promise<Removal> {
  const id = await organizationIdOf(client, reference)
  const path = `/api/organizations/${id}`
  const name = textAt(objectAt(await client.request('GET', path), 'organization'), 'name') ?? ''
  const [members, applications, devices] = [
    await countOf(client, `${path}/users`),
    await countOf(client, '/api/applications', { organizationID: id }),
    await countOf(client, '/api/devices', { organizationID: id }),
  ]
  const parts = [counted(members, 'member'), counted(applications, 'application'), counted(devices, 'device')]
  return {
    path,
    what: `the organization ${name} (id ${id}) with ${parts.slice(0, 2).join(', ')} and ${parts[2]}`,
    consequence: 'Its tokens and service credentials go too, and its connections end at once.',
    nameToType: name,
    json: { id, name, members, applications, devices },
  }
}

function addCreateAndUpdate(organization: Command, terminal: Terminal): void {
  organization
    .command('create')
    .description('create an organization and print its id')
    .argument('<name>', 'letters, digits, _ and -')
    .option('--display-name <text>', 'the name for people; the name itself when not given')
    .option('--gateways', 'it may have gateways of its own')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, { displayName, gateways, json }: OrganizationOptions, command: Command) => {
      const body = { organization: given({ name, displayName, canHaveGateways: gateways }) }
      const created = await withClient(terminal, command, (client) =>
        client.request('POST', '/api/organizations', body),
      )
      showCreated(terminal, created, `organization ${name}`, json)
    })

  organization
    .command('update')
    .description('change an organization; fields that are not given stay as they are')
    .argument('<organization>')
    .option('--name <name>', 'a new name')
    .option('--display-name <text>', 'for people')
    .option('--gateways', 'it may have gateways of its own')
    .option('--no-gateways', 'it may not have gateways of its own')
    .action(async (reference: string, { name, displayName, gateways }: OrganizationOptions, command: Command) => {
      const body = { organization: given({ name, displayName, canHaveGateways: gateways }) }
      await withClient(terminal, command, async (client) =>
        client.request('PUT', `/api/organizations/${await organizationIdOf(client, reference)}`, body),
      )
      terminal.out(`Changed the organization ${reference}.\n`)
    })
}

function addMembers(organization: Command, terminal: Terminal): void {
  withRoleOptions(
    organization
      .command('add-member')
      .description('make a user a member')
      .argument('<organization>')
      .argument('<user>'),
  ).action(async (reference: string, user: string, options: RoleOptions, command: Command) => {
    await withClient(terminal, command, async (client) => {
      const body = { organizationUser: { userID: await userIdOf(client, user), ...rolesOf(options) } }
      return client.request('POST', `/api/organizations/${await organizationIdOf(client, reference)}/users`, body)
    })
    terminal.out(`${user} is a member of ${reference} now.\n`)
  })

  withRoleOptions(
    organization
      .command('update-member')
      .description('change a member’s roles')
      .argument('<organization>')
      .argument('<user>'),
  ).action(async (reference: string, user: string, options: RoleOptions, command: Command) => {
    await withClient(terminal, command, async (client) => {
      const path = `/api/organizations/${await organizationIdOf(client, reference)}/users/${await userIdOf(client, user)}`
      return client.request('PUT', path, { organizationUser: rolesOf(options) })
    })
    terminal.out(`Changed the roles of ${user} in ${reference}.\n`)
  })

  organization
    .command('remove-member')
    .description('remove a member; its connections end at once')
    .argument('<organization>')
    .argument('<user>')
    .action(async (reference: string, user: string, _: object, command: Command) => {
      await withClient(terminal, command, async (client) => {
        const path = `/api/organizations/${await organizationIdOf(client, reference)}/users/${await userIdOf(client, user)}`
        return client.request('DELETE', path)
      })
      terminal.out(`${user} is no longer a member of ${reference}.\n`)
    })

  withListOptions(organization.command('list-members').description('list members').argument('<organization>')).action(
    async (reference: string, options: ListOptions, command: Command) => {
      const list = await withClient(terminal, command, async (client) =>
        listPage(client, `/api/organizations/${await organizationIdOf(client, reference)}/users`, listQuery(options)),
      )
      const columns = [column('USER ID', 'userID'), column('USER', 'email'), column('ADMIN', 'isAdmin')]
      const more = [column('DEVICE ADMIN', 'isDeviceAdmin'), column('GATEWAY ADMIN', 'isGatewayAdmin')]
      showList(terminal, list, options, [...columns, ...more, column('READ-ONLY', 'isReadOnly')])
    },
  )
}

function withRoleOptions(command: Command): Command {
  return command
    .option('--admin', 'admin of the organization')
    .option('--no-admin')
    .option('--device-admin', 'may create, change and delete its devices')
    .option('--no-device-admin')
    .option('--gateway-admin', 'may administer its gateways')
    .option('--no-gateway-admin')
    .option('--read-only', 'only reads, whatever the other roles say: sends no commands')
    .option('--no-read-only')
}

function rolesOf({ admin, deviceAdmin, gatewayAdmin, readOnly }: RoleOptions): JsonObject {
  return given({ isAdmin: admin, isDeviceAdmin: deviceAdmin, isGatewayAdmin: gatewayAdmin, isReadOnly: readOnly })
}
