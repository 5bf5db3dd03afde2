/** The commands `fieldgate webhook ...`. */
import type { Command } from 'commander'
import { given } from '../../given.ts'
import { isObject, objectAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { column, listQuery, showFields, showJson, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { organizationIdOf, webhookIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { settingsOf, wholeNumber, withWebhookOptions } from './webhook-options.ts'
import type { WebhookOptions } from './webhook-options.ts'

interface Options extends WebhookOptions {
  readonly organization: string
  readonly name?: string
  readonly overlap?: number
  readonly from?: string
  readonly fromEvent?: string
  readonly json?: true
}

/** Adds the commands to the program. */
export function addWebhookCommands(program: Command, terminal: Terminal): void {
  const webhook = program
    .command('webhook')
    .description('send the events of an organization to an HTTP server, and look how that goes')
  webhook.addHelpText(
    'afterAll',
    `
A webhook is named by its name or its id. The secret that signs its requests is shown once.

Examples:
  fieldgate webhook create billing --organization alpine-valley-water --url https://billing.example.org/events
  fieldgate webhook test billing --organization alpine-valley-water
  fieldgate webhook deliveries billing --organization alpine-valley-water
  fieldgate webhook resume billing --organization alpine-valley-water --from 2026-09-21T00:00:00Z`,
  )
  addCreateAndUpdate(webhook, terminal)
  addLists(webhook, terminal)
  addDeeds(webhook, terminal)
  withRemoval(
    inOrganization(webhook.command('delete').description('remove a webhook').argument('<webhook>')),
    terminal,
    'delete',
    async (client, reference, options) => {
      const organization = textAt(options, 'organization') ?? ''
      const path = await pathOf(client, organization, reference)
      const name = textAt(objectAt(await client.request('GET', path), 'webhook'), 'name') ?? ''
      return { path, what: `the webhook ${cellText(name)}`, consequence: 'Its place is forgotten.', json: { name } }
    },
  )
}

function addCreateAndUpdate(webhook: Command, terminal: Terminal): void {
  withWebhookOptions(inOrganization(webhook.command('create').argument('<name>')))
    .description('make a webhook; print its id and its secret')
    .requiredOption('--url <url>', 'the address of the receiver')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, options: Options, command: Command) => {
      const created = await withClient(terminal, command, async (client) => {
        const path = await listPathOf(client, options.organization)
        return client.request('POST', path, { webhook: { name, ...(await settingsOf(client, options)) } })
      })
      showFields(terminal, created, options.json)
    })

  withWebhookOptions(inOrganization(webhook.command('update').argument('<webhook>')))
    .description('change settings of a webhook; the others stay')
    .option('--name <name>', 'another name for people')
    .option('--url <url>', 'another address of the receiver')
    .action(async (reference: string, options: Options, command: Command) => {
      await withClient(terminal, command, async (client) => {
        const path = await pathOf(client, options.organization, reference)
        const before = objectAt(await client.request('GET', path), 'webhook') ?? {}
        const changes = { ...given({ name: options.name }), ...(await settingsOf(client, options)) }
        await client.request('PUT', path, { webhook: { ...settable(before), ...changes } })
      })
    })
}

function addLists(webhook: Command, terminal: Terminal): void {
  withListOptions(inOrganization(webhook.command('list').description('list webhooks'))).action(
    async (options: ListOptions & Options, command: Command) => {
      const list = await withClient(terminal, command, async (client) =>
        listPage(client, await listPathOf(client, options.organization), listQuery(options)),
      )
      const columns = [column('ID', 'id'), column('NAME', 'name'), column('URL', 'url')]
      showList(terminal, list, options, [...columns, column('PAUSED', 'pausedAt'), column('WHY', 'pauseCode')])
    },
  )

  inOrganization(webhook.command('get').argument('<webhook>'))
    .description('show a webhook, and how it stands')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: Options, command: Command) => {
      const found = await withClient(terminal, command, async (client) =>
        client.request('GET', await pathOf(client, options.organization, reference)),
      )
      if (options.json === true) return showJson(terminal, found)
      const { webhook: settings, standing } = found
      showFields(terminal, { ...(isObject(settings) ? settings : {}), ...(isObject(standing) ? standing : {}) }, false)
      return undefined
    })

  withListOptions(inOrganization(webhook.command('deliveries').argument('<webhook>')))
    .description('show the newest requests of a webhook')
    .action(async (reference: string, options: ListOptions & Options, command: Command) => {
      const list = await withClient(terminal, command, async (client) => {
        const { limit, offset } = options
        const path = await pathOf(client, options.organization, reference)
        return listPage(client, `${path}/deliveries`, { limit, offset })
      })
      const what = [column('TIME', 'time'), column('OUTCOME', 'outcome'), column('EVENT', 'webhookId')]
      const device = [column('DEVEUI', 'devEui'), column('KIND', 'kind'), column('TRY', 'tries')]
      const answer = [column('STATUS', 'status'), column('MS', 'durationMs'), column('CODE', 'code')]
      showList(terminal, list, options, [...what, ...device, ...answer])
    })
}

function addDeeds(webhook: Command, terminal: Terminal): void {
  inOrganization(webhook.command('test').argument('<webhook>'))
    .description('send a sample event now, and show the answer')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: Options, command: Command) => {
      const entry = await deed(terminal, command, { reference, options, verb: 'test' })
      showFields(terminal, entry, options.json)
    })

  inOrganization(webhook.command('pause').argument('<webhook>'))
    .description('stop sending; the webhook keeps its place')
    .action(async (reference: string, options: Options, command: Command) => {
      await deed(terminal, command, { reference, options, verb: 'pause' })
    })

  inOrganization(webhook.command('resume').argument('<webhook>'))
    .description('go on where the webhook was, or replay events')
    .option('--from <time>', 'send again the events from this time on, RFC 3339')
    .option('--from-event <id>', 'send again the events from this event on')
    .action(async (reference: string, options: Options, command: Command) => {
      const body = given({ from: options.from, fromEventId: options.fromEvent })
      await deed(terminal, command, { reference, options, verb: 'resume', body })
    })

  inOrganization(webhook.command('rotate-secret').argument('<webhook>'))
    .description('make a new secret and print it; the old one goes on signing for a while')
    .option('--overlap <seconds>', 'how long the old secret goes on; a day when not given', wholeNumber)
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: Options, command: Command) => {
      const body = given({ overlapSeconds: options.overlap })
      const issued = await deed(terminal, command, { reference, options, verb: 'rotate-secret', body })
      showFields(terminal, issued, options.json)
    })
}

function inOrganization(command: Command): Command {
  return command.requiredOption('--organization <organization>', 'the organization of the webhook')
}

interface Deed {
  readonly reference: string
  readonly options: Options
  readonly verb: 'test' | 'pause' | 'resume' | 'rotate-secret'
  readonly body?: JsonObject
}

function deed(terminal: Terminal, command: Command, { reference, options, verb, body }: Deed): Promise<JsonObject> {
  return withClient(terminal, command, async (client) =>
    client.request('POST', `${await pathOf(client, options.organization, reference)}/${verb}`, body),
  )
}

async function listPathOf(client: ApiClient, organization: string): Promise<string> {
  return `/api/organizations/${await organizationIdOf(client, organization)}/webhooks`
}

async function pathOf(client: ApiClient, organization: string, reference: string): Promise<string> {
  const path = await listPathOf(client, organization)
  return `${path}/${await webhookIdOf(client, path, reference)}`
}

/** Members of an answer that are no settings. */
const NO_SETTINGS = new Set([
  'id',
  'headerNames',
  'pausedAt',
  'pauseCode',
  'pauseReason',
  'secretsInForce',
  'createdAt',
  'updatedAt',
])

function settable(webhook: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(webhook).filter(([name]) => !NO_SETTINGS.has(name)))
}
