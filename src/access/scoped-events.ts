/**
 * The events that a token with a scope may read: the answers for its subscriptions, and for each
 * message that they may bring.
 */
import type { LiveDevices } from '../identity/devices/tagged-devices.ts'
import type { Scope } from '../identity/tokens/scope.ts'
import { RESPONSE_LEVEL } from '../lorawan/topics.ts'
import { knownTopic } from '../lorawan/uplinks/known-topic.ts'
import type { Topic } from '../mqtt/topic.ts'

/** The variable levels of a Topic Name or a Topic Filter of events. */
interface EventLevels {
  readonly applicationId: string
  readonly devEui: string
  readonly kind: string
}

export class ScopedEvents {
  readonly #scope: Scope
  readonly #applications: ReadonlySet<string>
  readonly #applicationIds: ReadonlySet<string> | undefined
  readonly #devEuis: ReadonlySet<string> | undefined
  readonly #kinds: ReadonlySet<string> | undefined
  readonly #tagged: LiveDevices | undefined

  /**
   * `applications` are the organization's own, kept right by their owner. `tagged` has the devices
   * with the scope's tags; undefined for a scope without tags.
   */
  constructor(scope: Scope, applications: ReadonlySet<string>, tagged: LiveDevices | undefined) {
    this.#scope = scope
    this.#applications = applications
    this.#applicationIds = scope.applicationIds && new Set(scope.applicationIds)
    this.#devEuis = scope.devEuis && new Set(scope.devEuis)
    // Answers to the token's own commands are no events, and have no kind.
    this.#kinds = scope.eventKinds && new Set([...scope.eventKinds, RESPONSE_LEVEL])
    this.#tagged = tagged
  }

  /** Whether the client may get a message of the topic now. */
  mayReceive(topic: Topic): boolean {
    const { parsed } = knownTopic(topic)
    if (parsed?.kind === 'event') return this.#reaches(parsed.applicationId, parsed.devEui, parsed.eventKind)
    // The service writes there to one Session only.
    if (topic.name.startsWith('$')) return true
    const levels = levelsOf(topic.name)
    return levels !== undefined && this.#reaches(levels.applicationId, levels.devEui, levels.kind)
  }

  /** Whether the token may send commands to the device, as far as the scope says. */
  reachesDevice(applicationId: string, devEui: string): boolean {
    return this.reachesApplication(applicationId) && this.#hasDevice(devEui)
  }

  /** Whether the scope names the application, or names none. */
  reachesApplication(applicationId: string): boolean {
    return this.#applicationIds?.has(applicationId) ?? true
  }

  /**
   * Whether a Topic Filter names something outside the scope. Its wildcards may be wider than the
   * scope: each delivery is asked for.
   */
  isOutside(topicFilter: string): boolean {
    const levels = levelsOf(topicFilter)
    if (levels === undefined) return true
    const { applicationId, devEui, kind } = levels
    return !(
      (applicationId === '+' || this.reachesApplication(applicationId)) &&
      (devEui === '+' || this.#hasDevice(devEui)) &&
      (kind === '+' || (this.#kinds?.has(kind) ?? true))
    )
  }

  /** The part of a Topic Filter with wildcards that comes, in words; undefined: all of it. */
  whyNarrower(topicFilter: string): string | undefined {
    const levels = levelsOf(topicFilter)
    if (levels === undefined) return undefined
    const { applicationIds, devEuis, tags, eventKinds } = this.#scope
    const words: string[] = []
    if (levels.applicationId === '+' && applicationIds !== undefined) words.push(counted(applicationIds, 'application'))
    if (levels.devEui === '+' && devEuis !== undefined) words.push(counted(devEuis, 'device'))
    if (levels.devEui === '+' && tags !== undefined) words.push(`devices with ${counted(Object.keys(tags), 'tag')}`)
    if (levels.kind === '+' && eventKinds !== undefined) words.push(`events of the kind ${eventKinds.join(', ')}`)
    return words.length === 0 ? undefined : words.join(', ')
  }

  #reaches(applicationId: string, devEui: string, kind: string): boolean {
    return (
      this.#applications.has(applicationId) &&
      this.reachesDevice(applicationId, devEui) &&
      (this.#kinds?.has(kind) ?? true)
    )
  }

  #hasDevice(devEui: string): boolean {
    return (this.#devEuis?.has(devEui) ?? true) && (this.#tagged?.has(devEui) ?? true)
  }
}

/** Undefined for a text of another shape than `application/a/device/b/event/c`. */
function levelsOf(text: string): EventLevels | undefined {
  const levels = text.split('/')
  const [first, applicationId = '', third, devEui = '', fifth, kind = ''] = levels
  const isShape = levels.length === 6 && first === 'application' && third === 'device' && fifth === 'event'
  return isShape ? { applicationId, devEui, kind } : undefined
}

function counted(list: readonly unknown[], noun: string): string {
  return list.length === 1 ? `1 ${noun}` : `${list.length} ${noun}s`
}
