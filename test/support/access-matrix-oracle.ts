/**
 * The expectations of the access matrix: the specification's rules a second time, written as
 * patterns over whole topics and a list of owners, without a line of the service's own code.
 */
import type { Places } from './access-matrix-topics.ts'
import type { Version } from './wire-client.ts'

/** The rights of a credential at the broker. */
export type Standing =
  /** CONNECT is refused, as a bad user name or password, or as not authorized. */
  | { readonly kind: 'refused'; readonly because: 'credential' | 'rights' }
  | { readonly kind: 'integrator'; readonly organization: 'A' | 'B' }
  | { readonly kind: 'network server'; readonly organization: 'A' | 'B' | 'all' }

export type Decision = 'granted' | 'refused' | 'malformed' | 'beyond limits'

const EVENT_KINDS = new Set(['up', 'join', 'ack', 'error', 'status', 'location', 'txack', 'log', 'integration'])
const LIMITS = { bytes: 1024, levels: 32 }

export class Oracle {
  readonly #applications: Readonly<Record<'A' | 'B', readonly string[]>>
  /** The owners of all devices, by `application/device`. */
  readonly #devices: ReadonlyMap<string, { readonly organization: 'A' | 'B'; readonly isDisabled: boolean }>

  constructor(places: Places) {
    const { applicationA, otherApplicationA, applicationB } = places
    this.#applications = { A: [applicationA, otherApplicationA], B: [applicationB] }
    this.#devices = new Map([
      [`${applicationA}/${places.deviceA}`, { organization: 'A', isDisabled: false }],
      [`${applicationA}/${places.disabledDeviceA}`, { organization: 'A', isDisabled: true }],
      [`${otherApplicationA}/${places.otherDeviceA}`, { organization: 'A', isDisabled: false }],
      [`${applicationB}/${places.deviceB}`, { organization: 'B', isDisabled: false }],
    ])
  }

  /**
   * `malformed`: the packet is malformed. MQTT 3.1.1 has no shared subscriptions, so there the
   * filter is refused.
   */
  subscribe(standing: Standing, topicFilter: string, version: Version): Decision {
    let asked = topicFilter
    if (topicFilter === '$share' || topicFilter.startsWith('$share/')) {
      const [, name = '', behind = ''] = /^\$share\/([^/]*)\/(.*)$/s.exec(topicFilter) ?? []
      if (name === '' || behind === '' || /[+#]/.test(name)) {
        if (topicFilter !== '$share') return version === 5 ? 'malformed' : 'beyond limits'
      } else asked = behind
    }
    if (isBeyondLimits(topicFilter)) return 'beyond limits'
    if (standing.kind === 'integrator') {
      const applications = this.#applications[standing.organization].join('|')
      // A filter that is covered is granted, even for a device or a kind of event that does not
      // exist.
      return granted(new RegExp(`^application/(${applications})/device/([^/+#]*|\\+)/event/([^/+#]*|\\+)$`).test(asked))
    }
    if (standing.kind === 'network server') {
      const own = standing.organization === 'all' ? ['[0-9A-Za-z-]+'] : this.#applications[standing.organization]
      const applications = [...own, '\\+'].join('|')
      return granted(
        new RegExp(`^application/(${applications})/device/([0-9a-f]{16}|\\+)/command/(down|\\+)$`).test(asked),
      )
    }
    return 'refused'
  }

  publish(standing: Standing, topicName: string): Decision {
    if (/[+#]/.test(topicName)) return 'malformed'
    if (isBeyondLimits(topicName)) return 'beyond limits'
    const [, application, device, what, last] =
      /^application\/([^/]+)\/device\/([^/]+)\/(event|command)\/([^/]+)$/.exec(topicName) ?? []
    const owner = this.#devices.get(`${application}/${device}`)
    if (owner === undefined || owner.isDisabled || standing.kind === 'refused') return 'refused'
    const isTheirs = standing.organization === 'all' || standing.organization === owner.organization
    if (standing.kind === 'integrator') return granted(isTheirs && what === 'command' && last === 'down')
    return granted(isTheirs && what === 'event' && EVENT_KINDS.has(last ?? ''))
  }
}

/** The code of CONNACK: Connect Return Code in MQTT 3.1.1, Reason Code in MQTT 5.0. */
export function connackOf(standing: Standing, version: Version): number {
  if (standing.kind !== 'refused') return 0
  if (standing.because === 'credential') return version === 4 ? 4 : 0x86
  return version === 4 ? 5 : 0x87
}

/**
 * The code of CONNACK for a CONNECT with a Will Message; MQTT 3.1.1 has no code for a malformed
 * one.
 */
export function willConnackOf(decision: Decision, version: Version): number | 'closed' {
  switch (decision) {
    case 'granted':
      return 0
    case 'refused':
      return version === 4 ? 5 : 0x87
    case 'malformed':
      return version === 4 ? 'closed' : 0x90
    case 'beyond limits':
      return version === 4 ? 3 : 0x90
  }
}

function granted(isGranted: boolean): Decision {
  return isGranted ? 'granted' : 'refused'
}

function isBeyondLimits(topic: string): boolean {
  return Buffer.byteLength(topic) > LIMITS.bytes || topic.split('/').length > LIMITS.levels
}
