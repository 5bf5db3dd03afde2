/**
 * The devices that have certain tags, as sets that stay right while somebody holds them. Permits
 * with a scope of tags ask a set for each delivery, so it answers from memory, and at once.
 */
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import type { Change, Changes } from '../store/changes.ts'
import type { Store } from '../store/store.ts'
import { parseId } from '../store/text-rules.ts'

/** Devices of one organization that have certain tags now. */
export interface LiveDevices {
  /** Takes the DevEUI in lower case. */
  has(devEui: string): boolean
}

/** Finds devices by their tags. */
export interface TaggedDevices {
  /**
   * The organization's devices that have all of these tags. The answer stays right for as long as
   * it is held. Rejects when the registry can't be read.
   */
  taggedWith(organizationId: string, tags: Readonly<Record<string, string>>): Promise<LiveDevices>
}

/** Devices that one query reads, so that a large organization holds up nobody. */
const PAGE = 1_000
/** DevEUIs that one query looks up. */
const BATCH = 200
/** A look-up that fails is made again after this time, for an hour. */
const TRY_AGAIN_MS = 1_000
const MAXIMUM_TRIES = 3_600

/**
 * The devices with one tag. All sets of an organization together have no more entries than its
 * devices have tags.
 */
class TagSet {
  readonly key: string
  readonly value: string
  readonly devEuis = new Set<string>()
  /** Devices that changed while the set was read; undefined once it is read. */
  changed: Set<string> | undefined = new Set()

  constructor(key: string, value: string) {
    this.key = key
    this.value = value
  }

  /** Takes the tags that the device has now; undefined: the organization does not have it. */
  note(devEui: string, tags: Readonly<Record<string, string>> | undefined): void {
    if (tags !== undefined && this.fits(tags)) this.devEuis.add(devEui)
    else this.devEuis.delete(devEui)
    this.changed?.add(devEui)
  }

  fits(tags: Readonly<Record<string, string>>): boolean {
    return Object.hasOwn(tags, this.key) && tags[this.key] === this.value
  }

  /** The set was read. Devices that changed meanwhile are as they were noted. */
  take(found: ReadonlySet<string>): void {
    const changed = this.changed ?? new Set()
    const noted = [...changed].filter((devEui) => this.devEuis.has(devEui))
    this.devEuis.clear()
    for (const devEui of found) if (!changed.has(devEui)) this.devEuis.add(devEui)
    for (const devEui of noted) this.devEuis.add(devEui)
    this.changed = undefined
  }
}

/** A set and the promise of its first reading. */
interface Held {
  readonly set: WeakRef<TagSet>
  readonly read: Promise<void>
}

/** The place of a set that nobody holds any more. */
interface Dropped {
  readonly organizationId: string
  readonly name: string
}

/** The sets of one organization. */
interface TagsOfOrganization {
  /** By the text of the tag. */
  readonly held: Map<string, Held>
  /** Sets are read one after the other: an organization takes one turn at a time. */
  reading: Promise<unknown>
}

function livingOf(tags: TagsOfOrganization | undefined): readonly TagSet[] {
  return Array.from(tags?.held.values() ?? [], ({ set }) => set.deref()).filter((set) => set !== undefined)
}

/** Tagged devices of a store. */
export class TaggedDeviceSets implements TaggedDevices {
  readonly #db: Store['db']
  readonly #organizations = new Map<string, TagsOfOrganization>()
  /** The newest look-up of each device that is looked up: an older answer must not count. */
  readonly #looks = new Map<string, object>()
  readonly #dropped = new FinalizationRegistry<Dropped>((dropped) => this.#drop(dropped))

  constructor({ db }: Pick<Store, 'db'>, changes: Pick<Changes, 'subscribe'>) {
    this.#db = db
    changes.subscribe((change) => {
      if (this.#organizations.size > 0) this.#changed(change)
    })
  }

  async taggedWith(organizationId: string, tags: Readonly<Record<string, string>>): Promise<LiveDevices> {
    const held = Object.entries(tags).map(([key, value]) => this.#hold(organizationId, key, value))
    const sets = held.map(({ set }) => set)
    await Promise.all(held.map(({ read }) => read))
    return { has: (devEui) => sets.every((set) => set.devEuis.has(devEui)) }
  }

  #hold(organizationId: string, key: string, value: string): { readonly set: TagSet; readonly read: Promise<void> } {
    const name = JSON.stringify([key, value])
    let tags = this.#organizations.get(organizationId)
    if (tags === undefined) {
      tags = { held: new Map(), reading: Promise.resolve() }
      this.#organizations.set(organizationId, tags)
    }
    const { held } = tags
    const known = held.get(name)
    const living = known?.set.deref()
    if (known !== undefined && living !== undefined) return { set: living, read: known.read }
    const set = new TagSet(key, value)
    const read = tags.reading.then(() => this.#read(organizationId, set))
    const made = { set: new WeakRef(set), read }
    // The next one who asks after a failure reads anew.
    tags.reading = read.catch(() => {
      if (held.get(name) === made) held.delete(name)
    })
    held.set(name, made)
    this.#dropped.register(set, { organizationId, name })
    return { set, read }
  }

  #drop({ organizationId, name }: Dropped): void {
    const tags = this.#organizations.get(organizationId)
    // The tag may have a newer set.
    if (tags === undefined || tags.held.get(name)?.set.deref() !== undefined) return
    tags.held.delete(name)
    if (tags.held.size === 0) this.#organizations.delete(organizationId)
  }

  #changed(change: Change): void {
    if (change.kind === 'device_removed') {
      this.#looks.delete(change.devEui)
      this.#noteGone(change.devEui)
    } else if (change.kind === 'device_created' || change.kind === 'device_changed') {
      if (this.#organizations.has(change.organizationId)) void this.#lookAgain([change.devEui])
    } else if (change.kind === 'devices_changed') {
      void this.#lookAgain(change.devEuis)
    } else if (change.kind === 'resynchronized') {
      for (const [organizationId, tags] of this.#organizations) void this.#readAgain(organizationId, tags)
    }
  }

  async #lookAgain(devEuis: readonly string[]): Promise<void> {
    const look = {}
    for (const devEui of devEuis) this.#looks.set(devEui, look)
    await untilDone(
      async () => {
        for (let start = 0; start < devEuis.length; start += BATCH) {
          await this.#lookUp(devEuis.slice(start, start + BATCH), look)
        }
      },
      // Nobody keeps a right by a fault.
      () => {
        for (const devEui of devEuis) if (this.#looks.get(devEui) === look) this.#noteGone(devEui)
      },
    )
    for (const devEui of devEuis) if (this.#looks.get(devEui) === look) this.#looks.delete(devEui)
  }

  async #lookUp(devEuis: readonly string[], look: object): Promise<void> {
    const rows = await this.#db
      .selectFrom('devices')
      .select(['dev_eui', 'organization_id', 'tags'])
      .where('dev_eui', 'in', devEuis)
      .execute()
    const found = new Map(rows.map((row) => [row.dev_eui, row]))
    for (const devEui of devEuis) {
      if (this.#looks.get(devEui) !== look) continue
      this.#noteGone(devEui)
      const row = found.get(devEui)
      const tags = row && (JSON.parse(row.tags) as Record<string, string>)
      for (const set of livingOf(this.#organizations.get(String(row?.organization_id)))) set.note(devEui, tags)
    }
  }

  /** No organization has the device. */
  #noteGone(devEui: string): void {
    for (const tags of this.#organizations.values()) {
      for (const set of livingOf(tags)) set.note(devEui, undefined)
    }
  }

  async #read(organizationId: string, set: TagSet): Promise<void> {
    const found = new Set<string>()
    const text = `${JSON.stringify(set.key)}:${JSON.stringify(set.value)}`
    let after = ''
    for (;;) {
      const rows = await this.#db
        .selectFrom('devices')
        .select(['dev_eui', 'order_key', 'tags'])
        .where('organization_id', '=', parseId(organizationId) ?? 0)
        .where('order_key', '>', after)
        .orderBy('order_key')
        .limit(PAGE)
        .execute()
      for (const row of rows) {
        // Most devices are passed over without reading their JSON.
        if (row.tags.includes(text) && set.fits(JSON.parse(row.tags) as Record<string, string>)) found.add(row.dev_eui)
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < PAGE) break
      after = last.order_key
      await nextTurn()
    }
    set.take(found)
  }

  /** Changes may have been missed. The sets answer as before until they are read. */
  async #readAgain(organizationId: string, tags: TagsOfOrganization): Promise<void> {
    for (const set of livingOf(tags)) {
      set.changed = new Set()
      await untilDone(
        () => this.#read(organizationId, set),
        () => set.devEuis.clear(),
      )
    }
  }
}

/** Does the work again until it succeeds. `failed` is called after each failure. */
async function untilDone(work: () => Promise<void>, failed: () => void): Promise<void> {
  for (let tries = 1; tries <= MAXIMUM_TRIES; tries += 1) {
    try {
      await work()
      return
    } catch {
      failed()
      await delay(TRY_AGAIN_MS, undefined, { ref: false })
    }
  }
}
