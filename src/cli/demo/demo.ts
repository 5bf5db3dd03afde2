/** The command `fieldgate demo`. */
import { isIP } from 'node:net'
import type { Settings } from '../../settings/settings.ts'
import type { Logger } from '../../logger.ts'
import type { Service } from '../../service/service.ts'
import { ApiRefusal, pathWith } from '../api/api-client.ts'
import type { ApiClient } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { demonstrationGreeting } from './demonstration-greeting.ts'
import type { GreetingFacts, Login } from './demonstration-greeting.ts'
import { DEMONSTRATION_PASSWORD, seedDemonstration } from './demonstration-seed.ts'
import type { Demonstration } from './demonstration-seed.ts'
import { isEventReceived } from '../serve/first-event.ts'
import { openApiClient } from '../api/open-api-client.ts'
import { readSettings } from '../serve/read-settings.ts'
import { runService } from '../serve/serve.ts'
import { startSimulator } from './simulator-process.ts'
import type { Terminal } from '../terminal/terminal.ts'

/** The demonstration's values of variables that are not set. */
const DEFAULTS = {
  FIELDGATE_DATA_DIR: '.fieldgate/demo',
  FIELDGATE_HOST: '127.0.0.1',
  FIELDGATE_PUBLIC_HOST: 'localhost',
  FIELDGATE_ADMIN_PASSWORD: DEMONSTRATION_PASSWORD,
  FIELDGATE_LOG_LEVEL: 'warn',
  FIELDGATE_LOG_FORMAT: 'text',
}

const TOKEN_TTL_SECONDS = 86_400
/** The simulated devices join within seconds; a busy machine needs longer. */
const FIRST_EVENT_TIMEOUT_MS = 30_000
/** The application whose events the greeting shows, and the valve that its command shuts. */
const SHOWN = {
  organization: 'alpine-valley-water',
  application: 'water-network',
  device: 'valve-north-main',
  user: 'anna',
}

/** Runs the service with the demonstration deployment and its simulator until a signal. */
export async function demo(terminal: Terminal): Promise<number> {
  const { settings, warnings } = readSettings(terminal, DEFAULTS)
  if (!isLoopback(settings.host)) {
    throw new CommandFailure(
      `The demonstration’s passwords are known to all, so it listens on loopback alone, not on FIELDGATE_HOST=${settings.host}. ` +
        'For other machines to reach it, use `fieldgate serve`.',
      2,
    )
  }
  terminal.error('Starting Fieldgate’s demonstration ...\n')
  return runService(terminal, settings, warnings, (service, log) => demonstrate(terminal, settings, service, log))
}

async function demonstrate(
  terminal: Terminal,
  settings: Settings,
  service: Service,
  log: Logger,
): Promise<() => Promise<void>> {
  const client = await openApiClient(settings, { purpose: 'demo' })
  let demonstration: Demonstration
  try {
    demonstration = await seedDemonstration(client, settings.dataDirectory)
  } finally {
    await client.close()
  }
  const { host, port } = service.addresses.mqtts
  const simulator = startSimulator({
    url: `mqtts://${host}:${port}`,
    caFile: service.caFile,
    devicesFile: demonstration.devicesFile,
    ...demonstration.serviceCredential,
    log,
  })
  const aborted = new AbortController()
  const greeted = greet(terminal, settings, service, demonstration, aborted.signal).catch((error: unknown) => {
    if (!aborted.signal.aborted) log.error({ error }, 'demonstration.greeting_failed')
  })
  return async () => {
    aborted.abort()
    await Promise.all([greeted, simulator.stop()])
  }
}

/** Prints the greeting when the first event has come, or when the wait for it is over. */
async function greet(
  terminal: Terminal,
  settings: Settings,
  service: Service,
  demonstration: Demonstration,
  signal: AbortSignal,
): Promise<void> {
  const client = await openApiClient(settings, { purpose: 'demo', userName: SHOWN.user })
  try {
    const facts = await gatherFacts(client, settings, service, demonstration)
    const { mqttsHost, mqttsPort, caFile, jwtMqttAuth, eventTopic } = facts
    const url = `mqtts://${mqttsHost}:${mqttsPort}`
    const watch = { url, caFile, jwtMqttAuth, topicFilter: eventTopic, timeoutMs: FIRST_EVENT_TIMEOUT_MS, signal }
    const isFlowing = await isEventReceived(watch)
    if (!signal.aborted) terminal.out(demonstrationGreeting({ ...facts, isFlowing }))
  } finally {
    await client.close()
  }
}

async function gatherFacts(
  client: ApiClient,
  settings: Settings,
  service: Service,
  demonstration: Demonstration,
): Promise<Omit<GreetingFacts, 'isFlowing'>> {
  const { organizationIds, applicationIds, deployment } = demonstration
  const organization = deployment.organizations.find(({ name }) => name === SHOWN.organization)
  const application = organization?.applications.find(({ name }) => name === SHOWN.application)
  const device = application?.devices.find(({ name }) => name === SHOWN.device)
  const organizationId = organizationIds[SHOWN.organization]
  const applicationId = applicationIds[SHOWN.application]
  const tokenTtlSeconds = Math.min(TOKEN_TTL_SECONDS, settings.brokerTokenMaximumTtlSeconds)
  const issued = await client.request('POST', '/api/mosquitto-auth/login', {
    organizationId,
    ttlInSeconds: String(tokenTtlSeconds),
  })
  const topicOf = async (path: string, query: Readonly<Record<string, string | undefined>>) => {
    const { topic } = await client.request('GET', pathWith(`/api/mosquitto-auth/${path}`, { ...query, organizationId }))
    return /'([^']+)'/.exec(String(topic))?.[1] ?? ''
  }
  const { host, port } = service.addresses.mqtts
  return {
    httpsAddress: service.addresses.https,
    mqttsHost: host,
    mqttsPort: port,
    caFile: service.caFile,
    logins: [
      await checkedLogin(client, SHOWN.user, `member of ${organization?.displayName}`),
      await checkedLogin(client, 'hanna', 'member of another organization'),
      await checkedLogin(client, 'admin', 'admin of the deployment'),
    ],
    jwtMqttAuth: String(issued['jwtMqttAuth']),
    tokenTtlSeconds,
    eventTopic: await topicOf('subscribe-application-events', { applicationId }),
    commandTopic: await topicOf('send-command', { devEui: device?.devEui }),
    applicationName: SHOWN.application,
    deviceName: SHOWN.device,
    organizationName: organization?.displayName ?? '',
  }
}

/** Tries the login: a password that was changed since the set-up is not shown. */
async function checkedLogin(client: ApiClient, userName: string, role: string): Promise<Login> {
  try {
    await client.request('POST', '/api/internal/login', { username: userName, password: DEMONSTRATION_PASSWORD })
    return { userName, password: DEMONSTRATION_PASSWORD, role }
  } catch (error) {
    if (error instanceof ApiRefusal) return { userName, password: undefined, role }
    throw error
  }
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}
