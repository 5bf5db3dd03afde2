/**
 * The commands `fieldgate profile ...`: a device profile says what devices of one kind share.
 */
import type { Command } from 'commander'
import { given } from '../../given.ts'
import { isObject, objectAt, objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { listPage } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { readTextFile } from '../terminal/file-failure.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import {
  column,
  listQuery,
  showCreated,
  showFields,
  showJson,
  showList,
  withClient,
  withListOptions,
} from './administration.ts'
import type { ListOptions } from './administration.ts'
import { deviceProfileIdOf, organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'
import { wholeNumber } from './webhook-options.ts'

interface ProfileOptions {
  readonly organization: string
  readonly name?: string
  readonly description?: string
  readonly vendor?: string
  readonly region?: string
  readonly libraryProfile?: string
  readonly model?: string
  readonly firmware?: string
  readonly codec?: string
  readonly decoderFile?: string
  readonly encoderFile?: string
  readonly vectorsFile?: string
  readonly interval?: number
  readonly force?: true
  readonly json?: true
}

const PATH = '/api/device-profiles'

/** Adds the commands to the program. */
export function addProfileCommands(program: Command, terminal: Terminal): void {
  const profile = program
    .command('profile')
    .description('create, change, test and list device profiles: codecs and values for devices of one kind')
  profile.addHelpText(
    'afterAll',
    `
A profile is named by its name or its id. A codec that breaks a test vector is only saved with --force.

Examples:
  fieldgate profile create "Water meter" --organization alpine-valley-water --codec CUSTOM_JS --decoder-file decoder.js
  fieldgate profile test "Water meter" --organization alpine-valley-water
  fieldgate profile restore "Water meter" 1 --organization alpine-valley-water`,
  )
  addCreateAndUpdate(profile, terminal)
  addLooks(profile, terminal)
  addTestAndRestore(profile, terminal)
  addLibraryUpdate(profile, terminal)
  withRemoval(
    inOrganization(profile.command('delete').description('delete a profile').argument('<profile>')).option(
      '--detach',
      'take the profile from its devices first',
    ),
    terminal,
    'delete',
    async (client, reference, options) => {
      const path = await pathOf(client, textAt(options, 'organization') ?? '', reference)
      const found = await client.request('GET', path)
      const name = textAt(objectAt(found, 'deviceProfile'), 'name') ?? ''
      const devices = Number(found['deviceCount'])
      const what = `the device profile ${cellText(name)}`
      const consequence = `${counted(devices, 'device')} will have no profile.`
      const detach = options['detach'] === true
      return {
        path: detach ? `${path}?detach=true` : path,
        what,
        ...(detach && devices > 0 ? { consequence } : {}),
        json: { name, devices },
      }
    },
  )
}

function addCreateAndUpdate(profile: Command, terminal: Terminal): void {
  withFieldOptions(profile.command('create').description('create a profile and print its id').argument('<name>'))
    .option('--library-profile <id>', 'make it of this profile of the library; see fieldgate codecs library list')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (name: string, options: ProfileOptions, command: Command) => {
      const changes = await changesOf(options)
      const created = await withClient(terminal, command, async (client) => {
        const organizationID = await organizationIdOf(client, options.organization)
        const ofLibrary = given({ libraryProfileID: options.libraryProfile })
        const deviceProfile = { name, organizationID, ...ofLibrary, ...changes }
        return client.request('POST', PATH, { deviceProfile, ...given({ force: options.force }) })
      })
      showCreated(terminal, created, `device profile ${name}`, options.json)
    })

  withFieldOptions(profile.command('update').description('change a profile').argument('<profile>'))
    .option('--name <name>', 'a new name')
    .action(async (reference: string, options: ProfileOptions, command: Command) => {
      const deviceProfile = { ...given({ name: options.name }), ...(await changesOf(options)) }
      await withClient(terminal, command, async (client) =>
        client.request('PUT', await pathOf(client, options.organization, reference), {
          deviceProfile,
          ...given({ force: options.force }),
        }),
      )
      terminal.out(`Changed the device profile ${reference}.\n`)
    })
}

function addLooks(profile: Command, terminal: Terminal): void {
  withListOptions(inOrganization(profile.command('list').description('list profiles'))).action(
    async (options: ListOptions & ProfileOptions, command: Command) => {
      const list = await withClient(terminal, command, async (client) => {
        const organizationID = await organizationIdOf(client, options.organization)
        return listPage(client, PATH, { ...listQuery(options), organizationID })
      })
      const columns = [column('ID', 'id'), column('NAME', 'name'), column('VENDOR', 'vendor'), column('MODEL', 'model')]
      showList(terminal, list, options, [...columns, column('CODEC', 'payloadCodec')])
    },
  )

  inOrganization(profile.command('show').description('show a profile').argument('<profile>'))
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: ProfileOptions, command: Command) => {
      const found = await withClient(terminal, command, async (client) =>
        client.request('GET', await pathOf(client, options.organization, reference)),
      )
      showFields(terminal, found, options.json)
    })

  inOrganization(profile.command('versions').description('list the versions of its codec').argument('<profile>'))
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: ListOptions & ProfileOptions, command: Command) => {
      const list = await withClient(terminal, command, async (client) =>
        listPage(client, `${await pathOf(client, options.organization, reference)}/versions`, {}),
      )
      const columns = [column('VERSION', 'version'), column('CODEC', 'payloadCodec'), column('TIME', 'createdAt')]
      showList(terminal, list, options, [...columns, column('USER', 'userID'), column('API KEY', 'apiKeyID')])
    })
}

function addTestAndRestore(profile: Command, terminal: Terminal): void {
  inOrganization(profile.command('test').description('run the test vectors of a profile').argument('<profile>'))
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: ProfileOptions, command: Command) => {
      const result = await withClient(terminal, command, async (client) =>
        client.request('POST', `${await pathOf(client, options.organization, reference)}/test`, {}),
      )
      const outcomes = Array.isArray(result['outcomes']) ? result['outcomes'].filter(isObject) : []
      if (options.json === true) showJson(terminal, result)
      else for (const outcome of outcomes) terminal.out(`${lineOf(outcome)}\n`)
      const failed = outcomes.filter(({ ok }) => ok !== true).length
      if (failed > 0) throw new CommandFailure(`${failed} of ${counted(outcomes.length, 'test vector')} failed.`)
      if (options.json !== true) terminal.out(`No test vector of ${outcomes.length} failed.\n`)
    })

  inOrganization(profile.command('restore').description('go back to a version of its codec').argument('<profile>'))
    .argument('<version>', 'the number of the version', wholeNumber)
    .option('--force', 'also where the version breaks a test vector')
    .action(async (reference: string, version: number, options: ProfileOptions, command: Command) => {
      await withClient(terminal, command, async (client) =>
        client.request('POST', `${await pathOf(client, options.organization, reference)}/restore`, {
          version,
          ...given({ force: options.force }),
        }),
      )
      terminal.out(`Restored version ${version} of the codec of ${reference}.\n`)
    })
}

function lineOf(outcome: JsonObject): string {
  const [name, expected, got] = ['name', 'expected', 'got'].map((member) => cellText(textAt(outcome, member) ?? ''))
  return outcome['ok'] === true ? `right  ${name}` : `wrong  ${name}: expected ${expected}, got ${got}`
}

async function changesOf(options: ProfileOptions): Promise<JsonObject> {
  const { description, vendor, model, firmware, region, codec, decoderFile, encoderFile, vectorsFile, interval } =
    options
  return given({
    description,
    vendor,
    model,
    firmwareVersion: firmware,
    region,
    payloadCodec: codec === 'none' ? '' : codec,
    payloadDecoderScript: decoderFile === undefined ? undefined : await readTextFile(decoderFile),
    payloadEncoderScript: encoderFile === undefined ? undefined : await readTextFile(encoderFile),
    testVectors: vectorsFile === undefined ? undefined : vectorsIn(vectorsFile, await readTextFile(vectorsFile)),
    expectedIntervalSeconds: interval,
  })
}

function vectorsIn(file: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailure(`The file ${file} is not valid JSON.`)
  }
}

function inOrganization(command: Command): Command {
  return command.requiredOption('--organization <organization>', 'the organization of the profile')
}

async function pathOf(client: ApiClient, organization: string, reference: string): Promise<string> {
  const organizationID = await organizationIdOf(client, organization)
  return `${PATH}/${await deviceProfileIdOf(client, organizationID, reference)}`
}

function withFieldOptions(command: Command): Command {
  return inOrganization(command)
    .option('--description <text>')
    .option('--vendor <text>', 'the maker of the devices')
    .option('--model <text>', 'their model')
    .option('--firmware <text>', 'their firmware')
    .option('--region <text>', 'their region')
    .option('--codec <codec>', 'how payloads are decoded: none, CAYENNE_LPP or CUSTOM_JS')
    .option('--decoder-file <path>', 'JavaScript that decodes events, for CUSTOM_JS')
    .option('--encoder-file <path>', 'JavaScript that encodes commands, for CUSTOM_JS')
    .option('--vectors-file <path>', 'JSON: a list of test vectors, which take the place of all others')
    .option('--interval <seconds>', 'the time between two uplinks; 0: none is expected', wholeNumber)
    .option('--force', 'save a codec that is no JavaScript, or that breaks a test vector')
}

interface LibraryUpdateOptions {
  readonly organization: string
  readonly look?: true
  readonly force?: true
  readonly json?: true
}

function addLibraryUpdate(profile: Command, terminal: Terminal): void {
  inOrganization(
    profile
      .command('library-update')
      .description('take what the library has newer for a profile that was made of it')
      .argument('<profile>'),
  )
    .option('--look', 'show the members that would change and the test vectors that break; change nothing')
    .option('--force', 'also a codec that breaks a test vector')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (reference: string, options: LibraryUpdateOptions, command: Command) => {
      const { organization, look, force, json } = options
      const found = await withClient(terminal, command, async (client) => {
        const path = `${await pathOf(client, organization, reference)}/library-update`
        const update = await client.request('GET', path)
        if (update['isThere'] === true && look !== true) await client.request('POST', path, given({ force }))
        return update
      })
      if (json === true) return showJson(terminal, found)
      if (found['isThere'] !== true) {
        terminal.error('The library has nothing newer for this profile.\n')
        return undefined
      }
      const broken = objectsAt(found, 'breaks').map((one) => cellText(textAt(one, 'name')))
      const members = textsAt(found, 'members').join(', ')
      terminal.error(`${look === true ? 'Would change' : 'Changed'}: ${members}.\n`)
      if (broken.length > 0) terminal.error(`The test vectors that the new codec breaks: ${broken.join(', ')}.\n`)
      return undefined
    })
}
