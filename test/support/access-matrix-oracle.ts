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

/** `kept`: the event of an unknown device is taken, and delivered to nobody. */
export type Decision = 'granted' | 'kept' | 'refused' | 'malformed' | 'beyond limits'

const EVENT_TOPIC =
  /^application\/(?<application>[0-9A-Za-z-]{1,64})\/device\/(?<device>[0-9a-f]{16})\/event\/(?:up|join|ack|error|status|location|txack|log|integration)$/
const COMMAND_TOPIC = /^application\/(?<application>[^/]+)\/device\/(?<device>[^/]+)\/command\/down$/
const LIMITS = { bytes: 1024, levels: 32 }

interface Device {
  readonly organization: 'A' | 'B'
  readonly application: string
  readonly isDisabled: boolean
}

export class Oracle {
  readonly #applications: Readonly<Record<'A' | 'B', readonly string[]>>
  readonly #devices: ReadonlyMap<string, Device>

  constructor(places: Places) {
    const { applicationA, otherApplicationA, applicationB } = places
    this.#applications = { A: [applicationA, otherApplicationA], B: [applicationB] }
    this.#devices = new Map([
      [places.deviceA, { organization: 'A', application: applicationA, isDisabled: false }],
      [places.disabledDeviceA, { organization: 'A', application: applicationA, isDisabled: true }],
      [places.otherDeviceA, { organization: 'A', application: otherApplicationA, isDisabled: false }],
      [places.deviceB, { organization: 'B', application: applicationB, isDisabled: false }],
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
    if (standing.kind === 'network server') return this.#event(standing.organization, topicName)
    const { application, device = '' } = COMMAND_TOPIC.exec(topicName)?.groups ?? {}
    const found = this.#devices.get(device)
    if (standing.kind === 'refused' || found === undefined || found.isDisabled) return 'refused'
    return granted(found.application === application && found.organization === standing.organization)
  }

  /** The Topic Name under which subscribers get the message; undefined: nobody gets it. */
  delivered(standing: Standing, topicName: string): string | undefined {
    if (this.publish(standing, topicName) !== 'granted') return undefined
    const [, , , device = '', ...tail] = topicName.split('/')
    return `application/${this.#devices.get(device)?.application}/device/${device}/${tail.join('/')}`
  }

  #event(organization: 'A' | 'B' | 'all', topicName: string): Decision {
    const { application = '', device = '' } = EVENT_TOPIC.exec(topicName)?.groups ?? {}
    if (device === '') return 'refused'
    const found = this.#devices.get(device)
    // A device of a neighbour is as unknown as a device that does not exist.
    if (found === undefined || (organization !== 'all' && found.organization !== organization)) return 'kept'
    // An id that the network server's owner does not have is the network server's own. The event
    // goes on under the application of its device.
    const { A, B } = this.#applications
    const owned = organization === 'all' ? [...A, ...B] : this.#applications[organization]
    const isPlaced = found.application === application || !owned.includes(application)
    return granted(isPlaced && !found.isDisabled)
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
    // A Will Message is not kept: at CONNECT nobody knows yet whether it will ever be published.
    case 'kept':
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
