/**
 * The facts of the registry that events of devices need: codecs, variables and tags. The facts are
 * remembered, so that an event costs no look into the registry.
 */
import { Remembered } from '../../remembered.ts'
import type { KnownTopic } from './known-topic.ts'
import { DeviceTags } from './event-tags.ts'

/** How the uplinks of an application are decoded. */
export interface RegisteredCodec {
  readonly organizationId: string
  readonly codec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  /** The tenant's own script; only `CUSTOM_JS` uses it. */
  readonly decoderScript: string
}

/** Texts by name: a device's variables or tags. */
type Texts = Readonly<Record<string, string>>

/** The deployment's registry, as far as uplinks need it. */
export interface UplinkRegistry {
  /** Undefined for an application that does not exist. */
  codecOf(applicationId: string): Promise<RegisteredCodec | undefined>
  /** The variables that a device's scripts are given. Asked only for scripts. */
  variablesOf(devEui: string): Promise<Texts>
  /**
   * Whether the device has tags; undefined when the answer is not at hand. Asked for each event.
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
 * applications, each with a script of 65,536 characters.
 */
const MAXIMUM_CODECS_SIZE = 33_554_432
/**
 * The sum of the lengths of variables, in UTF-16 code units. Most devices have none; a device may
 * have 20,000 characters of them.
 */
const MAXIMUM_VARIABLES_SIZE = 16_777_216
/** The sum of `DeviceTags.size`. A device may have 20,000 characters of tags. */
const MAXIMUM_TAGS_SIZE = 67_108_864

const NO_CODEC: RegisteredCodec = { organizationId: '', codec: '', decoderScript: '' }

/** The memories of uplinks. Their owner tells them of changes. */
export interface UplinkMemories {
  /** By application id. */
  readonly application: { forget(id: string): void; forgetAll(): void }
  /** By DevEUI. */
  readonly device: { forget(id: string): void; forgetAll(): void }
}

/** The codecs of applications, and the variables and tags of devices. */
export class UplinkCodecs {
  readonly #codecs: Remembered<RegisteredCodec>
  readonly #variables: Remembered<Texts>
  readonly #tags: Remembered<DeviceTags | undefined>
  readonly #registry: Pick<UplinkRegistry, 'hasTags' | 'devicesVersion'>
  readonly memories: UplinkMemories

  constructor(registry: UplinkRegistry) {
    this.#registry = registry
    this.#codecs = new Remembered({
      look: async (applicationId) => (await registry.codecOf(applicationId)) ?? NO_CODEC,
      maximum: MAXIMUM_REMEMBERED,
      size: { maximum: MAXIMUM_CODECS_SIZE, sizeOf: ({ decoderScript }) => decoderScript.length },
    })
    this.#variables = new Remembered({
      look: (devEui) => registry.variablesOf(devEui),
      maximum: MAXIMUM_REMEMBERED,
      size: { maximum: MAXIMUM_VARIABLES_SIZE, sizeOf: lengthOf },
    })
    this.#tags = new Remembered({
      look: async (devEui) => {
        const tags = await registry.tagsOf(devEui)
        return Object.keys(tags).length === 0 ? undefined : new DeviceTags(tags)
      },
      maximum: MAXIMUM_REMEMBERED,
      size: { maximum: MAXIMUM_TAGS_SIZE, sizeOf: ({ size }) => size },
      maximumAbsent: MAXIMUM_REMEMBERED,
    })
    this.memories = { application: this.#codecs, device: together(this.#variables, this.#tags) }
  }

  /** The codec that is at hand; undefined when it has to be looked up. */
  known(applicationId: string): RegisteredCodec | undefined {
    return this.#codecs.get(applicationId)
  }

  codecOf(applicationId: string): RegisteredCodec | Promise<RegisteredCodec> {
    return this.#codecs.of(applicationId)
  }

  variablesOf(devEui: string): Texts | Promise<Texts> {
    return this.#variables.of(devEui)
  }

  /** False for a device that is known to have no tags. */
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

  /** Undefined for a device without tags; a Promise when they have to be looked up. */
  tagsOf(devEui: string): DeviceTags | undefined | Promise<DeviceTags | undefined> {
    return this.mayHaveTags(devEui) ? this.#tags.of(devEui) : undefined
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
