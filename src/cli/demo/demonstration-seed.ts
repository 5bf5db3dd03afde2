/**
 * Sets up the demonstration deployment, once, through the HTTP API. It stores the ids and the
 * password that the API tells only when it creates an object.
 */
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { demonstrationDeployment, deviceRecords } from '../../../simulator/demonstration-deployment.ts'
import type { DemonstrationDeployment } from '../../../simulator/demonstration-deployment.ts'
import { ApiRefusal } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { objectAt, objectsAt, parseObject, textAt } from '../../json.ts'
import type { JsonObject } from '../../json.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { applicationIdOf, organizationIdOf } from '../commands/references.ts'

/**
 * The password of all users of the demonstration. Everybody knows it, so the demonstration listens
 * only on loopback.
 */
export const DEMONSTRATION_PASSWORD = 'fieldgate-demo'

/** The seed of the devices: they are the same at each start and on each machine. */
const SEED = 1
/** gRPC's code of "object already exists": an interrupted set-up had created the object. */
const ALREADY_EXISTS = 6

/** A demonstration deployment that is set up. */
export interface Demonstration {
  readonly deployment: DemonstrationDeployment
  readonly serviceCredential: { readonly userName: string; readonly password: string }
  /** The ids of organizations by their names. */
  readonly organizationIds: Readonly<Record<string, string>>
  /** The ids of applications by their names. */
  readonly applicationIds: Readonly<Record<string, string>>
  /** The simulator's device file. */
  readonly devicesFile: string
}

type Memory = Pick<Demonstration, 'serviceCredential' | 'organizationIds' | 'applicationIds'>

/**
 * Returns the demonstration of this data directory. A new demonstration is set up first; an
 * interrupted set-up is continued.
 */
export async function seedDemonstration(client: ApiClient, dataDirectory: string): Promise<Demonstration> {
  const deployment = demonstrationDeployment(SEED)
  const memoryFile = join(dataDirectory, 'demonstration.json')
  const devicesFile = join(dataDirectory, 'demonstration-devices.json')
  const remembered = parseMemory(await readFile(memoryFile).catch(() => Buffer.alloc(0)))
  const memory = remembered ?? (await setUp(client, deployment))
  if (remembered === undefined) await writePrivately(memoryFile, memory)
  await writePrivately(
    devicesFile,
    deviceRecords(deployment, (name) => memory.applicationIds[name] ?? ''),
  )
  return { ...memory, deployment, devicesFile }
}

async function setUp(client: ApiClient, deployment: DemonstrationDeployment): Promise<Memory> {
  const organizationIds: Record<string, string> = {}
  const applicationIds: Record<string, string> = {}
  const rows: string[] = []
  for (const { name, displayName, users, applications } of deployment.organizations) {
    const organizationID = await createOrFind(
      client,
      '/api/organizations',
      { organization: { name, displayName } },
      () => organizationIdOf(client, name),
    )
    organizationIds[name] = organizationID
    for (const { username, isAdmin } of users) {
      const body = {
        user: { email: username },
        password: DEMONSTRATION_PASSWORD,
        organizations: [{ organizationID, isAdmin }],
      }
      await createOrFind(client, '/api/users', body, () => Promise.resolve(''))
    }
    for (const { devices, ...application } of applications) {
      const applicationID = await createOrFind(
        client,
        '/api/applications',
        { application: { ...application, organizationID } },
        () => applicationIdOf(client, `${name}/${application.name}`),
      )
      applicationIds[application.name] = applicationID
      for (const { devEui, name: deviceName, description, deviceProfileName, tags } of devices) {
        rows.push(
          JSON.stringify({ devEUI: devEui, name: deviceName, applicationID, description, deviceProfileName, tags }),
        )
      }
    }
  }
  await importDevices(client, rows)
  const serviceCredential = { name: 'simulator', organizationID: '' }
  const issued = await client.request('POST', '/api/service-credentials', { serviceCredential })
  const { userName, password } = issued
  return {
    serviceCredential: { userName: String(userName), password: String(password) },
    organizationIds,
    applicationIds,
  }
}

async function importDevices(client: ApiClient, rows: readonly string[]): Promise<void> {
  const imported = await client.upload('/api/devices/import', 'application/x-ndjson', `${rows.join('\n')}\n`)
  const unexpected = objectsAt(imported, 'errors').find(({ reason }) => reason !== 'device_exists')
  if (unexpected !== undefined) {
    throw new CommandFailure(`The demonstration’s devices can’t be created: ${String(unexpected['message'])}.`)
  }
}

/** Creates an object, or finds it if it exists already; returns its id. */
async function createOrFind(
  client: ApiClient,
  path: string,
  body: object,
  find: () => Promise<string>,
): Promise<string> {
  try {
    const { id } = await client.request('POST', path, body)
    return String(id)
  } catch (error) {
    if (error instanceof ApiRefusal && error.code === ALREADY_EXISTS) return find()
    throw error
  }
}

function parseMemory(json: Buffer): Memory | undefined {
  const memory = parseObject(json)
  const credential = objectAt(memory, 'serviceCredential')
  const [userName, password] = [textAt(credential, 'userName'), textAt(credential, 'password')]
  const [organizationIds, applicationIds] = [idsAt(memory, 'organizationIds'), idsAt(memory, 'applicationIds')]
  if (userName === undefined || password === undefined) return undefined
  if (organizationIds === undefined || applicationIds === undefined) return undefined
  return { serviceCredential: { userName, password }, organizationIds, applicationIds }
}

function idsAt(memory: JsonObject | undefined, member: string): Readonly<Record<string, string>> | undefined {
  const ids = objectAt(memory, member)
  return ids && Object.fromEntries(Object.entries(ids).map(([name, id]) => [name, String(id)]))
}

/** Replaces a file as a whole. Only this user can read it, from its first byte on. */
async function writePrivately(file: string, value: unknown): Promise<void> {
  const handle = await open(`${file}.new`, 'w', 0o600)
  try {
    await handle.writeFile(`${JSON.stringify(value, undefined, 2)}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(`${file}.new`, file)
}
