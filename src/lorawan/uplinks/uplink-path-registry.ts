/** What the events of devices need of the registry, remembered: an event costs no look into it. */
import { DeviceTags } from './event-tags.ts'

/** How the uplinks of an application are decoded. */
export interface RegisteredCodec {
  readonly organizationId: string
  readonly codec: '' | 'CAYENNE_LPP' | 'CUSTOM_JS'
  /** The tenant's own; used by `CUSTOM_JS` alone. */
  readonly decoderScript: string
}

/** The deployment's registry, as far as uplinks need it. */
export interface UplinkRegistry {
  /** Undefined for an application that does not exist. */
  codecOf(applicationId: string): Promise<RegisteredCodec | undefined>
  /** What a device's scripts are given; asked only for scripts. */
  variablesOf(devEui: string): Promise<Readonly<Record<string, string>>>
  /** Whether the device has tags; undefined where that is not at hand. Asked for each event. */
  hasTags(devEui: string): boolean | undefined
  /** Labels that go out with every event of the device. */
  tagsOf(devEui: string): Promise<Readonly<Record<string, string>>>
}

/** What is remembered at most; at a bound all is forgotten, and looked up again. */
interface MemoryBounds<Value> {
  readonly entries: number
  /** Sum of `sizeOf`, in UTF-16 code units. */
  readonly size: number
  readonly sizeOf: (value: Value) => number
}

/** Applications, and their scripts: a tenant may have any number of 65,536 characters. */
const CODECS: MemoryBounds<RegisteredCodec> = {
  entries: 100_000,
  size: 33_554_432,
  sizeOf: ({ decoderScript }) => decoderScript.length,
}
/** Devices with scripts. Most have no variables; one may have 20,000 characters of them. */
const VARIABLES: MemoryBounds<Readonly<Record<string, string>>> = {
  entries: 100_000,
  size: 16_777_216,
  sizeOf: (variables) => {
    let size = 0
    for (const [name, value] of Object.entries(variables)) size += name.length + value.length
    return size
  },
}

/** Devices with tags; one may have 20,000 characters of them. */
const TAGS: MemoryBounds<DeviceTags | NoTags> = {
  entries: 100_000,
  size: 67_108_864,
  sizeOf: (tags) => tagsIn(tags)?.size ?? 0,
}

/** A device that has none, after all. */
type NoTags = typeof NO_TAGS
const NO_TAGS = 'none'

const NO_CODEC: RegisteredCodec = { organizationId: '', codec: '', decoderScript: '' }

/**
 * Answers that are kept until they are forgotten. What was asked for and has not come yet is asked
 * for once.
 */
class Memory<Value> {
  readonly #look: (key: string) => Promise<Value>
  readonly #bounds: MemoryBounds<Value>
  readonly #known = new Map<string, Value>()
  /** As many as there are uplinks under way, at most. */
  readonly #looks = new Map<string, Promise<Value>>()
  #size = 0

  constructor(look: (key: string) => Promise<Value>, bounds: MemoryBounds<Value>) {
    this.#look = look
    this.#bounds = bounds
  }

  get(key: string): Value | undefined {
    return this.#known.get(key)
  }

  look(key: string): Promise<Value> {
    const begun = this.#looks.get(key)
    if (begun !== undefined) return begun
    const look = this.#look(key)
    this.#looks.set(key, look)
    look.then(
      (value) => {
        if (this.#ends(key, look)) this.#set(key, value)
      },
      () => this.#ends(key, look),
    )
    return look
  }

  /** False when a change came in between: the answer may be of before it, and is not remembered. */
  #ends(key: string, look: Promise<Value>): boolean {
    return this.#looks.get(key) === look && this.#looks.delete(key)
  }

  forget(key: string): void {
    const known = this.#known.get(key)
    if (known !== undefined) this.#size -= this.#bounds.sizeOf(known)
    this.#known.delete(key)
    this.#looks.delete(key)
  }

  clear(): void {
    this.#known.clear()
    this.#looks.clear()
    this.#size = 0
  }

  #set(key: string, value: Value): void {
    const size = this.#bounds.sizeOf(value)
    if (this.#known.size >= this.#bounds.entries || this.#size + size > this.#bounds.size) {
      this.#known.clear()
      this.#size = 0
    }
    this.#known.set(key, value)
    this.#size += size
  }
}

/**
 * The codecs of applications, and the variables and tags of devices. Its owner tells it what has
 * changed.
 */
export class UplinkCodecs {
  readonly #codecs: Memory<RegisteredCodec>
  readonly #variables: Memory<Readonly<Record<string, string>>>
  readonly #tags: Memory<DeviceTags | NoTags>
  readonly #hasTags: UplinkRegistry['hasTags']

  constructor(registry: UplinkRegistry) {
    this.#hasTags = (devEui) => registry.hasTags(devEui)
    this.#tags = new Memory(async (devEui) => {
      const tags = await registry.tagsOf(devEui)
      return Object.keys(tags).length === 0 ? NO_TAGS : new DeviceTags(tags)
    }, TAGS)
    const codecOf = async (applicationId: string) => (await registry.codecOf(applicationId)) ?? NO_CODEC
    this.#codecs = new Memory(codecOf, CODECS)
    this.#variables = new Memory((devEui) => registry.variablesOf(devEui), VARIABLES)
  }

  /** What is at hand; undefined for what has to be looked up. */
  known(applicationId: string): RegisteredCodec | undefined {
    return this.#codecs.get(applicationId)
  }

  codecOf(applicationId: string): RegisteredCodec | Promise<RegisteredCodec> {
    return this.#codecs.get(applicationId) ?? this.#codecs.look(applicationId)
  }

  variablesOf(devEui: string): Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>> {
    return this.#variables.get(devEui) ?? this.#variables.look(devEui)
  }

  /** False for a device that is known to have none. */
  mayHaveTags(devEui: string): boolean {
    return this.#hasTags(devEui) !== false
  }

  /** Undefined for a device without tags; a promise where they have to be looked up. */
  tagsOf(devEui: string): DeviceTags | undefined | Promise<DeviceTags | undefined> {
    if (!this.mayHaveTags(devEui)) return undefined
    const known = this.#tags.get(devEui)
    if (known !== undefined) return tagsIn(known)
    return this.#tags.look(devEui).then(tagsIn)
  }

  /** The application was created, changed or removed. */
  applicationChanged(applicationId: string): void {
    this.#codecs.forget(applicationId)
  }

  deviceChanged(devEui: string): void {
    this.#variables.forget(devEui)
    this.#tags.forget(devEui)
  }

  /** Many devices were created at once. */
  devicesChanged(): void {
    this.#variables.clear()
    this.#tags.clear()
  }
}

function tagsIn(known: DeviceTags | NoTags): DeviceTags | undefined {
  return known === NO_TAGS ? undefined : known
}
