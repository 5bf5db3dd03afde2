/** The commands `fieldgate token ...`: broker-access tokens. */
import type { Command } from 'commander'
import { column, listQuery, showJson, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { ApiRefusal, listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { given } from '../../given.ts'
import { objectAt, objectOf, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { secondsOf } from '../terminal/duration.ts'
import { pair } from '../terminal/name-value-pair.ts'
import { namesOf } from './names.ts'
import { organizationIdOf, userIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { cellText } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface TokenOptions {
  readonly organization?: string
  readonly user?: string
  readonly ttl?: string
  readonly json?: true
}

/** The limits of a new token. */
interface ScopeOptions {
  readonly application?: readonly string[]
  readonly device?: readonly string[]
  readonly tag?: Readonly<Record<string, string>>
  readonly event?: readonly string[]
  readonly readOnly?: true
  readonly allApplications?: true
}

/** Adds the commands to the program. A token is the MQTT user name of a person or a program. */
export function addTokenCommands(program: Command, terminal: Terminal): void {
  const token = program.command('token').description('issue, list and revoke broker-access tokens of MQTT clients')
  token.addHelpText(
    'afterAll',
    `
The token is printed alone, so that a shell can take it.

Examples:
  TOKEN=$(fieldgate token create --organization alpine-valley-water --user anna --ttl 1h)
  fieldgate token create --organization alpine-valley-water --device 0101010101010101 --event up --read-only
  fieldgate token create --organization alpine-valley-water --tag site=north --all-applications
  fieldgate token list --organization alpine-valley-water
  fieldgate token delete 4f2c9a...`,
  )

  token
    .command('create')
    .description('issue a broker-access token and print it')
    .requiredOption('--organization <organization>')
    .option('--user <user-name>', 'the user who gets it; the first global admin when not given')
    .option('--ttl <duration>', 'how long it lives: seconds, or 15m, 1h, 7d; the deployment’s default when not given')
    .option('--application <id...>', 'only these applications')
    .option('--device <devEui...>', 'only these devices')
    .option('--tag <name=value>', 'only devices that have the tag; may be given several times', pair)
    .option('--event <kind...>', 'only these kinds of event: up, join, ack, error, status, location, txack')
    .option('--read-only', 'events alone, no commands')
    .option('--all-applications', 'may subscribe to application/+/device/+/event/+')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (options: TokenOptions & ScopeOptions, command: Command) => {
      const { organization = '', user, ttl = '', json } = options
      const scope = scopeOf(options)
      const organizationId = await withClient(terminal, command, (client) =>
        organizationOfMember(client, organization, user),
      )
      const body = { organizationId, ttlInSeconds: secondsOf(ttl), ...scope }
      const issue = (client: ApiClient) => client.request('POST', '/api/mosquitto-auth/login', body)
      const issued = await withClient(terminal, command, issue, user)
      if (json === true) showJson(terminal, issued)
      else terminal.out(`${String(issued['jwtMqttAuth'])}\n`)
    })

  withListOptions(
    token
      .command('list')
      .description('list the tokens that are neither expired nor revoked')
      .requiredOption('--organization <organization>'),
  ).action(async (options: ListOptions & TokenOptions, command: Command) => {
    const { list, userName } = await withClient(terminal, command, async (client) => {
      const organizationID = await organizationIdOf(client, options.organization ?? '')
      return {
        list: await listPage(client, '/api/broker-tokens', { ...listQuery(options), organizationID }),
        userName: await namesOf(client, 'users'),
      }
    })
    const user: Column<JsonObject> = { title: 'USER', cell: ({ userID }) => userName(userID) }
    const limits: Column<JsonObject> = { title: 'LIMITS', cell: ({ scope }) => limitsText(objectOf(scope)) }
    const columns = [column('ID', 'id'), user, column('ISSUED', 'issuedAt'), column('EXPIRES', 'expiresAt')]
    showList(terminal, list, options, [...columns, column('LAST USED', 'lastUsedAt'), limits])
  })

  withRemoval(
    token.command('delete').alias('revoke').description('revoke a token; its connections end at once').argument('<id>'),
    terminal,
    'revoke',
    async (_, id) => ({
      path: `/api/broker-tokens/${encodeURIComponent(id)}`,
      what: `the token ${cellText(id)}`,
      consequence: 'Its connections end at once.',
      json: { id },
    }),
  )
}

/** The members of the API's body. An option that is not given is no limit. */
function scopeOf({ application, device, tag, event, readOnly, allApplications }: ScopeOptions): JsonObject {
  return given({
    applicationIds: application,
    devEuis: device,
    tags: tag,
    eventKinds: event,
    isReadOnly: readOnly,
    reachesAllApplications: allApplications,
  })
}

/** The limits of a token in one cell: `devices 0101010101010101; events up; read-only`. */
function limitsText(scope: JsonObject | undefined): string {
  if (scope === undefined) return ''
  const tags = Object.entries(objectAt(scope, 'tags') ?? {}).map(([name, value]) => `${name}=${String(value)}`)
  const lists = [
    ['applications', textsAt(scope, 'applicationIds')],
    ['devices', textsAt(scope, 'devEuis')],
    ['tags', tags],
    ['events', textsAt(scope, 'eventKinds')],
  ] as const
  const words = lists.filter(([, list]) => list.length > 0).map(([name, list]) => `${name} ${list.join(' ')}`)
  if (scope['isReadOnly'] === true) words.push('read-only')
  if (scope['reachesAllApplications'] === true) words.push('all applications by one topic')
  return cellText(words.join('; '))
}

/**
 * The id of the organization, if the user may have a token for it. Otherwise the CommandFailure
 * tells the operator what the API does not tell the user: that the organization exists, and that
 * the user is no member of it.
 */
async function organizationOfMember(
  client: ApiClient,
  organization: string,
  user: string | undefined,
): Promise<string> {
  const organizationId = await organizationIdOf(client, organization)
  if (user === undefined) return organizationId
  const userId = await userIdOf(client, user)
  const found = await client.request('GET', `/api/users/${userId}`)
  if (objectAt(found, 'user')?.['isAdmin'] === true) return organizationId
  try {
    await client.request('GET', `/api/organizations/${organizationId}/users/${userId}`)
    return organizationId
  } catch (error) {
    if (!(error instanceof ApiRefusal) || error.status !== 404) throw error
    throw new CommandFailure(
      `${user} is no member of ${organization}. Add it: fieldgate organization add-member ${organization} ${user}`,
    )
  }
}
