import type { Command } from 'commander'
import {
  column,
  given,
  listQuery,
  showFields,
  showJson,
  showList,
  withClient,
  withListOptions,
} from './administration.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from './api-client.ts'
import type { JsonObject } from './api-client.ts'
import { organizationIdOf, userIdOf } from './references.ts'
import type { Terminal } from './terminal.ts'

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
}

/** `fieldgate organization ...`: the tenants, and who belongs to them. */
export function addOrganizationCommands(program: Command, terminal: Terminal): void {
  const organization = program.command('organization').description('tenants, and their members')
  organization.addHelpText(
    'afterAll',
    `
An organization is named by id or by name.

Examples:
  fieldgate organization create alpine-valley-water --display-name "Alpine Valley Water"
  fieldgate organization add-member alpine-valley-water anna --device-admin
  fieldgate organization list-members alpine-valley-water
  fieldgate organization remove-member alpine-valley-water anna`,
  )
  addCreateAndUpdate(organization, terminal)
  addMembers(organization, terminal)

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
    .option('--json', 'for programs: the API’s own JSON')
    .action(async (reference: string, options: OrganizationOptions, command: Command) => {
      const found = await withClient(terminal, command, async (client) =>
        client.request('GET', `/api/organizations/${await organizationIdOf(client, reference)}`),
      )
      showFields(terminal, found, options.json)
    })

  organization
    .command('delete')
    .description('delete an organization with its applications, devices and tokens; its connections end at once')
    .argument('<organization>')
    .action(async (reference: string, _: object, command: Command) => {
      await withClient(terminal, command, async (client) =>
        client.request('DELETE', `/api/organizations/${await organizationIdOf(client, reference)}`),
      )
    })
}

function addCreateAndUpdate(organization: Command, terminal: Terminal): void {
  organization
    .command('create')
    .description('create an organization and print its id')
    .argument('<name>', 'letters, digits, _ and -')
    .option('--display-name <text>', 'for people; the name when not given')
    .option('--gateways', 'it may have gateways of its own')
    .option('--json', 'for programs: the API’s own JSON')
    .action(async (name: string, { displayName, gateways, json }: OrganizationOptions, command: Command) => {
      const body = { organization: given({ name, displayName, canHaveGateways: gateways }) }
      const created = await withClient(terminal, command, (client) =>
        client.request('POST', '/api/organizations', body),
      )
      if (json === true) showJson(terminal, created)
      else terminal.out(`${String(created['id'])}\n`)
    })

  organization
    .command('update')
    .description('change an organization; what is not given stays')
    .argument('<organization>')
    .option('--name <name>', 'a new name')
    .option('--display-name <text>', 'for people')
    .option('--gateways', 'it may have gateways of its own')
    .option('--no-gateways', 'it may not')
    .action(async (reference: string, { name, displayName, gateways }: OrganizationOptions, command: Command) => {
      const body = { organization: given({ name, displayName, canHaveGateways: gateways }) }
      await withClient(terminal, command, async (client) =>
        client.request('PUT', `/api/organizations/${await organizationIdOf(client, reference)}`, body),
      )
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
  })

  organization
    .command('remove-member')
    .description('end a membership; the connections that it allowed end at once')
    .argument('<organization>')
    .argument('<user>')
    .action(async (reference: string, user: string, _: object, command: Command) => {
      await withClient(terminal, command, async (client) => {
        const path = `/api/organizations/${await organizationIdOf(client, reference)}/users/${await userIdOf(client, user)}`
        return client.request('DELETE', path)
      })
    })

  withListOptions(organization.command('list-members').description('list members').argument('<organization>')).action(
    async (reference: string, options: ListOptions, command: Command) => {
      const list = await withClient(terminal, command, async (client) =>
        listPage(client, `/api/organizations/${await organizationIdOf(client, reference)}/users`, listQuery(options)),
      )
      const columns = [column('USER ID', 'userID'), column('USER', 'email'), column('ADMIN', 'isAdmin')]
      const more = [column('DEVICE ADMIN', 'isDeviceAdmin'), column('GATEWAY ADMIN', 'isGatewayAdmin')]
      showList(terminal, list, options, [...columns, ...more])
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
}

function rolesOf({ admin, deviceAdmin, gatewayAdmin }: RoleOptions): JsonObject {
  return given({ isAdmin: admin, isDeviceAdmin: deviceAdmin, isGatewayAdmin: gatewayAdmin })
}
