/**
 * Why no data comes: walks the way from the device to the client for a device, a client or a topic,
 * and names the cause that is nearest to it.
 */
import type { Viewer } from '../../identity/store/result.ts'
import { devEuiInAnyForm } from '../../lorawan/nearest-topic-filter.ts'
import { eventTopic } from '../../lorawan/topics.ts'
import { searchTexts } from '../operation/broker-views.ts'
import type { KeptRefusal } from '../operation/broker-views.ts'
import { connectionStep, deliveryStep, subscriptionStep, tokenStep, topicStep } from './client-steps.ts'
import type { SeenClient } from './client-steps.ts'
import { codecStep, deviceStep, eventsStep, networkServerStep, newestUplinks } from './device-steps.ts'
import { knownThingsOf, refusalsIn } from './diagnosis-parts.ts'
import type { Circle, DiagnosisParts } from './diagnosis-parts.ts'
import { ok, STEPS, unknown } from './steps.ts'
import type { Step, StepName } from './steps.ts'

/** The thing that a person asks about. */
export type Asked =
  | { readonly kind: 'devEui'; readonly value: string }
  | { readonly kind: 'clientId'; readonly value: string }
  | { readonly kind: 'topic'; readonly value: string }

/** The answer. */
export interface Diagnosis {
  /** The first cause; undefined: nothing wrong was found. */
  readonly cause: Step | undefined
  /** In the order of the way; only those that the question is about. */
  readonly steps: readonly Step[]
  /** The nodes that did not answer in time. */
  readonly missing: readonly string[]
}

/** The most clients of each node that are counted for one device, and connections for one name. */
const MAXIMUM_CLIENTS = 100
/**
 * The most Sessions of each node with the same Client Identifier: several users may choose the same
 * one. The messages that wait are counted for each, which reads the log.
 */
const MAXIMUM_NAMESAKES = 5
/** Clients without TLS count for this time: their refusals name no client. */
const NAMELESS_MS = 900_000

/**
 * The order in which causes count, where it is not the order of the way: the nearest to the thing
 * that was asked for comes first.
 */
const URGENCY: Readonly<Record<Asked['kind'], readonly StepName[]>> = {
  devEui: STEPS,
  clientId: ['connection', 'token', 'subscription', 'delivery', ...STEPS],
  topic: ['subscription', ...STEPS],
}

/** Diagnoses within the circle. The circle of a device or a topic has an organization. */
export async function diagnose(
  parts: DiagnosisParts,
  circle: Circle,
  asked: Asked,
  viewer: Viewer,
): Promise<Diagnosis> {
  const { steps, missing } = await walk(parts, circle, asked, viewer)
  const cause = URGENCY[asked.kind]
    .map((name) => steps.find(({ step, status }) => step === name && status === 'problem'))
    .find((step) => step !== undefined)
  const ordered = steps.toSorted((one, other) => STEPS.indexOf(one.step) - STEPS.indexOf(other.step))
  return { cause, steps: ordered, missing }
}

interface Walked {
  readonly steps: readonly Step[]
  readonly missing: readonly string[]
}

async function walk(parts: DiagnosisParts, circle: Circle, asked: Asked, viewer: Viewer): Promise<Walked> {
  if (asked.kind === 'clientId') return walkFromClient(parts, circle, asked.value, viewer)
  if (circle.organizationId === undefined) return { steps: [], missing: [] }
  const { organizationId } = circle
  if (asked.kind === 'devEui') {
    const steps = await stepsOfDevice(parts, { ...circle, organizationId }, asked.value)
    const readers = await readersStep(parts, { ...circle, organizationId }, asked.value)
    return { steps: [...steps, readers.step], missing: readers.missing }
  }
  const judged = await topicStep(asked.value, await knownThingsOf(parts, organizationId))
  return { steps: [judged, ...(await stepsOfTopic(parts, { ...circle, organizationId }, asked.value))], missing: [] }
}

type OrganizationCircle = Circle & { readonly organizationId: string }

/** The steps of a device up to the broker. */
async function stepsOfDevice(
  parts: DiagnosisParts,
  circle: OrganizationCircle,
  devEui: string,
): Promise<readonly Step[]> {
  const { organizationId } = circle
  const found = await parts.registry.devices.get(devEui)
  const device = found?.organizationId === organizationId ? found : undefined
  const application = device && (await parts.registry.applications.get(device.applicationId))
  const before = [await networkServerStep(parts, organizationId, application)]
  const events = await eventsStep(parts, circle, devEui, device)
  if (device === undefined || application === undefined) {
    return [...before, await deviceStep(parts, devEui, undefined, []), events]
  }
  const uplinks = await newestUplinks(parts, device, application)
  const ofDevice = await deviceStep(parts, devEui, device, uplinks)
  return [...before, ofDevice, events, await codecStep(parts, device, application, uplinks)]
}

/** The steps of the things that a Topic Filter names. */
async function stepsOfTopic(
  parts: DiagnosisParts,
  circle: OrganizationCircle,
  topicFilter: string,
): Promise<readonly Step[]> {
  const levels = topicFilter.split('/')
  const devEui = levels.map(devEuiInAnyForm).find((found) => found !== undefined)
  if (devEui !== undefined) return stepsOfDevice(parts, circle, devEui)
  const { organizationId } = circle
  const ids = await parts.registry.directory.applicationsOf(organizationId)
  const applicationId = levels.find((level) => ids.has(level))
  const application = applicationId === undefined ? undefined : await parts.registry.applications.get(applicationId)
  return [await networkServerStep(parts, organizationId, application)]
}

/** The clients that subscribe to the device's uplinks. */
async function readersStep(parts: DiagnosisParts, circle: OrganizationCircle, devEui: string) {
  const applicationId = await (await knownThingsOf(parts, circle.organizationId)).applicationOf(devEui)
  if (applicationId === undefined) {
    return { step: unknown('subscription', 'Nobody can subscribe to a device that is not registered.'), missing: [] }
  }
  const reads = eventTopic(applicationId, devEui, 'up')
  const { items, missing } = await parts.sessions.sessions({ ...circle, reads, limit: MAXIMUM_CLIENTS })
  const connected = items.filter(({ isConnected }) => isConnected).length
  const whose = circle.userId === undefined ? 'clients' : 'of your own clients'
  const facts = { clients: items.length, connectedClients: connected, topicName: reads }
  const step =
    items.length === 0
      ? unknown(
          'subscription',
          `None ${whose === 'clients' ? 'of the clients' : whose} subscribes to its uplinks.`,
          facts,
        )
      : ok('subscription', `${items.length} ${whose} subscribe to its uplinks; ${connected} are connected.`, facts)
  return { step, missing }
}

async function walkFromClient(
  parts: DiagnosisParts,
  circle: Circle,
  clientId: string,
  viewer: Viewer,
): Promise<Walked> {
  const { client, missing } = await seenClient(parts, circle, clientId, viewer)
  const holder = client.session?.holder ?? client.connection?.holder ?? client.refusals[0]?.holder
  const organizationId = circle.organizationId ?? holder?.organizationId
  const ofClient = [connectionStep(client), tokenStep(client, parts.clock.now()), deliveryStep(client)]
  if (organizationId === undefined) {
    const step = unknown('subscription', 'The organization of the client is not known.')
    return { steps: [...ofClient, step], missing }
  }
  const ofOrganization = { ...circle, organizationId }
  const subscription = await subscriptionStep(client, await knownThingsOf(parts, organizationId))
  const [first] = client.session?.topicFilters ?? []
  const before = first === undefined ? [] : await stepsOfTopic(parts, ofOrganization, first)
  return { steps: [...before, subscription, ...ofClient], missing }
}

async function seenClient(
  parts: DiagnosisParts,
  circle: Circle,
  clientId: string,
  viewer: Viewer,
): Promise<{ readonly client: SeenClient; readonly missing: readonly string[] }> {
  const { organizationId, userId } = circle
  const sessions = await parts.sessions.sessions({ ...circle, clientId, limit: MAXIMUM_NAMESAKES })
  const asked = { organizationId, search: searchTexts(clientId), offset: 0, limit: MAXIMUM_CLIENTS }
  const live = await parts.views.connections(asked)
  const connection = live.items.find(
    ({ facts, holder }) => facts.clientId === clientId && (userId === undefined || holder.userId === userId),
  )
  // Several users may have a client of this name: a connected one comes first.
  const session = sessions.items.find(({ isConnected }) => isConnected) ?? sessions.items[0]
  const refusals = (await refusalsIn(parts, circle)).filter((refusal) => refusal.clientId === clientId)
  const tokenId = connection?.holder.tokenId ?? session?.holder.tokenId ?? refusals[0]?.holder.tokenId
  const token = tokenId === undefined ? undefined : await parts.registry.tokens.getBrokerAccess(tokenId)
  const nameless = viewer.isAdmin && viewer.apiKey === undefined ? await namelessRefusals(parts) : []
  const client = { clientId, session, connection, refusals, token, nameless }
  return { client, missing: [...new Set([...sessions.missing, ...live.missing])] }
}

/** The clients of the last minutes that spoke without TLS. */
async function namelessRefusals(parts: DiagnosisParts): Promise<readonly KeptRefusal[]> {
  const all = await refusalsIn(parts, { organizationId: undefined, userId: undefined })
  return all.filter(({ code, atMs }) => code === 'tls_missing' && parts.clock.now() - atMs <= NAMELESS_MS)
}
