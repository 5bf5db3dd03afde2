/**
 * Keeps organizations in step with the inventories of their network servers, at the interval that
 * each of them wishes. One process of the deployment does it.
 */
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../logger.ts'
import { PeriodicLook } from '../../periodic-look.ts'
import type { ImportReport, ImportSettings } from './import-settings.ts'

/** The outcome of the last run. */
export interface StepOutcome {
  readonly ranAtMs: number
  /** "" for a run without a fault. */
  readonly code: string
  readonly message: string
  readonly report: ImportReport | null
}

/** An organization that is kept in step with one network server. */
export interface InventoryStep {
  readonly networkServer: string
  readonly organizationId: string
  /** Reads all tenants of a network server of the whole deployment. */
  readonly isOfDeployment: boolean
  readonly settings: ImportSettings
  readonly intervalSeconds: number
  /** Removes devices that two runs in a row miss at the network server. */
  readonly removesMissing: boolean
  readonly last: StepOutcome | null
}

export interface InventoryStepsOptions {
  readonly steps: () => Promise<readonly InventoryStep[]>
  /** Imports, and notes the outcome. Must not reject for a network server that is away. */
  readonly run: (step: InventoryStep) => Promise<void>
  /** True in the one process that does the work. */
  readonly isWatcher: () => Promise<boolean>
  readonly clock: Pick<Clock, 'now' | 'steady'>
  readonly log: Logger
}

/** How often the registry is asked for what is due. */
const LOOK_MS = 10_000
/**
 * Runs at the same time, of different organizations: a network server that is slow does not hold up
 * those of the others.
 */
const MAXIMUM_RUNS = 4

export class InventorySteps {
  readonly #options: InventoryStepsOptions
  /** By organization. */
  readonly #running = new Map<string, Promise<void>>()
  readonly #periodic: PeriodicLook

  constructor(options: InventoryStepsOptions) {
    this.#options = options
    const { clock, log } = options
    this.#periodic = new PeriodicLook({
      look: () => this.#look(),
      intervalMs: LOOK_MS,
      clock,
      failed: (error) => log.error({ error }, 'inventory.look_failed'),
    })
  }

  /** To be called once a second. */
  tick(): void {
    this.#periodic.tick()
  }

  /** Begins the runs that are due, and waits for none of them. A failure is logged. */
  look(): Promise<void> {
    return this.#periodic.look()
  }

  /** Resolves when the runs under way have ended. */
  async settled(): Promise<void> {
    await Promise.all(this.#running.values())
  }

  /** Begins no more runs, and waits for those under way. */
  async close(): Promise<void> {
    await this.#periodic.close()
    await this.settled()
  }

  async #look(): Promise<void> {
    const { steps, isWatcher, clock } = this.#options
    if (!(await isWatcher())) return
    const nowMs = clock.now()
    const due = (await steps())
      .filter(({ last, intervalSeconds }) => last === null || isDue(last.ranAtMs, intervalSeconds * 1000, nowMs))
      // The one that waits longest comes first.
      .toSorted((one, other) => (one.last?.ranAtMs ?? 0) - (other.last?.ranAtMs ?? 0))
    for (const step of due) {
      if (this.#periodic.isClosed || this.#running.size >= MAXIMUM_RUNS) return
      if (!this.#running.has(step.organizationId)) this.#begin(step)
    }
  }

  #begin(step: InventoryStep): void {
    const { organizationId, networkServer } = step
    const running = this.#options
      .run(step)
      .catch((error: unknown) =>
        this.#options.log.error({ organizationId, networkServer, error }, 'inventory.run_failed'),
      )
      .finally(() => this.#running.delete(organizationId))
    this.#running.set(organizationId, running)
  }
}

/** A clock that was set back does not stop the runs. */
function isDue(ranAtMs: number, intervalMs: number, nowMs: number): boolean {
  return nowMs - ranAtMs >= intervalMs || ranAtMs > nowMs
}
