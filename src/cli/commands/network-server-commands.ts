/** The commands `fieldgate network-server ...`. */
import { readFileSync } from 'node:fs'
import type { Command } from 'commander'
import { column, showJson, showList, withClient } from './administration.ts'
import { given } from '../../given.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { objectAt, objectsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { fileFailure } from '../terminal/file-failure.ts'
import { organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'

interface SetUpOptions {
  readonly url: string
  readonly apiKeyFile: string
  readonly caFile?: string
  readonly tenant: readonly string[]
  readonly syncSeconds?: string
  readonly json?: true
}

/** Adds the commands to the program. */
export function addNetworkServerCommands(program: Command, terminal: Terminal): void {
  const networkServer = program
    .command('network-server')
    .description('set up a ChirpStack v4 by its gRPC API, which answers each command')
  networkServer.addHelpText(
    'afterAll',
    `
Make the API key in ChirpStack (Network Server > API keys). It is read from a file, so that no list of processes shows
it. A running service uses an added network server at once; otherwise the next start of the service does.

Examples:
  fieldgate network-server try chirpstack --url http://chirpstack:8080 --api-key-file key
  fieldgate network-server add chirpstack --url https://chirpstack.example.org --api-key-file key --ca-file ca.pem
  fieldgate network-server add chirpstack --url http://chirpstack:8080 --api-key-file key \\
    --tenant 52f14cd4-c6f1-4fbd-8f87-4025e1d49242=alpine-valley-water
  fieldgate network-server remove chirpstack`,
  )
  withSetUpOptions(networkServer.command('try').description('try to reach a ChirpStack, and change nothing')).action(
    async (name: string, options: SetUpOptions, command: Command) => {
      const trial = await withClient(terminal, command, async (client) =>
        client.request('POST', '/api/network-servers/try', await bodyOf(client, name, options)),
      )
      showTrial(terminal, trial, options)
      if (trial['outcome'] !== 'works') throw new CommandFailure('the network server was not reached')
    },
  )
  withSetUpOptions(
    networkServer.command('add').description('try to reach a ChirpStack; if that works, store its settings and use it'),
  ).action(async (name: string, options: SetUpOptions, command: Command) => {
    const added = await withClient(terminal, command, async (client) =>
      client.request('POST', '/api/network-servers', await bodyOf(client, name, options)),
    )
    showTrial(terminal, objectAt(added, 'trial') ?? {}, options)
    if (options.json !== true) terminal.out(`Added the network server ${name}.\n`)
  })
  networkServer
    .command('list')
    .description('list network servers')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (options: { readonly json?: true }, command: Command) => {
      const list = await withClient(terminal, command, (client) => listPage(client, '/api/network-servers', {}))
      const columns = [column('NAME', 'name'), column('KIND', 'kind'), column('URL', 'url')]
      showList(terminal, list, { limit: '', offset: '', ...options }, [...columns, column('CREATED', 'createdAt')])
    })
  withRemoval(
    networkServer
      .command('remove')
      .description('stop using a network server; what was synchronised from it stays')
      .argument('<name>'),
    terminal,
    'remove',
    async (_, name) => ({
      path: `/api/network-servers/${encodeURIComponent(name)}`,
      what: `the network server ${cellText(name)}`,
      consequence: 'It gets no more commands; what was synchronised from it stays.',
      json: { name },
    }),
  )
}

function withSetUpOptions(command: Command): Command {
  return command
    .argument('<name>', '1 to 40 lower-case letters, digits and hyphens; can’t be changed later')
    .requiredOption('--url <url>', 'https://host:port, or http://host:port for clear text')
    .requiredOption('--api-key-file <file>', 'a file with the API key; - for standard input')
    .option('--ca-file <file>', 'a file with the certificate authority that signed its certificate (PEM)')
    .option(
      '--tenant <tenant=organization>',
      'only this tenant, as this organization; may be repeated',
      (value: string, before: readonly string[]) => [...before, value],
      [],
    )
    .option('--sync-seconds <number>', 'the time between two synchronisations', '300')
    .option('--json', 'print the JSON of the API, for programs')
}

async function bodyOf(client: ApiClient, name: string, options: SetUpOptions): Promise<JsonObject> {
  const { url, apiKeyFile, caFile, tenant, syncSeconds } = options
  const tenants: Record<string, string> = {}
  for (const text of tenant) {
    const [id = '', organization = ''] = text.split('=', 2)
    if (id === '' || organization === '') throw new CommandFailure(`--tenant ${text}: must be tenant=organization`, 2)
    tenants[id] = await organizationIdOf(client, organization)
  }
  const networkServer = given({
    name,
    url,
    apiKey: textOf(apiKeyFile).trim(),
    caCertificate: caFile === undefined ? undefined : textOf(caFile),
    tenants: tenant.length === 0 ? undefined : tenants,
    syncSeconds: Number(syncSeconds),
  })
  return { networkServer }
}

function textOf(file: string): string {
  try {
    return readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch (error) {
    throw fileFailure(file, error)
  }
}

function showTrial(terminal: Terminal, trial: JsonObject, { json }: SetUpOptions): void {
  if (json === true) {
    showJson(terminal, trial)
    return
  }
  terminal.out(`${String(trial['answer'])}\n`)
  const tenants = objectsAt(trial, 'tenants')
  if (tenants.length === 0) return
  terminal.out(
    formatTable([column('TENANT', 'id'), column('NAME', 'name'), column('APPLICATIONS', 'applications')], tenants),
  )
}
