/** Devices as a table, in the columns that an import takes. */
import { Readable } from 'node:stream'
import { Type } from 'typebox'
import type { Device } from '../../identity/devices/device.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { narrowed } from '../api/access.ts'
import { ErrorBodySchema, invalidArgument } from '../api/errors.ts'
import { optionalApplicationId, optionalId } from '../api/fields.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { resource, route } from '../api/routes.ts'
import type { Route } from '../api/routes.ts'
import type { Turns } from '../shares/work-turns.ts'
import { given } from '../../given.ts'

/** Devices that are read in one turn. */
const PAGE_DEVICES = 1000
/** The most columns for tags and variables. The table would be mostly empty cells. */
const MAXIMUM_NAMED_COLUMNS = 500
const EXPORT_TIMEOUT_MS = 600_000

const MEMBERS = [
  'devEUI',
  'name',
  'description',
  'applicationID',
  'profile',
  'deviceProfileID',
  'deviceProfileName',
  'isDisabled',
] as const
const CSV = 'text/csv'

/** The export. */
export function exportRoutes(registry: OwnershipRegistry, turns: Turns): readonly Route[] {
  const exportDevices = route({
    method: 'GET',
    url: '/api/devices/export',
    may: narrowed('device.read', { organization: 'query.organizationID', application: 'query.applicationID' }),
    handlerTimeout: EXPORT_TIMEOUT_MS,
    schema: {
      operationId: 'exportDevices',
      summary: 'Export devices',
      description:
        'The devices of an organization or of an application as CSV, with the columns that an import takes. An import with ' +
        '`update` of the unchanged table changes nothing. `profile` has the name of the device profile; ' +
        '`deviceProfileID` has an id that is none of the organization’s profiles. A cell that a spreadsheet would take for a ' +
        `formula is written as ="...". At most ${MAXIMUM_NAMED_COLUMNS} different tags and variables.`,
      querystring: Type.Object({
        organizationID: optionalId('Organization id.'),
        applicationID: optionalApplicationId('Application id.'),
      }),
      response: {
        200: {
          description: 'The table.',
          content: { [CSV]: { schema: Type.Unsafe<Readable>({ type: 'string' }) } },
        },
        '4xx': ErrorBodySchema,
        '5xx': ErrorBodySchema,
      },
    },
    handle: async ({ viewer, organizationId, applicationId }, { turnsOf }, reply) => {
      if (organizationId === undefined && applicationId === undefined) {
        throw invalidArgument('organizationID: is missing; or name an applicationID')
      }
      const scope = given({ organizationId, applicationId })
      const pages = () => pagesOf(registry, viewer, scope, (slice) => turns.run(turnsOf, slice))
      const named = await namedColumns(pages())
      const profileNames = createProfileNames(registry)
      return reply
        .type(`${CSV}; charset=utf-8`)
        .header('content-disposition', 'attachment; filename="devices.csv"')
        .send(Readable.from(tableOf(pages(), named, profileNames)))
    },
  })
  return resource('Devices', [exportDevices])
}

interface Scope {
  readonly organizationId?: string
  readonly applicationId?: string
}

type InTurn = <T>(slice: () => Promise<T>) => Promise<T>

async function* pagesOf(
  registry: OwnershipRegistry,
  viewer: Viewer,
  scope: Scope,
  inTurn: InTurn,
): AsyncGenerator<readonly Device[]> {
  for (let offset = 0; ; offset += PAGE_DEVICES) {
    const page = { ...scope, limit: PAGE_DEVICES, offset }
    const { items } = await inTurn(() => registry.devices.list(viewer, page))
    if (items.length > 0) yield items
    if (items.length < PAGE_DEVICES) return
  }
}

/** A column for each tag and variable of the devices: `tag:floor`. */
async function namedColumns(pages: AsyncIterable<readonly Device[]>): Promise<readonly string[]> {
  const columns = new Set<string>()
  for await (const devices of pages) {
    for (const { tags, variables } of devices) {
      for (const name of Object.keys(tags)) columns.add(`tag:${name}`)
      for (const name of Object.keys(variables)) columns.add(`variable:${name}`)
    }
    if (columns.size > MAXIMUM_NAMED_COLUMNS) {
      const message = `the devices have more than ${MAXIMUM_NAMED_COLUMNS} different tags and variables: export one application`
      throw invalidArgument(message, 'too_many_columns')
    }
  }
  return [...columns].toSorted()
}

async function* tableOf(
  pages: AsyncIterable<readonly Device[]>,
  named: readonly string[],
  profileNameOf: (device: Device) => Promise<string | undefined>,
): AsyncGenerator<string> {
  yield lineOf([...MEMBERS, ...named])
  for await (const devices of pages) {
    const lines: string[] = []
    for (const device of devices) lines.push(lineOf(cellsOf(device, named, await profileNameOf(device))))
    yield lines.join('')
  }
}

function cellsOf(device: Device, named: readonly string[], profile: string | undefined): readonly string[] {
  const { devEui, name, description, applicationId, deviceProfileId, deviceProfileName, isDisabled } = device
  const id = profile === undefined ? deviceProfileId : ''
  const own = [devEui, name, description, applicationId, profile ?? '', id, deviceProfileName, String(isDisabled)]
  const others = named.map((column) => {
    const at = column.indexOf(':')
    const pairs = column.slice(0, at) === 'tag' ? device.tags : device.variables
    return pairs[column.slice(at + 1)] ?? ''
  })
  return [...own, ...others]
}

/** The name of the device's profile; undefined where its id is none of its organization's. */
function createProfileNames(registry: OwnershipRegistry): (device: Device) => Promise<string | undefined> {
  // Bounded by the profiles of an organization, and by one other id at a time.
  const names = new Map<string, string>()
  return async ({ organizationId, deviceProfileId }) => {
    if (deviceProfileId === '') return undefined
    const known = names.get(deviceProfileId)
    if (known !== undefined) return known
    const profile = await registry.deviceProfiles.get(deviceProfileId)
    if (profile === undefined || profile.organizationId !== organizationId) return undefined
    names.set(deviceProfileId, profile.name)
    return profile.name
  }
}

function lineOf(cells: readonly string[]): string {
  return `${cells.map(cellOf).join(',')}\r\n`
}

/** Spreadsheets run a cell that begins like a formula, whoever named the device. */
const FORMULA = /^[=+\-@\t\r]/

function cellOf(text: string): string {
  const quoted = text.replaceAll('"', '""')
  if (FORMULA.test(text)) return `"=""${quoted.replaceAll('"', '""')}"""`
  return /[",\r\n;]|^\s|\s$/.test(text) ? `"${quoted}"` : text
}
