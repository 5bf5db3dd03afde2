/** Reads a zip archive with a collection of device profiles in a process of its own. */
import { startHelper } from '../../helper-process.ts'
import type { HelperProcess } from '../../helper-process.ts'
import { programFile } from '../../installation.ts'
import { CollectionFault } from './collection-tree.ts'
import type { CollectionProblem } from './collection-tree.ts'
import type { LibraryProfile } from './library-profile.ts'

/** A job of the process: take bytes, open what was taken, or give the next profile. */
export type ArchiveJob = { readonly kind: 'take'; readonly base64: string } | { readonly kind: 'open' | 'next' }

/** Everything about an opened collection but its profiles. */
export interface OpenedArchive {
  readonly layout: string
  /** The number of its profiles. */
  readonly profiles: number
  readonly problems: readonly CollectionProblem[]
}

/** The answer to a job. `done` to `next` means that there is no further profile. */
export type ArchiveAnswer =
  | { readonly kind: 'done' }
  | ({ readonly kind: 'opened' } & OpenedArchive)
  | { readonly kind: 'profile'; readonly profile: LibraryProfile }
  | { readonly kind: 'refused'; readonly message: string }

const PROGRAM = programFile('src/lorawan/library/archive-process')
const MIB = 1024 * 1024
/**
 * The archive and its texts stay in the memory of the process: 550 MiB of the largest archive with
 * the most text. A file of 2 MiB that was made for it takes a further 1,000 MiB while it is parsed.
 */
const MAXIMUM_MIB = 1_024
/** Bun has no bound of the heap, so the memory of the process is looked at. */
const MEMORY_LOOK_MS = 1_000
/** An archive whose texts take longer is refused: it was made to hold up its reader. */
const ANSWER_MS = 60_000

/** An archive that is being read. It has to be closed. */
export class ArchiveHelper {
  readonly #process: HelperProcess<ArchiveJob>
  readonly #maximumMib: number
  #waiting: PromiseWithResolvers<ArchiveAnswer>
  #hasEnded = false

  private constructor(maximumMib: number) {
    this.#maximumMib = maximumMib
    this.#waiting = Promise.withResolvers()
    this.#process = startHelper<ArchiveJob, ArchiveAnswer>({
      program: PROGRAM,
      heapMb: MAXIMUM_MIB,
      onMessage: (message) => this.#waiting.resolve(message),
      onEnd: () => {
        this.#hasEnded = true
        this.#waiting.reject(readerEnded())
      },
    })
    this.#waiting.promise.catch(() => {})
  }

  /**
   * Starts the process. An archive that makes the process larger than `maximumMib` is refused,
   * where the system tells its memory. Throws CollectionFault where it does not start.
   */
  static async start(maximumMib: number = MAXIMUM_MIB): Promise<ArchiveHelper> {
    const helper = new ArchiveHelper(maximumMib)
    try {
      await helper.#answer()
    } catch (error) {
      await helper.close()
      throw error
    }
    return helper
  }

  /** Hands the next bytes of the archive over. */
  async take(bytes: Uint8Array): Promise<void> {
    await this.#ask({ kind: 'take', base64: Buffer.from(bytes).toString('base64') })
  }

  /** Reads what was taken. Throws CollectionFault for an archive that can't be read. */
  async open(): Promise<OpenedArchive> {
    const answer = await this.#ask({ kind: 'open' })
    if (answer.kind === 'refused') throw new CollectionFault(answer.message)
    if (answer.kind !== 'opened') throw new CollectionFault('The archive could not be read.')
    const { layout, profiles, problems } = answer
    return { layout, profiles, problems }
  }

  /** The next profile; undefined behind the last one. */
  async next(): Promise<LibraryProfile | undefined> {
    const answer = await this.#ask({ kind: 'next' })
    return answer.kind === 'profile' ? answer.profile : undefined
  }

  /** Ends the process. */
  async close(): Promise<void> {
    await this.#process.kill()
  }

  #ask(job: ArchiveJob): Promise<ArchiveAnswer> {
    if (this.#hasEnded) return Promise.reject(readerEnded())
    this.#waiting = Promise.withResolvers()
    this.#process.send(job)
    return this.#answer()
  }

  async #answer(): Promise<ArchiveAnswer> {
    const { promise, reject } = this.#waiting
    const timer = setTimeout(() => reject(new CollectionFault('The archive takes too long to read.')), ANSWER_MS)
    const look = setInterval(() => {
      if ((this.#process.residentBytes() ?? 0) > this.#maximumMib * MIB) reject(tooLarge(this.#maximumMib))
    }, MEMORY_LOOK_MS)
    try {
      return await promise
    } finally {
      clearTimeout(timer)
      clearInterval(look)
    }
  }
}

function tooLarge(maximumMib: number): CollectionFault {
  return new CollectionFault(`The archive takes more than ${maximumMib} MiB of memory to read.`)
}

function readerEnded(): CollectionFault {
  return new CollectionFault('The archive could not be read: its reader ended.')
}
