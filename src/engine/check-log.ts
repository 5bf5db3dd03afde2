/** Verifies a log's directory and changes nothing in it: every byte of every segment and of the snapshot is read. */
import { codeOf } from './disk.ts'
import type { Disk } from './disk.ts'
import { logDirectoryOf, readFormat, stateDirectoryOf } from './log-directory.ts'
import { KIND_MESSAGE, NewerRecordError, kindOf, placeOfRecord } from './record.ts'
import { scanRecords } from './scan-records.ts'
import { readSegmentHeader, segmentHeaderBytes, segmentName, segmentNumberOf } from './segment-header.ts'
import type { SegmentHeader } from './segment-header.ts'
import { DamagedSnapshotError, StateStore, newestSnapshot } from './state-store.ts'

export interface LogReport {
  readonly partitions: number
  readonly segments: number
  readonly bytes: number
  readonly records: number
  readonly messages: number
  /** Keys of the state in its snapshot. */
  readonly stateKeys: number
  /** What a power cut left behind the last record: cut off when the log is opened, and nothing that was acknowledged. */
  readonly tornBytes: number
  /** Sentences for people; none: all is well. */
  readonly problems: readonly string[]
}

/** Reads all of a log that no process has open. Throws `LogDirectoryError` when there is none that this program can read. */
export async function checkLog(disk: Disk, directory: string): Promise<LogReport | undefined> {
  const format = await readFormat(disk, directory)
  return format === undefined ? undefined : await new Check(disk, directory, format.partitions).run()
}

class Check {
  readonly #disk: Disk
  readonly #directory: string
  readonly #partitions: number
  readonly #problems: string[] = []
  /** By partition: the next offset, as far as is known. */
  readonly #expected: Float64Array
  #bytes = 0
  #records = 0
  #messages = 0
  #tornBytes = 0

  constructor(disk: Disk, directory: string, partitions: number) {
    this.#disk = disk
    this.#directory = directory
    this.#partitions = partitions
    this.#expected = new Float64Array(partitions).fill(-1)
  }

  async run(): Promise<LogReport> {
    const names = await this.#disk.list(logDirectoryOf(this.#directory))
    const numbers = names.flatMap((name) => segmentNumberOf(name) ?? []).toSorted((one, other) => one - other)
    for (const name of names)
      if (name.endsWith('.damaged')) this.#problems.push(`log/${name} was set aside: its head is damaged.`)
    const headers = await Promise.all(numbers.map((number) => this.#header(number)))
    for (const [place, number] of numbers.entries()) {
      const header = headers[place]
      const next = headers.slice(place + 1).find((one) => one !== undefined)
      if (header === undefined) this.#problems.push(`log/${segmentName(number)} has no valid head.`)
      else if (next === undefined) await this.#checkLast(header)
      else if ((next.previous?.number ?? -1) >= number) await this.#checkSealed(header, next)
    }
    const stateKeys = await this.#checkState()
    return {
      partitions: this.#partitions,
      segments: numbers.length,
      bytes: this.#bytes,
      records: this.#records,
      messages: this.#messages,
      stateKeys,
      tornBytes: this.#tornBytes,
      problems: this.#problems,
    }
  }

  async #header(number: number): Promise<SegmentHeader | undefined> {
    const file = await this.#disk.open(`${logDirectoryOf(this.#directory)}/${segmentName(number)}`)
    try {
      const bytes = Buffer.alloc(segmentHeaderBytes(this.#partitions))
      const bytesRead = await file.read([bytes], 0)
      const header = readSegmentHeader(bytes.subarray(0, bytesRead), this.#partitions)
      return header?.number === number ? header : undefined
    } catch (error) {
      this.#note(segmentName(number), error)
      return undefined
    } finally {
      await file.close()
    }
  }

  async #checkSealed(header: SegmentHeader, next: SegmentHeader): Promise<void> {
    const name = segmentName(header.number)
    if (next.previous?.number !== header.number) {
      this.#problems.push(`Between log/${name} and log/${segmentName(next.number)} segments are missing.`)
      await this.#scan(header, undefined, 'skip')
      return
    }
    const damagedBytes = await this.#scan(header, next.previous.length, 'skip')
    if (damagedBytes > 0) this.#problems.push(`log/${name}: ${damagedBytes} bytes are damaged; what was there is lost.`)
    for (const [partition, expected] of this.#expected.entries()) {
      const end = (next.bases[partition] as number) - next.gap
      if (expected !== -1 && expected !== end) {
        this.#problems.push(`log/${name}: partition ${partition} ends at offset ${expected}, and should at ${end}.`)
      }
      this.#expected[partition] = next.bases[partition] as number
    }
  }

  async #checkLast(header: SegmentHeader): Promise<void> {
    this.#tornBytes = await this.#scan(header, undefined, 'stop')
  }

  /** Reads the records of a segment; answers the bytes that are none. */
  async #scan(header: SegmentHeader, length: number | undefined, atDamage: 'stop' | 'skip'): Promise<number> {
    const name = segmentName(header.number)
    const file = await this.#disk.open(`${logDirectoryOf(this.#directory)}/${name}`)
    try {
      const to = length ?? (await file.size())
      this.#bytes += to
      for (const [partition, base] of header.bases.entries()) this.#expected[partition] = base
      const range = { from: segmentHeaderBytes(this.#partitions), to }
      const { damagedBytes } = await scanRecords(file, range, atDamage, ({ bytes, start }) => {
        this.#records += 1
        if (kindOf(bytes, start) === KIND_MESSAGE) this.#checkPlace(name, bytes, start)
      })
      return damagedBytes
    } catch (error) {
      this.#note(name, error)
      return 0
    } finally {
      await file.close()
    }
  }

  #checkPlace(name: string, bytes: Buffer, start: number): void {
    this.#messages += 1
    const { partition, offset } = placeOfRecord(bytes, start)
    const expected = this.#expected[partition]
    if (expected === undefined || offset < expected) {
      this.#problems.push(`log/${name}: a message says that it is ${offset} of partition ${partition}, which can't be.`)
    } else this.#expected[partition] = offset + 1
  }

  async #checkState(): Promise<number> {
    const directory = stateDirectoryOf(this.#directory)
    const snapshot = newestSnapshot(await this.#disk.list(directory))
    const state = new StateStore()
    if (snapshot === undefined) return 0
    try {
      await state.readSnapshot(this.#disk, directory, snapshot)
    } catch (error) {
      this.#note(snapshot.name, error)
    }
    return state.size
  }

  #note(name: string, error: unknown): void {
    if (error instanceof DamagedSnapshotError || error instanceof NewerRecordError) {
      this.#problems.push(`${name}: ${error.message}`)
    } else if (codeOf(error) === 'unknown') throw error
    else this.#problems.push(`${name} can't be read (${codeOf(error)}).`)
  }
}
