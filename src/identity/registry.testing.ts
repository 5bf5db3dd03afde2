import type { Clock, SteadyMs } from '../clock.ts'
import type { PasswordHasher } from './people/password-hasher.ts'
import { openRegistry } from './registry.ts'
import type { Registry, RegistryOptions } from './registry.ts'
import type { Actor, Result } from './store/result.ts'

/** A clock that a test moves. */
export interface TestClock extends Pick<Clock, 'now' | 'steady'> {
  advance(ms: number): void
}

/** The service itself, as the actor of a change. */
export const nobody: Actor = { userId: null }

/** Where every test's clock starts: 2026-01-01T00:00:00Z. */
export const testStartMs = 1_767_225_600_000

/** A clock that stands still until it is moved. */
export function createTestClock(): TestClock {
  let nowMs = testStartMs
  return {
    now: () => nowMs,
    steady: () => nowMs as SteadyMs,
    advance(ms) {
      nowMs += ms
    },
  }
}

/** Hashes at once and not safely, and counts how often it compared. */
export function createQuickHasher(): PasswordHasher & { readonly comparisons: () => number } {
  let comparisons = 0
  return {
    hash: (password) => Promise.resolve(`quick ${password}`),
    verify(passwordHash, password) {
      comparisons += 1
      return Promise.resolve(passwordHash === `quick ${password}`)
    },
    comparisons: () => comparisons,
  }
}

type TestRegistryOptions = Omit<Partial<Extract<RegistryOptions, { readonly file: string }>>, 'postgres'>

/** Makes an empty database of PostgreSQL; undefined: tests have their registry in memory. */
let newDatabase: (() => string) | undefined

/** From now on each registry that a test opens without a file is in a database of its own. */
export function useDatabases(make: () => string): void {
  newDatabase = make
}

/**
 * An empty registry in memory, or in a new database. It closes itself at the end of the block that
 * it is used in.
 */
export async function openTestRegistry(
  options: TestRegistryOptions = {},
): Promise<{ readonly registry: Registry; readonly clock: TestClock } & AsyncDisposable> {
  const clock = createTestClock()
  const passwordHasher = createQuickHasher()
  const { file, ...others } = options
  const url = file === undefined ? newDatabase?.() : undefined
  const place = url === undefined ? { file: file ?? ':memory:' } : { postgres: { url } }
  const registry = await openRegistry({ ...place, clock, passwordHasher, ...others })
  return { registry, clock, [Symbol.asyncDispose]: () => registry.close() }
}

/** The value of a success; throws the refusal's reason otherwise. */
export function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`refused: ${result.reason}`)
  return result.value
}

/** The reason of a refusal, or `ok`. */
export function reasonOf(result: Result<unknown>): string {
  return result.ok ? 'ok' : result.reason
}

/** Adds a user whose password is `correct horse`. Returns its id. */
export async function addUser(
  registry: Registry,
  email: string,
  fields: { readonly isAdmin?: boolean; readonly isActive?: boolean } = {},
): Promise<string> {
  const { isAdmin = false, isActive = true } = fields
  const user = { email, password: 'correct horse', isAdmin, isActive, note: '' }
  return valueOf(await registry.users.create(user, nobody)).id
}

/** Adds an organization. Returns its id. */
export async function addOrganization(registry: Registry, name: string): Promise<string> {
  const organization = { name, displayName: name, canHaveGateways: true }
  return valueOf(await registry.organizations.create(organization, nobody)).id
}

/** Adds an application without a codec. Returns its id. */
export async function addApplication(registry: Registry, organizationId: string, name: string): Promise<string> {
  const application = {
    name,
    description: '',
    organizationId,
    serviceProfileId: '',
    serviceProfileName: '',
    payloadCodec: '' as const,
    payloadEncoderScript: '',
    payloadDecoderScript: '',
  }
  return valueOf(await registry.applications.create(application, nobody)).id
}

/** Makes the user a plain member. */
export async function addMember(registry: Registry, organizationId: string, userId: string): Promise<void> {
  const roles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false }
  valueOf(await registry.members.add(organizationId, userId, roles, nobody))
}

/** The DevEUI with that number. */
export function devEuiOf(number: number): string {
  return number.toString(16).padStart(16, '0')
}
