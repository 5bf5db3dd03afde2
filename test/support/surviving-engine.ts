/**
 * A memory engine that a second broker can open again: what a durable engine is to a restart,
 * without a disk.
 */
import { MemoryEngine } from '../../src/engine/memory/memory.ts'

export class SurvivingEngine extends MemoryEngine {
  override readonly isDurable = true

  /** Nothing is let go: a reader of the next broker may need it. */
  override open(): Promise<void> {
    return super.open({ lowestNeeded: () => 0 })
  }
}
