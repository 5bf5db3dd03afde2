/** The commands `fieldgate user ...`. */
import type { Command } from 'commander'
import { objectAt, textAt } from '../../json.ts'
import { column, listQuery, showCreated, showFields, showList, withClient, withListOptions } from './administration.ts'
import { given } from '../../given.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { readNewPassword } from '../terminal/read-password.ts'
import { organizationIdOf, userIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import type { Removal } from './removal.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface UserOptions {
  readonly email?: string
  readonly admin?: boolean
  readonly active?: boolean
  readonly note?: string
  readonly organization?: readonly string[]
  readonly passwordStdin?: true
  readonly removeSecondFactor?: true
  readonly json?: true
}

/** Adds the commands to the program. */
export function addUserCommands(program: Command, terminal: Terminal): void {
  const user = program.command('user').description('create, change and list users, and set passwords')
  user.addHelpText(
    'afterAll',
    `
A user is named by id or by user name. A new password is asked for, or comes from standard input
(--password-stdin) or from FIELDGATE_PASSWORD; never from an argument, which other users of the machine can see.

Examples:
  fieldgate user create anna --organization alpine-valley-water
  pass show fieldgate/anna | fieldgate user set-password anna --password-stdin
  fieldgate user set-password admin --remove-second-factor
  fieldgate user update anna --no-active
  fieldgate user list --search example.org --json`,
  )
  addCreate(user, terminal)
  addUpdate(user, terminal)

  withListOptions(user.command('list').description('list users')).action(
    async (options: ListOptions, command: Command) => {
      const list = await withClient(terminal, command, (client) => listPage(client, '/api/users', listQuery(options)))
      const columns = [
        column('ID', 'id'),
        column('USER', 'email'),
        column('ADMIN', 'isAdmin'),
        column('ACTIVE', 'isActive'),
      ]
      showList(terminal, list, options, [...columns, column('NOTE', 'note')])
    },
  )

  user
    .command('get')
    .description('show a user')
    .argument('<user>')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: { readonly json?: true }, command: Command) => {
      const found = await withClient(terminal, command, async (client) =>
        client.request('GET', `/api/users/${await userIdOf(client, reference)}`),
      )
      showFields(terminal, found, options.json)
    })

  addSetPassword(user, terminal)

  withRemoval(
    user.command('delete').description('delete a user; its connections end at once').argument('<user>'),
    terminal,
    'delete',
    findRemoval,
  )
}

async function findRemoval(client: ApiClient, reference: string): Promise<Removal> {
  const id = await userIdOf(client, reference)
  const path = `/api/users/${id}`
  const email = textAt(objectAt(await client.request('GET', path), 'user'), 'email') ?? ''
  return {
    path,
    what: `the user ${cellText(email)} (id ${id})`,
    consequence: 'Its memberships and tokens go too, and its connections end at once.',
    json: { id, email },
  }
}

function addCreate(user: Command, terminal: Terminal): void {
  user
    .command('create')
    .description('create a user and print its id')
    .argument('<user-name>', 'often an e-mail address')
    .option('--admin', 'make the user a global admin, who may do everything')
    .option('--note <text>', 'for admins')
    .option('--organization <organization...>', 'make the user a member of these organizations')
    .option('--password-stdin', 'the first line of standard input')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (email: string, options: UserOptions, command: Command) => {
      const password = await readNewPassword(terminal, options.passwordStdin === true)
      const created = await withClient(terminal, command, async (client) => {
        const organizations: { organizationID: string }[] = []
        for (const reference of options.organization ?? []) {
          organizations.push({ organizationID: await organizationIdOf(client, reference) })
        }
        const body = { user: given({ email, isAdmin: options.admin, note: options.note }), password, organizations }
        return client.request('POST', '/api/users', body)
      })
      showCreated(terminal, created, `user ${email}`, options.json)
    })
}

function addUpdate(user: Command, terminal: Terminal): void {
  user
    .command('update')
    .description('change a user; fields that are not given stay as they are')
    .argument('<user>')
    .option('--email <user-name>', 'a new user name')
    .option('--admin', 'make the user a global admin')
    .option('--no-admin', 'take the role of a global admin away')
    .option('--active', 'allow logins')
    .option('--no-active', 'allow no logins; the user’s sessions and connections end at once')
    .option('--note <text>', 'for admins')
    .action(async (reference: string, options: UserOptions, command: Command) => {
      const { email, admin, active, note } = options
      await withClient(terminal, command, async (client) => {
        const body = { user: given({ email, isAdmin: admin, isActive: active, note }) }
        return client.request('PUT', `/api/users/${await userIdOf(client, reference)}`, body)
      })
      terminal.out(`Changed the user ${reference}.\n`)
    })
}

function addSetPassword(user: Command, terminal: Terminal): void {
  user
    .command('set-password')
    .description('set a password without the old one, and end the user’s sessions')
    .argument('<user>')
    .option('--password-stdin', 'the first line of standard input')
    .option('--remove-second-factor', 'turn the second factor off, for a user who has lost it as well')
    .action(async (reference: string, options: UserOptions, command: Command) => {
      const password = await readNewPassword(terminal, options.passwordStdin === true)
      const hasSecondFactor = await withClient(terminal, command, async (client) => {
        const path = `/api/users/${await userIdOf(client, reference)}`
        const { is2faEnabled } = await client.request('GET', path)
        await client.request('PUT', `${path}/password`, { password })
        return is2faEnabled === true
      })
      terminal.out(`The password of ${reference} is set; the sessions of ${reference} have ended.\n`)
      if (!hasSecondFactor) return
      if (options.removeSecondFactor !== true) {
        terminal.out('A login still needs a one-time code. If that is lost too, add --remove-second-factor.\n')
        return
      }
      // This request has a session of its own: the first session has ended if the password was the
      // password of its user.
      await withClient(terminal, command, async (client) =>
        client.request('DELETE', `/api/users/${await userIdOf(client, reference)}/second-factor`),
      )
      terminal.out(`The second factor of ${reference} is removed.\n`)
    })
}
