/**
 * A memory engine that a second broker can open again: without a disk, it survives a restart as a
 * durable engine does.
 */
import type { Arrivals, LogReaders } from '../../src/broker/ports/engine.ts'
import { MemoryEngine } from '../../src/engine/memory/memory.ts'

export class SurvivingEngine extends MemoryEngine {
  override readonly isDurable = true

  /** Drops no message, because a reader of the next broker may need it. */
  override open(_readers: LogReaders, arrivals: Arrivals): Promise<void> {
    return super.open({ lowestNeeded: () => 0 }, arrivals)
  }
}
