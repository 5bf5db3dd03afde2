/** The damages that a recovery finds: listed, logged, and their bytes kept aside. */
import type { Logger } from '../../logger.ts'
import type { DiskFile } from '../ports/disk.ts'
import type { KeptAside } from '../segments/kept-aside.ts'
import { segmentName } from '../segments/segment-header.ts'
import { damageFields, damageOf } from './log-damage.ts'
import type { LogDamage } from './log-damage.ts'

/** Damaged bytes of a segment's records, and the messages that are lost with them. */
export type DamagedRecords = Pick<LogDamage, 'stretches' | 'lost' | 'betweenMs'> & { readonly furtherAtMost?: number }

export class DamageLedger {
  readonly damages: LogDamage[] = []
  readonly #logger: Logger
  readonly #aside: KeptAside
  readonly #isCheck: boolean

  /** `isCheck`: damages are only listed; nothing is logged or kept aside. */
  constructor({ logger, aside, isCheck }: { logger: Logger; aside: KeptAside; isCheck: boolean }) {
    this.#logger = logger
    this.#aside = aside
    this.#isCheck = isCheck
  }

  note(damage: LogDamage): void {
    this.damages.push(damage)
    if (!this.#isCheck) this.#logger.error(damageFields(damage), 'log.damaged')
  }

  /**
   * Notes damaged records of the segment in the file, if there are any. `state`: the lost part of
   * the state.
   */
  async noteRecords(file: DiskFile, number: number, found: DamagedRecords, state: string): Promise<void> {
    const { stretches, lost, furtherAtMost = 0 } = found
    if (stretches.length === 0 && lost.length === 0 && furtherAtMost === 0) return
    const name = segmentName(number)
    this.note(damageOf('records', `log/${name}`, { ...found, state }))
    if (this.#isCheck) return
    const size = await file.size()
    for (const { from, to } of stretches) {
      if (from < size) await this.#aside.keep(file, name, { from, to: Math.min(to, size) })
    }
  }
}
