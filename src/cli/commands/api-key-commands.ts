/** The commands `fieldgate api-key ...`. */
import type { Command } from 'commander'
import { column, listQuery, showJson, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { given } from '../../given.ts'
import { objectAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { secondsOf } from '../terminal/duration.ts'
import { pair } from '../terminal/name-value-pair.ts'
import { apiKeyIdOf, applicationIdOf, organizationIdOf, userIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { cellText } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface OwnerOption {
  readonly organization?: string
}

interface CreateOptions extends OwnerOption {
  readonly right: readonly string[]
  readonly application?: readonly string[]
  readonly device?: readonly string[]
  readonly tag?: Readonly<Record<string, string>>
  readonly expires?: string
  readonly json?: true
}

const ORGANIZATION = ['--organization <organization>', 'whose key it is; the whole deployment when not given'] as const

/** Adds the commands to the program. An API key is the credential of a program. */
export function addApiKeyCommands(program: Command, terminal: Terminal): void {
  const apiKey = program
    .command('api-key')
    .description('make, list, rotate and revoke API keys, by which programs log in')
  apiKey.addHelpText(
    'afterAll',
    `
A key is printed once, alone, so that it can be written to a file. The other commands name it by its name or its id. It
stands with the first global admin, until \`hand-over\` gives it to another admin.

Rights: events.read, commands.send, devices.read, devices.write, applications.write, members.write, codecs.write,
metrics.read (of the deployment alone).

Examples:
  fieldgate api-key create lake --organization alpine-valley-water --right events.read > /etc/lake/fieldgate-key
  fieldgate api-key list --organization alpine-valley-water
  fieldgate api-key rotate lake --organization alpine-valley-water --overlap 7d
  fieldgate api-key revoke lake --organization alpine-valley-water`,
  )
  addCreate(apiKey, terminal)
  addList(apiKey, terminal)
  addRotate(apiKey, terminal)
  addHandOver(apiKey, terminal)
  withRemoval(
    apiKey
      .command('revoke')
      .alias('delete')
      .description('revoke an API key; its broker tokens and their connections end at once')
      .argument('<key>')
      .option(...ORGANIZATION),
    terminal,
    'revoke',
    async (client, reference) => {
      const command = apiKey.commands.find((one) => one.name() === 'revoke')
      const { path, id } = await findKey(client, command?.opts<OwnerOption>() ?? {}, reference)
      const consequence = 'Its broker tokens, their connections and its Sessions end at once.'
      return { path, what: `the API key ${cellText(reference)}`, consequence, json: { id } }
    },
  )
}

function addCreate(apiKey: Command, terminal: Terminal): void {
  apiKey
    .command('create')
    .description('make an API key and print it')
    .argument('<name>', 'the purpose of the key')
    .option(...ORGANIZATION)
    .requiredOption('--right <right>', 'a right of the key; may be given again', collected)
    .option('--application <application>', 'only this application; may be given again', collected)
    .option('--device <devEui>', 'only this device; may be given again', collected)
    .option('--tag <name=value>', 'only devices with this tag; may be given again', pair)
    .option('--expires <duration>', 'when it ends: 12h, 90d, 52w; never when not given')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, options: CreateOptions, command: Command) => {
      const created = await withClient(terminal, command, async (client) => {
        const applicationIds = await Promise.all(options.application?.map((one) => applicationIdOf(client, one)) ?? [])
        const apiKeyBody = {
          name,
          rights: options.right,
          ...given({
            applicationIds: applicationIds.length === 0 ? undefined : applicationIds,
            devEuis: options.device,
            tags: options.tag,
            expiresAt: options.expires === undefined ? undefined : expiryOf(options.expires),
          }),
        }
        return client.request('POST', await basePath(client, options), { apiKey: apiKeyBody })
      })
      if (options.json === true) showJson(terminal, created)
      else terminal.out(`${String(created['key'])}\n`)
    })
}

function addList(apiKey: Command, terminal: Terminal): void {
  withListOptions(
    apiKey
      .command('list')
      .description('list API keys')
      .option(...ORGANIZATION),
  ).action(async (options: ListOptions & OwnerOption, command: Command) => {
    const list = await withClient(terminal, command, async (client) =>
      listPage(client, await basePath(client, options), listQuery(options)),
    )
    const rights: Column<JsonObject> = { title: 'RIGHTS', cell: (key) => textsOf(key['rights']) }
    const restriction: Column<JsonObject> = {
      title: 'ONLY',
      cell: (key) => Object.keys(objectAt(key, 'scope') ?? {}).join(' '),
    }
    const columns = [column('ID', 'id'), column('NAME', 'name'), rights, restriction, column('STATE', 'state')]
    const times = [column('MAKER', 'makerName'), column('EXPIRES', 'expiresAt'), column('LAST USED', 'lastUsedAt')]
    showList(terminal, list, options, [...columns, ...times])
  })
}

function addRotate(apiKey: Command, terminal: Terminal): void {
  apiKey
    .command('rotate')
    .description('give an API key a new secret, and print the new key')
    .argument('<key>')
    .option(...ORGANIZATION)
    .option('--overlap <duration>', 'how long the old key stays good: 0, 24h, 7d', '24h')
    .option('--json', 'print the JSON of the API, for programs')
    .action(
      async (
        reference: string,
        options: OwnerOption & { readonly overlap: string; readonly json?: true },
        command: Command,
      ) => {
        const rotated = await withClient(terminal, command, async (client) => {
          const { path } = await findKey(client, options, reference)
          return client.request('POST', `${path}/rotate`, { overlapSeconds: durationOf(options.overlap) })
        })
        if (options.json === true) showJson(terminal, rotated)
        else terminal.out(`${String(rotated['key'])}\n`)
      },
    )
}

function addHandOver(apiKey: Command, terminal: Terminal): void {
  apiKey
    .command('hand-over')
    .description('give an API key another maker, with whose role it stands')
    .argument('<key>')
    .argument('<user-name>', 'an admin of the organization, or a global admin')
    .option(...ORGANIZATION)
    .action(async (reference: string, userName: string, options: OwnerOption, command: Command) => {
      await withClient(terminal, command, async (client) => {
        const { path } = await findKey(client, options, reference)
        return client.request('POST', `${path}/hand-over`, { userID: await userIdOf(client, userName) })
      })
      terminal.out(`Handed the API key ${cellText(reference)} over to ${cellText(userName)}.\n`)
    })
}

function collected(text: string, others: readonly string[] = []): readonly string[] {
  return [...others, text]
}

async function basePath(client: ApiClient, { organization }: OwnerOption): Promise<string> {
  if (organization === undefined) return '/api/api-keys'
  return `/api/organizations/${await organizationIdOf(client, organization)}/api-keys`
}

async function findKey(
  client: ApiClient,
  options: OwnerOption,
  reference: string,
): Promise<{ readonly path: string; readonly id: string }> {
  const base = await basePath(client, options)
  const id = await apiKeyIdOf(client, base, reference)
  return { path: `${base}/${id}`, id }
}

function durationOf(text: string): number {
  const seconds = Number(secondsOf(text))
  if (!Number.isSafeInteger(seconds)) throw new CommandFailure(`${text} is no duration: write 24h, 7d or 2w.`)
  return seconds
}

function expiryOf(duration: string): string {
  return new Date(Date.now() + durationOf(duration) * 1000).toISOString()
}

function textsOf(value: unknown): string {
  return Array.isArray(value) ? value.join(' ') : ''
}
