/**
 * The labels of a device go out with each of its events: the tags of the device over those of its
 * profile, and the name and the id of its profile.
 */
import { DeviceTags } from './event-tags.ts'
import { ProfileNames } from './profile-names.ts'

/** The device profile, as far as the events of its devices need it. */
export interface LabellingProfile {
  readonly id: string
  readonly name: string
  readonly tags: Readonly<Record<string, string>>
}

/** The labels of one device, prepared for its events. */
export class DeviceLabels<Profile extends LabellingProfile = LabellingProfile> {
  /** The profile from which the labels were made; undefined for a device without a profile. */
  readonly profile: Profile | undefined
  readonly #tags: DeviceTags | undefined
  readonly #names: ProfileNames | undefined

  constructor(own: Readonly<Record<string, string>>, profile: Profile | undefined) {
    this.profile = profile
    const tags = { ...profile?.tags, ...own }
    this.#tags = Object.keys(tags).length === 0 ? undefined : new DeviceTags(tags)
    this.#names = profile === undefined ? undefined : new ProfileNames(profile)
  }

  /** The memory that the labels take, roughly, in bytes. */
  get size(): number {
    return (this.#tags?.size ?? 0) + (this.#names?.size ?? 0)
  }

  /** The event with these labels. Returns the very payload that came in when nothing is added. */
  into(payload: Buffer): Buffer {
    const tagged = this.#tags?.into(payload) ?? payload
    return this.#names?.into(tagged) ?? tagged
  }
}
