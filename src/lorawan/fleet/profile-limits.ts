/** The numbers of device profiles that decide the states of their devices. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Remembered } from '../../remembered.ts'
import { MARGIN_REST_DB } from './device-learner.ts'
import { batteryFlagOf } from './fleet-learner.ts'
import type { LearnedOfEvent } from './fleet-learner.ts'

/** Sightings that are looked at in one turn of the event loop: it takes less than a ms. */
const SIGHTINGS_OF_A_TURN = 500

/** The numbers of a profile. */
export interface StateLimits {
  /** 0: none is expected, and the learned interval counts. */
  readonly expectedIntervalSeconds: number
  /** `null`: the limit of devices without a profile. */
  readonly batteryLimitPercent: number | null
  /**
   * A mean SNR that is less than this above the need of the spreading factor is weak, dB. `null`:
   * the limit of devices without a profile.
   */
  readonly marginLimitDb: number | null
}

/** The registry, as far as the limits need it. */
export interface LimitsRegistry {
  /** The profile of the device. A Promise when the answer is not at hand. */
  profileIdOf(devEui: string): string | undefined | Promise<string | undefined>
  /** Undefined for a profile that does not exist. */
  limitsOf(profileId: string): Promise<StateLimits | undefined>
}

/** A sign of life with the facts that it teaches. */
interface Sighting extends LearnedOfEvent {
  readonly devEui: string
  /** Percent. */
  readonly batteryLevel?: number
  readonly externalPowerSource?: boolean
}

/** Profiles that are remembered, some 200 bytes each: an organization may have 1,000. */
const MAXIMUM_PROFILES = 20_000

/** The limits of profiles, remembered. The owner of `memory` tells it of changes. */
export class ProfileLimits {
  readonly #registry: LimitsRegistry
  /** By the id of the profile. */
  readonly memory: Remembered<StateLimits | undefined>

  constructor(registry: LimitsRegistry) {
    this.#registry = registry
    this.memory = new Remembered({
      look: (profileId) => registry.limitsOf(profileId),
      maximum: MAXIMUM_PROFILES,
    })
  }

  /** The interval that the device's profile expects; undefined: the learned one counts. */
  async expectedIntervalSecondsOf(devEui: string): Promise<number | undefined> {
    return intervalOf(await this.#limitsOf(devEui))
  }

  /** The sightings as the profiles of their devices have them. */
  async applyTo<One extends Sighting>(sightings: readonly One[]): Promise<readonly One[]> {
    const applied: One[] = []
    for (const [index, sighting] of sightings.entries()) {
      if (index > 0 && index % SIGHTINGS_OF_A_TURN === 0) await nextTurn()
      const found = this.#limitsOf(sighting.devEui)
      const limits = found instanceof Promise ? await found : found
      applied.push(limits === undefined ? sighting : within(limits, sighting))
    }
    return applied
  }

  #limitsOf(devEui: string): StateLimits | undefined | Promise<StateLimits | undefined> {
    const profileId = this.#registry.profileIdOf(devEui)
    if (profileId === undefined) return undefined
    if (typeof profileId === 'string') return this.memory.of(profileId)
    return profileId.then((found) => (found === undefined ? undefined : this.memory.of(found)))
  }
}

function within<One extends Sighting>(limits: StateLimits, sighting: One): One {
  const intervalSeconds = intervalOf(limits)
  const timed = ofMargin(limits, intervalSeconds === undefined ? sighting : { ...sighting, intervalSeconds })
  const { batteryLevel, externalPowerSource } = timed
  const { batteryLimitPercent } = limits
  if (batteryLimitPercent === null || batteryLevel === undefined || externalPowerSource === true) return timed
  const { lowBattery: _ofOtherLimit, ...rest } = timed
  return { ...rest, ...batteryFlagOf(batteryLevel, batteryLimitPercent) } as One
}

/** A little above the limit the flag stays as it is. */
function ofMargin<One extends Sighting>({ marginLimitDb }: StateLimits, sighting: One): One {
  const { marginDb } = sighting
  if (marginLimitDb === null || marginDb === undefined) return sighting
  const { weakSignal: _ofOtherLimit, ...rest } = sighting
  const isBetween = marginDb >= marginLimitDb && marginDb < marginLimitDb + MARGIN_REST_DB
  return (isBetween ? rest : { ...rest, weakSignal: marginDb < marginLimitDb }) as One
}

function intervalOf(limits: StateLimits | undefined): number | undefined {
  const seconds = limits?.expectedIntervalSeconds ?? 0
  return seconds === 0 ? undefined : seconds
}
