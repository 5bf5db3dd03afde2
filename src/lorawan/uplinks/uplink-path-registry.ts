/**
 * The facts of the registry that events of devices need: codecs, profiles, variables and tags. The
 * facts are remembered, so that an event costs no look into the registry.
 */
import { Remembered } from '../../remembered.ts'
import type { KnownTopic } from './known-topic.ts'
import { DeviceLabels } from './device-labels.ts'
import type { LabellingProfile } from './device-labels.ts'
import type { EventTopic } from './held-event.ts'
import type { EventShape } from '../shapes/event-facts.ts'

/** How the uplinks of an application are decoded. */
export interface RegisteredCodec {
  readonly organizationId: string
  readonly codec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  /** The tenant's own script; only `CUSTOM_JS` uses it. */
  readonly decoderScript: string
  /** The shape in which all events of the application go out; empty for events as received. */
  readonly eventShape: EventShape
  /** Whether the last uplink and the last state of each device are retained. */
  readonly retainsLastEvents: boolean
}

/** A device profile, as far as events of its devices need it. */
export interface RegisteredProfile extends Omit<RegisteredCodec, 'eventShape' | 'retainsLastEvents'>, LabellingProfile {
  readonly variables: Texts
  /** Undefined: the codec decodes the uplinks of every FPort. */
  readonly decodesPort: ((fPort: number) => boolean) | undefined
}

/** Texts by name: a device's variables or tags. */
type Texts = Readonly<Record<string, string>>

/** The deployment's registry, as far as uplinks need it. */
export interface UplinkRegistry {
  /**
   * Undefined for an application that does not exist. A Promise when the answer is not at hand.
   */
  codecOf(applicationId: string): RegisteredCodec | undefined | Promise<RegisteredCodec | undefined>
  /** The variables that a device's scripts are given. Asked only for scripts. */
  variablesOf(devEui: string): Promise<Texts>
  /**
   * The id of the profile of the device; undefined for a device without a profile. A Promise when
   * the answer is not at hand.
   */
  profileIdOf(devEui: string): string | undefined | Promise<string | undefined>
  /** Undefined for a profile that does not exist. */
  profileOf(profileId: string): Promise<RegisteredProfile | undefined>
  /**
   * Whether the device has tags or a profile; undefined when the answer is not at hand. Asked for
   * each event.
   */
  hasTags(devEui: string): boolean | undefined
  /** Another object after each change that can make an answer of `hasTags` wrong. */
  readonly devicesVersion: object
  /** Labels that go out with every event of the device. */
  tagsOf(devEui: string): Promise<Texts>
}

/** Applications, and devices with variables or tags, that are remembered. */
const MAXIMUM_REMEMBERED = 100_000
/**
 * The sum of the lengths of decoder scripts, in UTF-16 code units. A tenant may have any number of
 * applications, each with a script of 524,288 characters.
 */
const MAXIMUM_CODECS_SIZE = 33_554_432
/**
 * The sum of the lengths of variables, in UTF-16 code units. Most devices have none; a device may
 * have 20,000 characters of them.
 */
const MAXIMUM_VARIABLES_SIZE = 16_777_216
/** Profiles that are remembered: an organization may have 1,000. */
const MAXIMUM_PROFILES = 20_000
/** The sum of `DeviceLabels.size`. A device may have 20,000 characters of tags. */
const MAXIMUM_TAGS_SIZE = 67_108_864

const NO_CODEC: RegisteredCodec = {
  organizationId: '',
  codec: '',
  decoderScript: '',
  eventShape: '',
  retainsLastEvents: false,
}

/** The memories of uplinks. Their owner tells them of changes. */
export interface UplinkMemories {
  /** By application id. */
  readonly application: { forget(id: string): void; forgetAll(): void }
  /** By DevEUI. */
  readonly device: { forget(id: string): void; forgetAll(): void }
  /** By the id of the profile. */
  readonly deviceProfile: { forget(id: string): void; forgetAll(): void }
}

/** The codecs of applications and profiles, and the variables and labels of devices. */
export class UplinkCodecs {
  readonly #codecs: Remembered<RegisteredCodec>
  readonly #variables: Remembered<Texts>
  readonly #profiles: Remembered<RegisteredProfile | undefined>
  readonly #labels: Remembered<DeviceLabels<RegisteredProfile> | undefined>
  readonly #registry: Pick<UplinkRegistry, 'hasTags' | 'devicesVersion' | 'profileIdOf'>
  readonly memories: UplinkMemories

  constructor(registry: UplinkRegistry) {
    this.#registry = registry
    this.#codecs = new Remembered({
      look(applicationId) {
        const codec = registry.codecOf(applicationId)
        return codec instanceof Promise ? codec.then((found) => found ?? NO_CODEC) : (codec ?? NO_CODEC)
      },
      maximum: MAXIMUM_REMEMBERED,
      size: { maximum: MAXIMUM_CODECS_SIZE, sizeOf: ({ decoderScript }) => decoderScript.length },
    })
    this.#variables = new Remembered({
      look: (devEui) => registry.variablesOf(devEui),
      maximum: MAXIMUM_REMEMBERED,
      size: { maximum: MAXIMUM_VARIABLES_SIZE, sizeOf: lengthOf },
    })
    this.#profiles = new Remembered({
      look: (profileId) => registry.profileOf(profileId),
      maximum: MAXIMUM_PROFILES,
      size: {
        maximum: MAXIMUM_CODECS_SIZE,
        sizeOf: ({ decoderScript, tags, variables }) => decoderScript.length + lengthOf(tags) + lengthOf(variables),
      },
    })
    this.#labels = new Remembered({
      look: async (devEui) => {
        const looked = this.profileFor(devEui)
        const profile = looked instanceof Promise ? await looked : looked
        const own = await registry.tagsOf(devEui)
        const isPlain = profile === undefined && Object.keys(own).length === 0
        return isPlain ? undefined : new DeviceLabels(own, profile)
      },
      maximum: MAXIMUM_REMEMBERED,
      size: { maximum: MAXIMUM_TAGS_SIZE, sizeOf: ({ size }) => size },
      maximumAbsent: MAXIMUM_REMEMBERED,
    })
    this.memories = {
      application: this.#codecs,
      device: together(this.#variables, this.#labels),
      deviceProfile: this.#profiles,
    }
  }

  /** The codec that is at hand; undefined when it has to be looked up. */
  known(applicationId: string): RegisteredCodec | undefined {
    return this.#codecs.get(applicationId)
  }

  codecOf(applicationId: string): RegisteredCodec | Promise<RegisteredCodec> {
    return this.#codecs.of(applicationId)
  }

  /** The codec, unless the registry can't tell it at once. */
  codecAtOnce(applicationId: string): RegisteredCodec | undefined {
    const codec = this.#codecs.of(applicationId)
    if (!(codec instanceof Promise)) return codec
    // A failed look-up is repeated by the code that needs the codec.
    codec.catch(() => {})
    return undefined
  }

  /** As `known`, where the codec of the device's profile goes before that of the application. */
  knownFor({ applicationId, devEui }: EventTopic): RegisteredCodec | RegisteredProfile | undefined {
    const profileId = this.#registry.profileIdOf(devEui)
    if (profileId === undefined) return this.#codecs.get(applicationId)
    if (typeof profileId === 'string') return this.#profiles.get(profileId)
    // A failed look-up is repeated by the code that needs the codec.
    profileId.catch(() => {})
    return undefined
  }

  /** The profile of the device, whose codec goes before that of the application. */
  profileFor(devEui: string): RegisteredProfile | undefined | Promise<RegisteredProfile | undefined> {
    const profileId = this.#registry.profileIdOf(devEui)
    if (profileId === undefined) return undefined
    if (typeof profileId === 'string') return this.#profiles.of(profileId)
    return profileId.then((found) => (found === undefined ? undefined : this.#profiles.of(found)))
  }

  /** The device's own variables. */
  variablesOf(devEui: string): Texts | Promise<Texts> {
    return this.#variables.of(devEui)
  }

  /** False for a device that is known to have neither tags nor a profile. */
  mayHaveTags(devEui: string): boolean {
    return this.#registry.hasTags(devEui) !== false
  }

  /** True when events of the topic were found to be plain, and nothing has changed since. */
  isPlain({ plainAtDevices, plainAtCodecs }: KnownTopic): boolean {
    return plainAtCodecs === this.#codecs.version && plainAtDevices === this.#registry.devicesVersion
  }

  /** Notes that the uplinks of the topic need neither a codec nor tags, as the registry is now. */
  notePlain(known: KnownTopic): void {
    known.plainAtDevices = this.#registry.devicesVersion
    known.plainAtCodecs = this.#codecs.version
  }

  /** Undefined for a device without labels; a Promise when they have to be looked up. */
  labelsOf(devEui: string): DeviceLabels | undefined | Promise<DeviceLabels | undefined> {
    if (!this.mayHaveTags(devEui)) return undefined
    const known = this.#labels.get(devEui)
    const profile = known?.profile
    // The profile changed: its labels in memory are those from before.
    if (profile !== undefined && this.#profiles.get(profile.id) !== profile) this.#labels.forget(devEui)
    return this.#labels.of(devEui)
  }
}

/** Memories of one fact that forget as one. */
function together(...memories: readonly UplinkMemories['device'][]): UplinkMemories['device'] {
  return {
    forget: (id) => memories.forEach((memory) => memory.forget(id)),
    forgetAll: () => memories.forEach((memory) => memory.forgetAll()),
  }
}

function lengthOf(texts: Texts): number {
  let length = 0
  for (const [name, text] of Object.entries(texts)) length += name.length + text.length
  return length
}
