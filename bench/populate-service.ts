/**
 * Fills the data directory of a comparison, with the settings of its environment. `node
 * populate-service.ts populate <file>` makes the organizations, applications, devices, users and
 * tokens of the comparison, and writes their names and ids to the file; `populate-codecs <file>`
 * makes those for the figures of commands and codecs.
 */
import { writeFileSync } from 'node:fs'
import { checkSettings, describeFaults, readEnvironment } from '../src/settings/settings.ts'
import type { Registry } from '../src/identity/registry.ts'
import type { Result } from '../src/identity/store/result.ts'
import type { Scope } from '../src/identity/tokens/scope.ts'
import { createPinoLogger } from '../src/pino-logger.ts'
import { startService } from '../src/service/service.ts'
import type { Service } from '../src/service/service.ts'
import { CODEC_APPLICATIONS } from './codec-deployment.ts'
import { devEuiOf, DEVICES_OF_AN_APPLICATION, ORGANIZATIONS, PLAIN_APPLICATIONS, TOKENS } from './deployment.ts'
import type { Deployment, PlannedApplication } from './deployment.ts'
import type { Credentials } from './load/job.ts'

const NOBODY = { userId: null }
const TTL_SECONDS = 86_400
/** Devices made by one call, so that the list of outcomes stays short. */
const BATCH = 10_000
/** The applications of each organization, by the plan that the command line names. */
const PLANS: ReadonlyMap<string, readonly PlannedApplication[]> = new Map([
  ['populate', PLAIN_APPLICATIONS],
  ['populate-codecs', CODEC_APPLICATIONS],
])

const [planName = '', file] = process.argv.slice(2)
const chosen = PLANS.get(planName)
if (chosen === undefined || file === undefined) throw new Error(`usage: ${[...PLANS.keys()].join('|')} <file>`)
const service = await start()
writeFileSync(file, JSON.stringify(await populate(service.registry, chosen)), { mode: 0o600 })
await service.close()

function start(): Promise<Service> {
  const checked = checkSettings(readEnvironment(process.env))
  if (!checked.ok) throw new Error(describeFaults(checked.faults).join('\n'))
  const { settings } = checked
  return startService(settings, { log: createPinoLogger({ level: settings.logLevel, format: settings.logFormat }) })
}

async function populate(registry: Registry, plan: readonly PlannedApplication[]): Promise<Deployment> {
  const applicationIds: string[] = []
  const grants: { readonly userId: string; readonly organizationId: string }[] = []
  for (let index = 0; index < ORGANIZATIONS; index += 1) {
    const grant = await populateOrganization(registry, index)
    grants.push(grant)
    for (const planned of plan) applicationIds.push(await addApplication(registry, grant.organizationId, planned))
  }
  await addDevices(registry, applicationIds)
  const integrators = await Promise.all(grants.map((grant) => issueToken(registry, grant)))
  const scope = { reachesAllApplications: true } as const
  const readersOfAllApplications = await Promise.all(grants.map((grant) => issueToken(registry, { ...grant, scope })))
  const tokens: Credentials[] = []
  while (tokens.length < TOKENS) {
    tokens.push(await issueToken(registry, grants[tokens.length % grants.length] as (typeof grants)[number]))
  }
  const credential = await registry.serviceCredentials.create({ name: 'comparison', organizationId: null }, NOBODY)
  const { userName, password } = valueOf(credential)
  return { applicationIds, networkServer: { userName, password }, integrators, readersOfAllApplications, tokens }
}

async function populateOrganization(
  registry: Registry,
  index: number,
): Promise<{ readonly userId: string; readonly organizationId: string }> {
  const name = `organization-${index}`
  const organization = { name, displayName: name, canHaveGateways: false }
  const organizationId = valueOf(await registry.organizations.create(organization, NOBODY)).id
  const user = {
    email: `${name}@example.org`,
    password: `password of ${name}`,
    isAdmin: false,
    isActive: true,
    note: '',
  }
  const userId = valueOf(await registry.users.create(user, NOBODY)).id
  const roles = { isAdmin: false, isDeviceAdmin: false, isGatewayAdmin: false }
  valueOf(await registry.members.add(organizationId, userId, roles, NOBODY))
  return { userId, organizationId }
}

async function addApplication(
  registry: Registry,
  organizationId: string,
  planned: PlannedApplication,
): Promise<string> {
  const application = {
    ...planned,
    description: '',
    organizationId,
    serviceProfileId: '',
    serviceProfileName: '',
    payloadEncoderScript: '',
  }
  return valueOf(await registry.applications.create(application, NOBODY)).id
}

async function addDevices(registry: Registry, applicationIds: readonly string[]): Promise<void> {
  const devices = applicationIds.flatMap((applicationId, application) =>
    Array.from({ length: DEVICES_OF_AN_APPLICATION }, (_, device) => {
      const devEui = devEuiOf(application, device)
      return { devEui, name: `device ${devEui}`, applicationId }
    }),
  )
  for (let at = 0; at < devices.length; at += BATCH) {
    for (const outcome of await registry.devices.createMany(devices.slice(at, at + BATCH), NOBODY)) valueOf(outcome)
  }
}

async function issueToken(
  registry: Registry,
  grant: { readonly userId: string; readonly organizationId: string; readonly scope?: Scope },
): Promise<Credentials> {
  const issued = await registry.tokens.issueBrokerAccess({ ...grant, ttlSeconds: TTL_SECONDS })
  return { userName: valueOf(issued).jwt, password: 'default' }
}

function valueOf<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`${result.reason}: ${result.message}`)
  return result.value
}
