/** A row of an import becomes a device to be, or a refusal. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { Compile } from 'typebox/compile'
import type { DeviceFields } from '../../identity/devices/device.ts'
import { PROFILE_BOUNDS } from '../../identity/devices/profile-rules.ts'
import { readWrittenDevEui } from '../../identity/devices/eui.ts'
import { foldText } from '../../identity/store/text-rules.ts'
import type { Viewer } from '../../identity/store/result.ts'
import { deviceChanges, WritableDevice } from './device-fields.ts'
import { A_LINE, idText, ruledText } from '../api/fields.ts'
import { ACCEPTED, refusalOf } from './import-outcomes.ts'
import type { ImportOutcome } from './import-outcomes.ts'
import type { GoodRow } from './import-updates.ts'
import type { ImportRow, UnknownColumn } from './import-rows.ts'
import { applicationFor, demandReachedAfter } from '../api/ownership.ts'
import type { OwnershipRegistry } from '../api/ownership.ts'
import { faultSentence } from '../api/validate.ts'

/** Applications whose permission is remembered during an import. */
const MAXIMUM_REMEMBERED_APPLICATIONS = 10_000

/** A row that is not taken. */
export interface RefusedRow {
  readonly line: number
  /** The DevEUI, or the text of the row where it is no DevEUI. */
  readonly devEUI: string
  readonly message: string
  /** A stable code. */
  readonly reason: string
  /** For dev_eui_repeated the line with the same DevEUI; otherwise 0. */
  readonly sameAsLine: number
}

/** The result of checking a row, before its batch is written. */
export type CheckedRow = (GoodRow & { readonly line: number }) | RefusedRow

/** Checks a row by itself, and against the rows before it. */
export type RowCheck = (row: ImportRow) => Promise<CheckedRow>

const RowSchema = Type.Object({
  ...WritableDevice,
  profile: Type.Optional(ruledText(PROFILE_BOUNDS.name, 'Name of a device profile of the organization.', A_LINE)),
})
type GivenRow = Static<typeof RowSchema>
const rowCheck = Compile(RowSchema)

/**
 * The check of the rows of one import: each becomes a device to be, in an application for which the
 * person may create devices, with a DevEUI that no earlier row had.
 */
export function createRowCheck(
  registry: OwnershipRegistry,
  viewer: Viewer,
  defaultApplicationId: string | undefined,
  onUnknownColumn: UnknownColumn,
): RowCheck {
  const permissions = new Map<string, Permission>()
  const permission = async (applicationId: string): Promise<Permission> => {
    const known = permissions.get(applicationId)
    if (known !== undefined) return known
    const asked = await mayCreateIn(registry, viewer, applicationId)
    if (permissions.size >= MAXIMUM_REMEMBERED_APPLICATIONS) permissions.clear()
    permissions.set(applicationId, asked)
    return asked
  }
  const profileCalled = createProfileSearch(registry)
  // Bounded by the rows of an import.
  const lineOf = new Map<string, number>()
  return async (row) => {
    const { line } = row
    const refuse = (devEUI: string, message: string, reason: string, sameAsLine = 0): RefusedRow =>
      refusedRow(line, cutCell(devEUI), message, reason, sameAsLine)
    if ('fault' in row) return refuse(row.devEui, row.fault, 'invalid_row')
    const given: unknown = withoutUnknown(row.members, onUnknownColumn)
    const written = row.members['devEUI'] ?? row.members['devEui'] ?? ''
    // A number is refused: it has lost its last digits, or the zeros in front.
    const devEui = typeof written === 'string' ? readWrittenDevEui(written) : undefined
    if (devEui === undefined) {
      const text = typeof written === 'string' ? written : JSON.stringify(written)
      return refuse(text, devEuiFault(text), 'invalid_dev_eui')
    }
    if (!isGivenDevice(given))
      return refuse(devEui, faultSentence(RowSchema, rowCheck.Errors(given)), 'invalid_argument')
    const applicationId = given.applicationID === undefined ? defaultApplicationId : idText(given.applicationID)
    if (applicationId === undefined) return refuse(devEui, 'applicationID: is missing', 'invalid_argument')
    const allowed = await permission(applicationId)
    if (!allowed.ok) return refuse(devEui, allowed.message, allowed.reason)
    const reached = accepts(() => demandReachedAfter(viewer, { applicationId, devEui, tags: given.tags ?? {} }))
    if (!reached.ok) return refuse(devEui, reached.message, reached.reason)
    const profile = await profileOf(given, allowed.organizationId, profileCalled)
    if (!profile.ok) return refuse(devEui, profile.message, profile.reason)
    const sameAsLine = lineOf.get(devEui)
    if (sameAsLine !== undefined) {
      return refuse(devEui, `line ${sameAsLine} has the same DevEUI`, 'dev_eui_repeated', sameAsLine)
    }
    lineOf.set(devEui, line)
    const changes = { ...deviceChanges(given), ...profile.changes }
    const device = { ...changes, devEui, name: given.name ?? devEui, applicationId }
    return { line, device, changes, organizationId: allowed.organizationId }
  }
}

/** The permission to create devices in an application, with the application's organization. */
type Permission = ImportOutcome & { readonly organizationId: string }

type ProfileOfRow =
  | { readonly ok: true; readonly changes: Pick<Partial<DeviceFields>, 'deviceProfileId' | 'deviceProfileName'> }
  | (ImportOutcome & { readonly ok: false })

/** The device profile that a row names; no change where it names none. */
async function profileOf(
  { profile, deviceProfileID, deviceProfileName }: GivenRow,
  organizationId: string,
  profileCalled: ProfileSearch,
): Promise<ProfileOfRow> {
  if (profile === undefined || profile === '') return { ok: true, changes: {} }
  const found = await profileCalled(organizationId, profile)
  if (found === undefined) {
    const message = `profile: the organization has no device profile "${cutCell(profile)}"`
    return { ok: false, message, reason: 'device_profile_not_found' }
  }
  if (deviceProfileID !== undefined && deviceProfileID !== found.id) {
    return { ok: false, message: 'profile: deviceProfileID names another profile', reason: 'invalid_argument' }
  }
  return { ok: true, changes: { deviceProfileId: found.id, deviceProfileName: deviceProfileName ?? found.name } }
}

/** Names of device profiles that are remembered during an import. */
const MAXIMUM_REMEMBERED_PROFILES = 1000

/** A device profile of the organization by its name, in any case. */
type ProfileSearch = (
  organizationId: string,
  name: string,
) => Promise<{ readonly id: string; readonly name: string } | undefined>

function createProfileSearch(registry: OwnershipRegistry): ProfileSearch {
  const known = new Map<string, { readonly id: string; readonly name: string } | undefined>()
  return async (organizationId, name) => {
    const key = `${organizationId} ${foldText(name)}`
    if (known.has(key)) return known.get(key)
    const page = { limit: MAXIMUM_REMEMBERED_PROFILES, offset: 0, search: name }
    const { items } = await registry.deviceProfiles.list(organizationId, page)
    const found = items.find((profile) => foldText(profile.name) === foldText(name))
    if (known.size >= MAXIMUM_REMEMBERED_PROFILES) known.clear()
    known.set(key, found && { id: found.id, name: found.name })
    return known.get(key)
  }
}

const KNOWN_MEMBERS: ReadonlySet<string> = new Set([...Object.keys(RowSchema.properties), 'devEUI', 'devEui'])

/** The members that a device has. The names of other members are reported. */
function withoutUnknown(members: Readonly<Record<string, unknown>>, onUnknown: UnknownColumn): Record<string, unknown> {
  const known = Object.create(null) as Record<string, unknown>
  for (const [name, value] of Object.entries(members)) {
    if (KNOWN_MEMBERS.has(name)) known[name] = value
    else onUnknown(name)
  }
  return known
}

function devEuiFault(written: string): string {
  if (written === '') return 'devEUI: is missing'
  // A DevEUI of decimal digits alone is a number to a spreadsheet.
  if (/^\d([.,]\d+)?E\+\d+$/i.test(written)) {
    return 'devEUI: a spreadsheet has rounded it to a number; format the column as text, and type it again'
  }
  return 'devEUI: must be 16 hexadecimal digits'
}

function isGivenDevice(value: unknown): value is GivenRow {
  return rowCheck.Check(value)
}

async function mayCreateIn(registry: OwnershipRegistry, viewer: Viewer, applicationId: string): Promise<Permission> {
  try {
    const { organizationId } = await applicationFor(registry, viewer, applicationId, 'device.write')
    return { ...ACCEPTED, organizationId }
  } catch (error) {
    return { ...refusalOf(error), organizationId: '' }
  }
}

function accepts(check: () => void): ImportOutcome {
  try {
    check()
    return ACCEPTED
  } catch (error) {
    return refusalOf(error)
  }
}

/** A refused row as the report has it. */
export function refusedRow(line: number, devEUI: string, message: string, reason: string, sameAsLine = 0): RefusedRow {
  return { line, devEUI, message, reason, sameAsLine }
}

/** The longest text of a cell or a name in a report, in characters. */
const MAXIMUM_REPEATED_LENGTH = 100

/** A cell or a name as a report repeats it: at most a hundred characters of it. */
export function cutCell(text: string): string {
  return text.length <= MAXIMUM_REPEATED_LENGTH ? text : `${text.slice(0, MAXIMUM_REPEATED_LENGTH)}…`
}
