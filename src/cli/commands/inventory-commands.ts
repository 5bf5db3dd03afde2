/**
 * The commands `fieldgate inventory ...`: the inventory of a network server is looked at, imported,
 * and kept in step.
 */
import type { Command } from 'commander'
import { given } from '../../given.ts'
import { objectAt, objectsAt, textAt, textsAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { listPage, pathWith } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { pair } from '../terminal/name-value-pair.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Column } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { column, showJson, showList, withClient } from './administration.ts'
import { needsService } from './needs-service.ts'
import { applicationIdOf, organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'

interface ImportOptions {
  readonly organization: string
  readonly application?: Readonly<Record<string, string>>
  readonly createApplications?: true
  readonly profiles?: string
  readonly tag?: Readonly<Record<string, string>>
  readonly ofDeployment?: true
  readonly json?: true
}

interface StepOptions extends ImportOptions {
  readonly intervalSeconds: string
  readonly removeMissing?: true
}

const PATH = '/api/inventories'
const WHAT = 'the inventories of network servers'

/**
 * Adds the commands. The exit code of `import` is 1 if a device was refused, or if an application
 * was refused or is missing.
 */
export function addInventoryCommands(program: Command, terminal: Terminal, exit: { code: number }): void {
  const inventory = program
    .command('inventory')
    .description('import applications, devices and device profiles from a network server')
  inventory.addHelpText(
    'afterAll',
    `
The network server is a ChirpStack v4 by gRPC, or The Things Stack; "fieldgate network-server" and the settings file name
them. "look" shows what "import" would do, and writes nothing.

Examples:
  fieldgate inventory list --organization alpine-valley-water
  fieldgate inventory look chirpstack --organization alpine-valley-water --create-applications
  fieldgate inventory import chirpstack --organization alpine-valley-water --create-applications
  fieldgate inventory import chirpstack --organization alpine-valley-water \\
    --application 52f14cd4-c6f1-4fbd-8f87-4025e1d49242=water-network --tag street=north
  fieldgate inventory keep-in-step chirpstack --organization alpine-valley-water --interval-seconds 3600
  fieldgate inventory end-step chirpstack --organization alpine-valley-water`,
  )
  addList(inventory, terminal)
  for (const verb of ['look', 'import'] as const) addImport(inventory, terminal, exit, verb)
  addStep(inventory, terminal)
  withRemoval(
    inventory
      .command('end-step')
      .description('keep an organization in step no longer; what was imported stays')
      .argument('<network-server>')
      .requiredOption('--organization <organization>', 'the organization'),
    terminal,
    'remove',
    async (client, name, options) => {
      const organizationID = await organizationIdOf(client, textAt(options, 'organization') ?? '')
      return {
        path: pathWith(`${PATH}/${encodeURIComponent(name)}/step`, { organizationID }),
        what: `the step with the network server ${cellText(name)}`,
        consequence: 'What was imported stays.',
        json: { networkServer: name },
      }
    },
  )
}

function addList(inventory: Command, terminal: Terminal): void {
  inventory
    .command('list')
    .description('list the network servers with an inventory, and how they are kept in step')
    .requiredOption('--organization <organization>', 'the organization')
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (options: { readonly organization: string; readonly json?: true }, command: Command) => {
      const list = await withClient(terminal, command, async (client) => {
        const organizationID = await organizationIdOf(client, options.organization)
        return listPage(client, PATH, { organizationID }).catch(needsService(WHAT))
      })
      showList(terminal, list, { limit: '', offset: '', ...options }, [
        column('NETWORK SERVER', 'networkServer'),
        column('KIND', 'kind'),
        ofStep('SECONDS', 'intervalSeconds'),
        ofStep('LAST RUN', 'lastRunAt'),
        { title: 'RESULT', cell: (row) => resultOf(objectAt(row, 'step')) },
      ])
    })
}

/** A column that shows a member of the step. */
function ofStep(title: string, member: string): Column<JsonObject> {
  return { title, cell: (row) => objectAt(row, 'step')?.[member] ?? '' }
}

/** The result of the last run of a step, in words. */
function resultOf(step: JsonObject | undefined): string {
  if (step === undefined) return ''
  const code = textAt(step, 'lastCode') ?? ''
  if (code !== '') return `${code}: ${textAt(step, 'lastMessage') ?? ''}`
  const report = objectAt(step, 'lastReport')
  return report === undefined ? 'not run yet' : sentenceOf(report)
}

function addImport(inventory: Command, terminal: Terminal, exit: { code: number }, verb: 'look' | 'import'): void {
  const isLook = verb === 'look'
  const description = isLook
    ? 'show what an import would create, change, leave and refuse; write nothing'
    : 'create and change applications, device profiles and devices'
  withImportOptions(inventory.command(verb).description(description)).action(
    async (name: string, options: ImportOptions, command: Command) => {
      const report = await withClient(terminal, command, async (client) => {
        const { organizationID, settings } = await bodyOf(client, options)
        const body = { organizationID, dryRun: isLook, inventoryImport: settings }
        return client.request('POST', `${PATH}/${encodeURIComponent(name)}/import`, body).catch(refusedFor(name))
      })
      exit.code = !isLook && !isWhole(report) ? 1 : 0
      if (options.json === true) showJson(terminal, report)
      else showReport(terminal, report)
    },
  )
}

function addStep(inventory: Command, terminal: Terminal): void {
  withImportOptions(
    inventory.command('keep-in-step').description('import now, and again at an interval, until end-step'),
  )
    .option('--interval-seconds <number>', 'from one import to the next: 300 to 604800', '3600')
    .option('--remove-missing', 'remove imported devices that two imports in a row miss at the network server')
    .action(async (name: string, options: StepOptions, command: Command) => {
      await withClient(terminal, command, async (client) => {
        const { organizationID, settings } = await bodyOf(client, options)
        const { intervalSeconds, removeMissing } = options
        const inventoryStep = { ...settings, intervalSeconds: Number(intervalSeconds), ...given({ removeMissing }) }
        const path = `${PATH}/${encodeURIComponent(name)}/step`
        await client.request('PUT', path, { organizationID, inventoryStep }).catch(refusedFor(name))
      })
      if (options.json === true) showJson(terminal, { networkServer: name })
      else terminal.out(`The organization is kept in step with ${name}.\n`)
    })
}

function withImportOptions(command: Command): Command {
  return command
    .argument('<network-server>', 'its name, as "fieldgate inventory list" shows it')
    .requiredOption('--organization <organization>', 'the organization that the devices come to')
    .option(
      '--application <theirs=ours>',
      'only this application of the network server, by its id, into this one here; may be repeated',
      pair,
    )
    .option('--create-applications', 'make an application for each that has none here')
    .option('--profiles <mode>', 'import, by-name, or none', 'import')
    .option('--tag <name=value>', 'a label of all devices that goes out with every event; may be repeated', pair)
    .option('--of-deployment', 'read all tenants of a network server of the whole deployment')
    .option('--json', 'print the JSON of the API, for programs')
}

async function bodyOf(
  client: ApiClient,
  options: ImportOptions,
): Promise<{ readonly organizationID: string; readonly settings: JsonObject }> {
  const { application, createApplications, profiles, tag: tags, ofDeployment } = options
  const organizationID = await organizationIdOf(client, options.organization)
  const applications: Record<string, string> = {}
  for (const [theirs, ours] of Object.entries(application ?? {})) {
    const reference = ours.includes('/') ? ours : `${options.organization}/${ours}`
    applications[theirs] = await applicationIdOf(client, reference)
  }
  const settings = given({
    applications: application === undefined ? undefined : applications,
    createApplications,
    profiles: profiles?.toUpperCase().replaceAll('-', '_'),
    tags,
    ofDeployment,
  })
  return { organizationID, settings }
}

function refusedFor(name: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof Error && /object does not exist/.test(error.message)) {
      const message = `The organization has no network server ${name} with an inventory, or no service runs.`
      throw new CommandFailure(`${message} See \`fieldgate inventory list\`.`)
    }
    throw error
  }
}

function showReport(terminal: Terminal, report: JsonObject): void {
  const said = [column('OUTCOME', 'outcome'), column('MESSAGE', 'message')]
  const applications = objectsAt(report, 'applications')
  if (applications.length > 0) {
    const ids = [column('APPLICATION THERE', 'networkServerApplicationID'), column('HERE', 'applicationID')]
    terminal.out(`${formatTable([column('NAME', 'name'), ...ids, ...said], applications)}\n`)
  }
  const changes = { title: 'CHANGES', cell: (row: JsonObject) => textsAt(row, 'members').join(' ') }
  const profiles = objectsAt(report, 'deviceProfiles')
  if (profiles.length > 0) {
    terminal.out(`${formatTable([column('DEVICE PROFILE', 'name'), changes, ...said], profiles)}\n`)
  }
  const devices = objectsAt(report, 'devices')
  if (devices.length > 0) {
    terminal.out(`${formatTable([column('DEVEUI', 'devEUI'), column('NAME', 'name'), changes, ...said], devices)}\n`)
  }
  for (const devEui of textsAt(report, 'missingDevEUIs')) terminal.error(`${cellText(devEui)}  missing there\n`)
  terminal.out(`${sentenceOf(report)}\n`)
}

/** Whether the import did all that was asked for. */
function isWhole(report: JsonObject): boolean {
  const isDone = objectsAt(report, 'applications').every(
    ({ outcome }) => outcome !== 'refused' && outcome !== 'missing',
  )
  return isDone && Number(report['refusedCount']) === 0
}

/**
 * `2 devices created, 1 changed, 7 as they are, 0 refused.`, with further sentences for things that
 * are missing.
 */
function sentenceOf(report: JsonObject): string {
  const [created = 0, updated = 0, unchanged = 0, refused = 0, missing = 0, removed = 0] = [
    'createdCount',
    'updatedCount',
    'unchangedCount',
    'refusedCount',
    'missingCount',
    'removedCount',
  ].map((member) => Number(report[member]))
  const gone = missing + removed === 0 ? '' : `, ${missing} missing there, ${removed} removed`
  const would = report['dryRun'] === true ? ' would be' : ''
  const devices = `${counted(created, 'device')}${would} created, ${updated} changed, ${unchanged} as they are, ${refused} refused${gone}.`
  const applications = objectsAt(report, 'applications').filter(({ outcome }) => outcome === 'missing').length
  if (applications === 0) return devices
  return `${devices} ${counted(applications, 'chosen application')} ${applications === 1 ? 'is' : 'are'} missing there.`
}
