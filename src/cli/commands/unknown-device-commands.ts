/**
 * The commands `fieldgate unknown-devices ...`: devices that send without being registered are
 * listed, registered and forgotten.
 */
import type { Command } from 'commander'
import { given } from '../../given.ts'
import { objectsAt, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { listPage, pathWith } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { pair } from '../terminal/name-value-pair.ts'
import { cellText } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { column, listQuery, showJson, showList, withClient, withListOptions } from './administration.ts'
import type { ListOptions } from './administration.ts'
import { needsService } from './needs-service.ts'
import { applicationIdOf, deviceProfileIdOf, organizationIdOf } from './references.ts'
import { withRemoval } from './removal.ts'

/** The options that say which devices are meant. */
export interface MeantOptions {
  readonly networkServer?: string
  readonly serverApplication?: string
  readonly serverApplicationName?: string
  readonly serverProfile?: string
  readonly prefix?: string
}

/** The options for the devices that are made. */
export interface NewDeviceOptions {
  readonly application: string
  readonly nameTemplate?: string
  readonly deviceProfile?: string
  readonly profile?: string
  readonly tag?: Readonly<Record<string, string>>
  readonly ofDeployment?: true
  readonly json?: true
}

interface ListUnknownOptions extends ListOptions, MeantOptions {
  readonly organization?: string
}

interface RegisterOptions extends MeantOptions, NewDeviceOptions {
  readonly all?: true
}

/** The result of several requests together. */
interface Registered {
  readonly registered: number
  readonly refused: number
  readonly refusals: readonly JsonObject[]
}

const PATH = '/api/unknown-devices'
const WHAT = 'the devices that send without being registered'

/** Adds the commands. A device that could not be registered makes the exit code 1. */
export function addUnknownDeviceCommands(program: Command, terminal: Terminal, exit: { code: number }): void {
  const unknown = program
    .command('unknown-devices')
    .description('list, register and forget devices that send without being registered')
  unknown.addHelpText(
    'afterAll',
    `
The service keeps the events of these devices, and delivers them when the devices are registered. Without --organization
the devices of the deployment's own network servers are meant.

Examples:
  fieldgate unknown-devices list --organization alpine-valley-water
  fieldgate unknown-devices register 0101010101010101 --application water-network
  fieldgate unknown-devices register --all --server-profile Water --application water-network --tag street=north
  fieldgate unknown-devices forget 0101010101010101 --organization alpine-valley-water`,
  )
  addList(unknown, terminal)
  addRegister(unknown, terminal, exit)
  withRemoval(
    unknown
      .command('forget')
      .description('give up the kept events of a device; it comes back with its next event')
      .argument('<devEui>')
      .option('--organization <organization>', 'the organization of its network server'),
    terminal,
    'forget',
    async (client, devEui, options) => {
      const organizationID = await organizationIdIn(client, textAt(options, 'organization'))
      const { result } = await listPage(client, PATH, { organizationID, devEUIPrefix: devEui }).catch(
        needsService(WHAT),
      )
      const device = result.find((one) => textAt(one, 'devEUI') === devEui.toLowerCase())
      if (device === undefined) throw new CommandFailure(`No device ${devEui} waits there.`)
      const events = counted(Number(device['eventCount']), 'kept event')
      return {
        path: pathWith(`${PATH}/${encodeURIComponent(devEui)}`, { organizationID }),
        what: `the unknown device ${devEui} with ${events}`,
        json: device,
      }
    },
  )
}

function addList(unknown: Command, terminal: Terminal): void {
  withListOptions(
    withMeantOptions(
      unknown
        .command('list')
        .description('list the devices that wait, in the order in which they were first heard of')
        .option('--organization <organization>', 'the organization of their network servers'),
    ),
  ).action(async (options: ListUnknownOptions, command: Command) => {
    const list = await withClient(terminal, command, async (client) => {
      const organizationID = await organizationIdIn(client, options.organization)
      const query = { ...listQuery(options), ...filterOf(options), organizationID }
      return listPage(client, PATH, query).catch(needsService(WHAT))
    })
    const columns = [
      column('DEVEUI', 'devEUI'),
      column('NAME', 'deviceName'),
      column('NETWORK SERVER', 'networkServerName'),
    ]
    const theirs = [column('APPLICATION', 'networkServerApplicationName'), column('PROFILE', 'deviceProfileName')]
    const kept = [column('EVENTS', 'eventCount'), column('FIRST', 'firstAt'), column('LAST', 'lastAt')]
    showList(terminal, list, options, [...columns, ...theirs, ...kept])
  })
}

function addRegister(unknown: Command, terminal: Terminal, exit: { code: number }): void {
  withNewDeviceOptions(
    withMeantOptions(
      unknown
        .command('register')
        .description('make devices of an application; their kept events are then delivered')
        .argument('[devEui...]', 'the devices')
        .option('--all', 'all devices that pass the other options'),
    ),
  )
    .option('--json', 'print the JSON of the API, for programs')
    .action(async (devEUIs: readonly string[], options: RegisterOptions, command: Command) => {
      if ((options.all === true) === devEUIs.length > 0) {
        throw new CommandFailure('Name the devices, or give --all for all that pass the other options.', 2)
      }
      const result = await withClient(terminal, command, async (client) => {
        const made = await newDevicesOf(client, options)
        const meant = options.all === true ? {} : { devEUIs }
        return registerAll(client, { ...made, ...meant, filter: filterOf(options) })
      })
      exit.code = result.refused > 0 ? 1 : 0
      if (options.json === true) return showJson(terminal, result)
      for (const refusal of result.refusals) {
        terminal.error(`${cellText(refusal['devEUI'])}  ${cellText(refusal['message'])}\n`)
      }
      const refused = result.refused === 0 ? '' : ` ${counted(result.refused, 'device')} could not be registered.`
      terminal.out(`Registered ${counted(result.registered, 'device')}.${refused}\n`)
      return undefined
    })
}

/** Asks again while more devices match than one request registers. */
async function registerAll(client: ApiClient, body: JsonObject): Promise<Registered> {
  let [registered, refused] = [0, 0]
  for (;;) {
    const answer = await client.request('POST', `${PATH}/register`, body).catch(needsService(WHAT))
    const now = Number(answer['registered'])
    registered += now
    // Refused devices go on waiting, so the last request has met all of them.
    refused = Number(answer['refused'])
    if (answer['more'] !== true || now === 0) return { registered, refused, refusals: objectsAt(answer, 'refusals') }
  }
}

/** The members of the API that say which devices are meant. */
export function filterOf(options: MeantOptions): Readonly<Record<string, string>> {
  const { networkServer, serverApplication, serverApplicationName, serverProfile, prefix } = options
  return given({
    networkServer,
    networkServerApplicationID: serverApplication,
    networkServerApplicationName: serverApplicationName,
    deviceProfileName: serverProfile,
    devEUIPrefix: prefix,
  })
}

/** The members of the API for the devices that are made. */
export async function newDevicesOf(client: ApiClient, options: NewDeviceOptions): Promise<JsonObject> {
  const applicationID = await applicationIdOf(client, options.application)
  const { deviceProfile } = options
  const deviceProfileID =
    deviceProfile === undefined ? undefined : await profileIdFor(client, applicationID, deviceProfile)
  return {
    applicationID,
    ...given({
      ofDeployment: options.ofDeployment,
      nameTemplate: options.nameTemplate,
      deviceProfileID,
      deviceProfileName: options.profile,
      tags: options.tag,
    }),
  }
}

async function profileIdFor(client: ApiClient, applicationID: string, reference: string): Promise<string> {
  const { application } = await client.request('GET', `/api/applications/${encodeURIComponent(applicationID)}`)
  const organizationID = textAt((application ?? {}) as JsonObject, 'organizationID') ?? ''
  return deviceProfileIdOf(client, organizationID, reference)
}

async function organizationIdIn(client: ApiClient, organization: string | undefined): Promise<string | undefined> {
  return organization === undefined ? undefined : organizationIdOf(client, organization)
}

/** Adds the options of `MeantOptions`. */
export function withMeantOptions(command: Command): Command {
  return command
    .option('--network-server <server>', 'only devices of this network server, as the list names it')
    .option('--server-application <id>', 'only devices of this application of the network server')
    .option('--server-application-name <name>', 'only devices whose application has this name at the network server')
    .option('--server-profile <name>', 'only devices with this device profile at the network server')
    .option('--prefix <digits>', 'only DevEUIs that begin with these hexadecimal digits')
}

/** Adds the options of `NewDeviceOptions`, without `--json`. */
export function withNewDeviceOptions(command: Command): Command {
  return command
    .requiredOption('--application <application>', 'the application that the devices come to')
    .option(
      '--name-template <text>',
      'their names, with {deviceName}, {devEUI}, {applicationName}, {deviceProfileName}',
    )
    .option('--device-profile <profile>', 'a device profile of the organization, by its name or id')
    .option('--profile <text>', 'name of the device profile; the name at the network server when not given')
    .option('--tag <name=value>', 'a label that goes out with every event; may be repeated', pair)
    .option('--of-deployment', 'the devices of the network servers of the whole deployment')
}
