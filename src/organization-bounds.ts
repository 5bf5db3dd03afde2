/**
 * The bounds of one organization: their names, their units, and the values in force. All rooms that
 * hold something for organizations ask here. An organization has the bounds of the deployment
 * unless an administrator has given it others.
 */

/** The unit in which a bound and its use are told. */
export type BoundUnit = 'count' | 'bytes' | 'per second' | 'bytes per second' | 'ms per second'

/** One bound, for the API, the console, the command line and the metrics. */
export interface BoundDefinition {
  readonly unit: BoundUnit
  /** The value where no setting and no administrator says otherwise. */
  readonly default: number
  readonly minimum: number
  readonly maximum: number
  /** Says what the bound counts. */
  readonly description: string
}

const GIB = 1_073_741_824
const MIB = 1_048_576

/** The table of bounds. The names are the fields of the API. */
export const ORGANIZATION_BOUNDS = {
  connections: {
    unit: 'count',
    default: 10_000,
    minimum: 1,
    maximum: 10_000_000,
    description: 'MQTT connections that one organization may hold at the same time.',
  },
  connectsPerSecond: {
    unit: 'per second',
    default: 200,
    minimum: 1,
    maximum: 10_000_000,
    description:
      'MQTT connections that one organization may open in a second, on average over ten seconds. A site with 2,000 clients may come back at once.',
  },
  sessions: {
    unit: 'count',
    default: 10_000,
    minimum: 1,
    maximum: 10_000_000,
    description:
      'MQTT Sessions that one organization may have at the same time. Each connection has a Session; Sessions without a connection count too.',
  },
  subscriptions: {
    unit: 'count',
    default: 50_000,
    minimum: 1,
    maximum: 100_000_000,
    description: 'Subscriptions that all Sessions of one organization may have together.',
  },
  topicFilterBytes: {
    unit: 'bytes',
    default: 16 * MIB,
    minimum: 1024,
    maximum: 64 * GIB,
    description: 'Bytes that the Topic Filters of these subscriptions may have together.',
  },
  retainedMessages: {
    unit: 'count',
    default: 10_000,
    minimum: 0,
    maximum: 1_000_000,
    description:
      'Retained messages that are kept for one organization: those on the topics of its devices, whoever publishes them.',
  },
  retainedBytes: {
    unit: 'bytes',
    default: 32 * MIB,
    minimum: 0,
    maximum: 256 * MIB,
    description:
      'Bytes that the retained messages of one organization may have together. 268435456 is the bound for all organizations.',
  },
  storedBytes: {
    unit: 'bytes',
    // Half of the log's default: an organization alone keeps as much as it likely wants, and a full
    // log takes the oldest messages of the largest holder first in any case.
    default: 8 * GIB,
    minimum: MIB,
    maximum: 281_474_976_710_656,
    description:
      'Bytes of stored messages that one organization may have. When this limit is reached, the organization’s own oldest messages are deleted first.',
  },
  publishesPerSecond: {
    unit: 'per second',
    default: 5_000,
    minimum: 1,
    maximum: 10_000_000,
    description:
      'PUBLISH packets that one organization may send in a second. Beyond, its connections are read more slowly; nothing is refused.',
  },
  publishedBytesPerSecond: {
    unit: 'bytes per second',
    default: 8 * MIB,
    minimum: 1024,
    maximum: 64 * GIB,
    description:
      'Bytes that one organization may send in a second. Beyond, its connections are read more slowly; nothing is refused.',
  },
  outgoingBytes: {
    unit: 'bytes',
    default: 64 * MIB,
    minimum: MIB,
    maximum: 64 * GIB,
    description:
      'Bytes that may wait for the slow readers of one organization, in memory. Beyond, its slowest readers get stored messages from the disk later, and lose messages of QoS 0.',
  },
  waitingCommands: {
    unit: 'count',
    default: 20_000,
    minimum: 1,
    maximum: 1_000_000,
    description: 'Commands that may wait for the devices of one organization.',
  },
  codecMsPerSecond: {
    unit: 'ms per second',
    default: 500,
    minimum: 1,
    maximum: 1_000_000,
    description:
      'Milliseconds of a processor that the payload codecs of one organization may take in a second, on average over ten seconds. Beyond, its uplinks wait, and its commands with an object are refused.',
  },
  httpRequestsPerSecond: {
    unit: 'per second',
    default: 50,
    minimum: 1,
    maximum: 1_000_000,
    description:
      'HTTP requests that one organization may make in a second, on average over ten seconds. Beyond, a request waits for up to a second; requests that would wait longer get 429.',
  },
} as const satisfies Record<string, BoundDefinition>

export type BoundName = keyof typeof ORGANIZATION_BOUNDS

export const BOUND_NAMES = Object.keys(ORGANIZATION_BOUNDS) as readonly BoundName[]

/** All bounds of one organization. */
export type OrganizationBounds = { readonly [name in BoundName]: number }

/** The bounds that an administrator has given one organization. */
export type BoundOverrides = Partial<OrganizationBounds>

/** The use of an organization that one room can tell, by bound. */
export type OrganizationUsage = Partial<OrganizationBounds>

/**
 * An organization that uses this share of a bound is near the bound: there is still time to act
 * before the bound has an effect.
 */
export const NEAR_SHARE = 0.8

/** The share of the bound that is used. A bound of 0 has no share while nothing is used. */
export function usedShare(used: number, maximum: number): number {
  return used === 0 ? 0 : used / maximum
}

/** The bounds where no setting and no administrator says otherwise. */
export const DEFAULT_ORGANIZATION_BOUNDS: OrganizationBounds = Object.fromEntries(
  BOUND_NAMES.map((name) => [name, ORGANIZATION_BOUNDS[name].default]),
) as unknown as OrganizationBounds

/** The bounds of all organizations, in memory: the deployment's, and the overrides. */
export class BoundsByOrganization {
  readonly deployment: OrganizationBounds
  /** The organizations with overrides. Each was written to the registry first. */
  readonly #overridden = new Map<string, OrganizationBounds>()

  constructor(deployment: OrganizationBounds = DEFAULT_ORGANIZATION_BOUNDS) {
    this.deployment = deployment
  }

  /** The same object for each call until the organization's overrides change. */
  of(organizationId: string): OrganizationBounds {
    return this.#overridden.get(organizationId) ?? this.deployment
  }

  /** The ids of the organizations with overrides. */
  overridden(): readonly string[] {
    return [...this.#overridden.keys()]
  }

  /** Replaces the overrides of the organization. Without any, it has the deployment's bounds. */
  override(organizationId: string, overrides: BoundOverrides): void {
    if (Object.keys(overrides).length === 0) this.#overridden.delete(organizationId)
    else this.#overridden.set(organizationId, { ...this.deployment, ...overrides })
  }
}
