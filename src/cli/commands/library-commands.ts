/** The commands `fieldgate codecs library ...`: the library of the deployment. */
import type { Command } from 'commander'
import { objectAt, objectsAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { listPage, pathWith } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { cellText, formatFields, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { column, listQuery, showJson, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { withRemoval } from './removal.ts'

const PATH = '/api/device-library'

interface LibraryListOptions extends ListOptions {
  readonly vendor?: string
  readonly region?: string
  readonly source?: string
}

/** Adds the commands to `fieldgate codecs`. */
export function addLibraryCommands(codecs: Command, terminal: Terminal): void {
  const library = codecs
    .command('library')
    .description('the library of the deployment, from which organizations choose device profiles')

  withListOptions(library.command('list').description('list the profiles of the library'))
    .option('--vendor <vendor>', 'only profiles of this vendor')
    .option('--region <region>', 'only profiles for this region, as its collection writes it')
    .option('--source <source>', 'only profiles of this source')
    .action(async (options: LibraryListOptions, command: Command) => {
      const { vendor, region, source } = options
      const query = { ...listQuery(options), vendor, region, source }
      const list = await withClient(terminal, command, (client) => listPage(client, `${PATH}/profiles`, query))
      showList(terminal, list, options, [
        column('ID', 'id'),
        column('VENDOR', 'vendor'),
        column('MODEL', 'model'),
        column('FIRMWARE', 'firmwareVersion'),
        { title: 'REGIONS', cell: regionsText },
        column('EXAMPLES', 'vectorCount'),
        { title: 'SOURCE', cell: (row) => textAt(objectAt(row, 'source'), 'name') },
      ])
    })

  library
    .command('show')
    .description('show one profile; with --json with its scripts and examples')
    .argument('<id>', 'its id, as the list shows it')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (id: string, options: { readonly json?: true }, command: Command) => {
      const path = `${PATH}/profiles/${encodeURIComponent(id)}`
      const found = await withClient(terminal, command, (client) => client.request('GET', path))
      if (options.json === true) showJson(terminal, found)
      else showProfile(terminal, objectAt(found, 'libraryProfile') ?? {})
    })

  library
    .command('sources')
    .description('list the collections of which the library has profiles, with their licences')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (options: { readonly json?: true }, command: Command) => {
      const found = await withClient(terminal, command, (client) => client.request('GET', PATH))
      if (options.json === true) return showJson(terminal, found)
      const columns = [
        column('SOURCE', 'name'),
        column('VERSION', 'version'),
        column('LICENCE', 'licence'),
        column('PROFILES', 'profileCount'),
      ]
      terminal.out(formatTable(columns, objectsAt(found, 'sources')))
      return undefined
    })

  withRemoval(
    library.command('remove').description('remove all profiles of a source').argument('<source>', 'its name'),
    terminal,
    'remove',
    async (client, name) => {
      const source = objectsAt(await client.request('GET', PATH), 'sources').find((one) => one['name'] === name)
      if (source === undefined) throw new CommandFailure(`The library has no source ${name}.`)
      return {
        path: pathWith(`${PATH}/sources`, { name }),
        what: `the source ${cellText(name)} with ${counted(Number(source['profileCount']), 'profile')}`,
        consequence: 'Device profiles that were made of it stay.',
        json: source,
      }
    },
  )
}

function showProfile(terminal: Terminal, profile: JsonObject): void {
  const source = objectAt(profile, 'source') ?? {}
  terminal.out(
    formatFields({
      id: profile['id'],
      vendor: profile['vendor'],
      model: profile['model'],
      firmwareVersion: profile['firmwareVersion'],
      description: profile['description'],
      regions: regionsText(profile),
      payloadCodec: profile['payloadCodec'],
      examples: profile['vectorCount'],
      failedExamples: profile['failedExamples'],
      revision: profile['revision'],
      source: source['name'],
      version: source['version'],
      licence: source['licence'],
      url: source['url'],
      updatedAt: profile['updatedAt'],
    }),
  )
}

function regionsText(profile: JsonObject): string {
  return objectsAt(profile, 'regions')
    .map((one) => textAt(one, 'region'))
    .join(' ')
}
