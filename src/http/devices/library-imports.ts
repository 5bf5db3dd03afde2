/** The imports into the library: one at a time, with a report and an entry in the audit. */
import type { Static } from 'typebox'
import type { Registry } from '../../identity/registry.ts'
import type { Viewer } from '../../identity/store/result.ts'
import type { CollectionProblem } from '../../lorawan/library/collection-tree.ts'
import { RequestRefused } from '../api/errors.ts'
import type { Turns } from '../shares/work-turns.ts'
import type { LibraryImportReport } from './library-fields.ts'
import { importedItem } from './library-fields.ts'
import { LibraryImport } from './library-import.ts'
import type { ImportedProfile, LibraryImportOptions } from './library-import.ts'

/** The part of the registry that imports need. */
export type ImportRegistry = Pick<Registry, 'deviceLibrary' | 'audit'>

/** The wishes of one import. */
export interface ImportWishes extends Pick<LibraryImportOptions, 'dryRun' | 'update' | 'force'> {
  readonly actor: Viewer
  /** The payer of its turns. */
  readonly payer: string
}

/** The result of the work of an import. */
export interface ImportedCollection {
  readonly imported: readonly ImportedProfile[]
  readonly layout: string
  readonly problems: readonly CollectionProblem[]
}

/** Runs imports. */
export class LibraryImports {
  readonly #registry: ImportRegistry
  readonly #tests: Pick<LibraryImportOptions, 'codecs' | 'clock'>
  readonly #turns: Turns
  #isUnderWay = false

  constructor(registry: ImportRegistry, tests: Pick<LibraryImportOptions, 'codecs' | 'clock'>, turns: Turns) {
    this.#registry = registry
    this.#tests = tests
    this.#turns = turns
  }

  /**
   * Runs one import, and returns its report. Throws a refusal while another one is under way: each
   * holds a collection in memory, and two of them would change the same profiles in turn.
   */
  async run(
    { actor, payer, dryRun, update, force }: ImportWishes,
    work: (running: LibraryImport) => Promise<ImportedCollection>,
  ): Promise<Static<typeof LibraryImportReport>> {
    if (this.#isUnderWay) {
      const headers = { 'retry-after': '10' }
      const message = 'another import into the library is under way'
      throw new RequestRefused('resource_exhausted', message, 'library_import_busy', { headers })
    }
    this.#isUnderWay = true
    const running = new LibraryImport({
      ...this.#tests,
      library: this.#registry.deviceLibrary,
      actor,
      dryRun,
      update,
      force,
      inTurn: (slice) => this.#turns.run(payer, slice),
    })
    try {
      const { imported, layout, problems } = await work(running)
      const { created, changed, unchanged, kept, refused } = running.counts
      return {
        dryRun,
        layout,
        createdCount: created,
        changedCount: changed,
        unchangedCount: unchanged,
        keptCount: kept,
        refusedCount: refused,
        profiles: imported.filter(({ outcome }) => outcome !== 'unchanged').map(importedItem),
        problems: [...problems],
      }
    } finally {
      this.#isUnderWay = false
      if (!dryRun) await this.#note(actor, running.counts)
    }
  }

  /** An import that ended early may have changed something. */
  async #note(actor: Viewer, { created, changed }: LibraryImport['counts']): Promise<void> {
    if (created + changed === 0) return
    const detail = { created, changed }
    await this.#registry.audit.record(actor, {
      action: 'device_library.imported',
      subject: 'device library',
      organizationId: null,
      detail,
    })
  }
}
