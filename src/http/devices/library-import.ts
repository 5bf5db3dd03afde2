/** Imports profiles into the library of the deployment: compares, runs the examples, and saves. */
import { setTimeout as pause } from 'node:timers/promises'
import { given } from '../../given.ts'
import type { DeviceLibrary, LibraryProfileFields } from '../../identity/devices/library-profile.ts'
import { boundedProfile, checkLibraryProfile } from '../../identity/devices/library-rules.ts'
import type { ToldProfile } from '../../identity/devices/library-rules.ts'
import { REPEATED, RepeatedModels } from '../../identity/devices/repeated-models.ts'
import type { Refusal, Viewer } from '../../identity/store/result.ts'
import { runVectors } from '../../lorawan/codecs/test-vectors.ts'
import type { VectorOutcome, VectorRunner } from '../../lorawan/codecs/test-vectors.ts'

/** `kept`: the library has it otherwise, and `update` is not given. */
export type LibraryOutcome = 'created' | 'changed' | 'unchanged' | 'kept' | 'refused'

/** The outcome of one profile. */
export interface ImportedProfile extends Pick<LibraryProfileFields, 'vendor' | 'model' | 'firmwareVersion'> {
  readonly regions: readonly string[]
  readonly outcome: LibraryOutcome
  /** The members that the collection has otherwise. */
  readonly members?: readonly string[]
  /** Why it was refused: a stable code, and a sentence. */
  readonly reason?: string
  readonly message?: string
}

/** The parts and the wishes of an import. */
export interface LibraryImportOptions {
  readonly library: DeviceLibrary
  /** Without codecs no example is run. */
  readonly codecs: VectorRunner['codecs'] | undefined
  readonly clock: VectorRunner['clock']
  readonly actor: Viewer
  /** Nothing is written. */
  readonly dryRun: boolean
  /** Profiles that the library has otherwise are changed. */
  readonly update: boolean
  /** Profiles whose own examples do not hold are saved as well. */
  readonly force: boolean
  /** Runs a slice of work in its turn. */
  readonly inTurn: <T>(slice: () => Promise<T>) => Promise<T>
  /** Waits until the processes of the codecs may be free again. */
  readonly rest?: () => Promise<unknown>
}

/** The examples of an import share their time with the deployment's other trials. */
const LANE = 'the device library'
/** An import waits so often for the codecs at most. */
const MAXIMUM_RESTS = 60
const REST_MS = 1_000
/** Failures that say nothing about the codec: its time is used, or all processes are busy. */
const PASSING = /^(?:codec_busy|codec_time_used|engine_failed): /

/** One import. The profiles come one after the other. */
export class LibraryImport {
  readonly #options: LibraryImportOptions
  readonly #models = new RepeatedModels()
  #rests = 0
  readonly counts: Record<LibraryOutcome, number> = { created: 0, changed: 0, unchanged: 0, kept: 0, refused: 0 }

  constructor(options: LibraryImportOptions) {
    this.#options = options
  }

  /** Takes a profile as a collection tells it. */
  async take(told: ToldProfile): Promise<ImportedProfile> {
    const profile = boundedProfile(told)
    const { vendor, model, firmwareVersion, regions } = profile
    const result = this.#models.repeats(profile) ? refused(REPEATED) : await this.#import(profile)
    this.counts[result.outcome] += 1
    return { vendor, model, firmwareVersion, regions: regions.map(({ region }) => region), ...result }
  }

  async #import(
    profile: LibraryProfileFields,
  ): Promise<Pick<ImportedProfile, 'outcome' | 'members' | 'reason' | 'message'>> {
    const { library, actor, dryRun, update, force, inTurn } = this.#options
    const unfit = checkLibraryProfile(profile)
    if (unfit !== undefined) return refused(unfit)
    const same = await inTurn(() => library.compare(profile))
    if (same?.members.length === 0) {
      // The newer version has the same: so it is the version that the library has.
      const isNewer = same.isOtherVersion && profile.source.version !== ''
      if (isNewer && update && !dryRun) await inTurn(() => library.save(profile, same.failedExamples, actor))
      return { outcome: 'unchanged' }
    }
    const members = given({ members: same?.members })
    if (same !== undefined && !update && !dryRun) return { outcome: 'kept', ...members }
    const failed = await this.#failedExamples(profile)
    const [first] = failed
    if (first !== undefined && !force) return { ...refused(failedText(first, failed.length - 1)), ...members }
    if (!dryRun) {
      const saved = await inTurn(() => library.save(profile, failed.length, actor))
      if (!saved.ok) return refused(saved)
    }
    return { outcome: same === undefined ? 'created' : 'changed', ...members }
  }

  async #failedExamples(profile: LibraryProfileFields): Promise<readonly VectorOutcome[]> {
    const { codecs, clock, rest = () => pause(REST_MS) } = this.#options
    if (codecs === undefined) return []
    const codec = { ...profile, organizationId: LANE, variables: {} }
    for (;;) {
      const failed = (await runVectors({ codecs, clock }, codec, profile.testVectors)).filter(({ ok }) => !ok)
      if (!failed.some(({ got }) => PASSING.test(got)) || this.#rests >= MAXIMUM_RESTS) return failed
      this.#rests += 1
      await rest()
    }
  }
}

function refused({ reason, message }: Pick<Refusal, 'reason' | 'message'>) {
  return { outcome: 'refused', reason, message } as const
}

function failedText({ name, expected, got }: VectorOutcome, more: number) {
  const others = more === 0 ? '' : `, and ${more} more`
  const message = `its own example ${name} does not hold${others}: expected ${expected}, got ${got}`
  return { reason: 'codec_test_failed', message }
}
