/** The engine, the policy and the broker over both. */
import { organizationOf, tenantOf } from '../access/holders.ts'
import { patientDirectory } from '../access/patient-directory.ts'
import { AccessPolicy } from '../access/policy.ts'
import { Broker } from '../broker/broker.ts'
import type { Engine } from '../broker/ports/engine.ts'
import type { TenantLimits } from '../broker/ports/limits.ts'
import { systemClock } from '../clock.ts'
import { messagesIn } from '../data/data-directory.ts'
import { EmbeddedEngine } from '../engine/embedded.ts'
import type { TenantOfBranch } from '../engine/segments/accounts.ts'
import { MemoryEngine } from '../engine/memory/memory.ts'
import type { Directory, DevicePlace } from '../identity/devices/directory.ts'
import type { Change } from '../identity/store/changes.ts'
import { NetworkServerPresence } from '../lorawan/network-servers/network-server-presence.ts'
import { knownTopic } from '../lorawan/uplinks/known-topic.ts'
import { isTopicOfLastEvents } from '../lorawan/uplinks/last-events.ts'
import { applicationOfBranch, applicationPrefix, devicePrefix, parseTopic } from '../lorawan/topics.ts'
import type { OrganizationBounds } from '../organization-bounds.ts'
import { memoryBudget } from './memory-budget.ts'
import type { Parts, StartContext } from './parts.ts'

const DAY_MS = 86_400_000
/** The User Property that tells MQTT 5 readers the id of an event, the same as in the history. */
const EVENT_ID_PROPERTY = 'event-id'
/** The User Property that tells the end of a token to an MQTT 5 client, in CONNACK and AUTH. */
const EXPIRY_PROPERTY = 'token-expires-at'
/**
 * How many messages of each partition an engine in memory retains: enough for the console and for
 * short absences.
 */
const MEMORY_HISTORY_MESSAGES = 1_000

/** Makes the engine of this process. The broker opens it at its start, and closes it at its end. */
export function createEngine(
  { settings, log, disk, dataDirectory }: StartContext,
  { registry, bounds }: Pick<Parts, 'registry' | 'bounds'>,
): Engine {
  if (settings.engine === 'memory') return new MemoryEngine({ retainedMessages: MEMORY_HISTORY_MESSAGES })
  return new EmbeddedEngine({
    disk,
    directory: messagesIn(dataDirectory.path),
    retentionMs: settings.retentionDays * DAY_MS,
    retentionBytes: settings.retentionBytes,
    logger: log.child({ room: 'engine' }),
    tenants: {
      tenantOf: tenantOfBranch(registry.directory),
      maximumStoredBytesOf: (tenant) => bounds.of(organizationOf(tenant) ?? '').storedBytes,
    },
  })
}

/**
 * Opens the record of network servers' connections; `presence.load` is for after the broker's
 * start.
 */
export function openPresence(
  { log, shutdown, nodes }: StartContext,
  { state }: Pick<Parts, 'state'>,
): Parts['presence'] {
  const presence = new NetworkServerPresence({
    state,
    node: nodes?.bus.self.name,
    clock: systemClock,
    log: log.child({ room: 'lorawan' }),
  })
  shutdown.add('presence', () => presence.close())
  return presence
}

/** Opens the policy; it follows the registry from here on. */
export function openPolicy(
  { settings, shutdown }: StartContext,
  { registry, presence, unknownDevices }: Pick<Parts, 'registry' | 'presence' | 'unknownDevices'>,
): AccessPolicy {
  // A database can be away for some seconds; a file can't.
  const asked =
    settings.databaseUrl === undefined ? registry : { ...registry, directory: patientDirectory(registry.directory) }
  const policy = new AccessPolicy(asked, undefined, presence, unknownDevices)
  shutdown.add('policy', () => policy.close())
  return policy
}

/** Makes the broker, attaches it to its link and starts it: it takes up what the engine kept. */
export async function openBroker(
  { settings, log, shutdown, nodes, retainedSnapshot }: StartContext,
  parts: Pick<
    Parts,
    | 'registry'
    | 'bounds'
    | 'policy'
    | 'engine'
    | 'commandWays'
    | 'readerListener'
    | 'uplinkPath'
    | 'sightings'
    | 'brokerLink'
    | 'webhooks'
  >,
): Promise<Broker> {
  const { engine, bounds } = parts
  // The network servers of the deployment, each with an account of its own.
  const ofNetworkServers: TenantLimits = {
    ...limitsOf(bounds.deployment),
    maximumPublishesPerSecondPerTenant: settings.maximumPublishesPerSecondPerNetworkServer,
    maximumPublishedBytesPerSecondPerTenant: settings.maximumPublishedBytesPerSecondPerNetworkServer,
  }
  const keepsQoS0 = settings.keepQoS0Events === 'true'
  const broker = new Broker({
    policy: parts.policy,
    engine,
    nodes,
    retainedSnapshot,
    consumers: parts.commandWays.consumers,
    readerListener: parts.readerListener,
    transformer: parts.uplinkPath,
    observer: parts.sightings,
    follower: parts.webhooks,
    idProperty: EVENT_ID_PROPERTY,
    expiryProperty: EXPIRY_PROPERTY,
    keepsQoS0: (topic) => keepsQoS0 && knownTopic(topic).parsed?.kind === 'event',
    tenantOf: tenantOfTopic(parts.registry.directory),
    isOver: isTopicOver(parts.registry.directory),
    memory: memoryBudget(settings.maximumMemoryBytes),
    clock: systemClock,
    log: log.child({ room: 'broker' }),
    tenantLimits: (tenant) => {
      const organizationId = organizationOf(tenant)
      return organizationId === undefined ? ofNetworkServers : limitsOf(bounds.of(organizationId))
    },
    limits: {
      maximumPacketSizeBytes: settings.maximumPacketSizeBytes,
      maximumConnectionsPerIdentity: settings.maximumConnectionsPerUser,
      maximumSessionExpirySeconds: settings.sessionExpiryMaximumSeconds,
      // A reader that is behind costs nothing where retention bounds the log itself.
      ...(engine.isDurable ? { maximumQueuedMessages: Infinity, maximumQueuedBytes: Infinity } : {}),
    },
  })
  parts.brokerLink.attach(broker)
  const unsubscribe = parts.registry.changes.subscribe((change) => removeRetained(broker, change))
  await broker.start()
  shutdown.add('broker', () => {
    unsubscribe()
    return broker.close()
  })
  return broker
}

/**
 * The organization of a topic's device, where the directory has it at hand: the permit of a message
 * has looked the device up just before.
 */
function tenantOfTopic(directory: Directory): (topicName: string) => string | undefined {
  return (topicName) => {
    const topic = parseTopic(topicName)
    const place = topic === undefined ? undefined : directory.device(topic.devEui)
    if (place instanceof Promise) {
      place.catch(() => undefined)
      return undefined
    }
    return place === undefined ? undefined : tenantOf(place.organizationId)
  }
}

/** The organization whose application has a branch of topics. */
function tenantOfBranch(directory: Directory): TenantOfBranch {
  return (topicBranch) => {
    const applicationId = applicationOfBranch(topicBranch)
    const organizationId = applicationId === undefined ? undefined : directory.organizationOf(applicationId)
    return organizationId instanceof Promise ? organizationId.then(tenantIfAny) : tenantIfAny(organizationId)
  }
}

function tenantIfAny(organizationId: string | undefined): string | undefined {
  return organizationId === undefined ? undefined : tenantOf(organizationId)
}

/** The bounds of an organization in the broker's words, made once for each value of the bounds. */
const limitsByBounds = new WeakMap<OrganizationBounds, TenantLimits>()

function limitsOf(bounds: OrganizationBounds): TenantLimits {
  const known = limitsByBounds.get(bounds)
  if (known !== undefined) return known
  const limits = {
    maximumConnectionsPerTenant: bounds.connections,
    maximumSessionsPerTenant: bounds.sessions,
    maximumSubscriptionsPerTenant: bounds.subscriptions,
    maximumTopicFilterBytesPerTenant: bounds.topicFilterBytes,
    maximumRetainedMessagesPerTenant: bounds.retainedMessages,
    maximumRetainedBytesPerTenant: bounds.retainedBytes,
    maximumOutgoingBytesPerTenant: bounds.outgoingBytes,
    maximumConnectsPerSecondPerTenant: bounds.connectsPerSecond,
    maximumPublishesPerSecondPerTenant: bounds.publishesPerSecond,
    maximumPublishedBytesPerSecondPerTenant: bounds.publishedBytesPerSecond,
  }
  limitsByBounds.set(bounds, limits)
  return limits
}

/** True for the topics of a device that the registry does not have, or not in this application. */
function isTopicOver(directory: Directory): (topicName: string) => boolean | Promise<boolean> {
  return (topicName) => {
    const topic = parseTopic(topicName)
    if (topic === undefined) return false
    const isElsewhere = (place: DevicePlace | undefined): boolean => place?.applicationId !== topic.applicationId
    const place = directory.device(topic.devEui)
    return place instanceof Promise ? place.then(isElsewhere) : isElsewhere(place)
  }
}

/**
 * The retained messages of an application or device go with it. An organization has applications.
 */
function removeRetained(broker: Broker, change: Change): void {
  if (change.kind === 'application_removed') broker.removeRetainedUnder(applicationPrefix(change.applicationId))
  if (change.kind === 'last_events_ended') {
    broker.removeRetainedOf(applicationPrefix(change.applicationId), isTopicOfLastEvents)
  }
  if (change.kind === 'device_removed') {
    broker.removeRetainedUnder(devicePrefix(change.applicationId, change.devEui))
  }
}
