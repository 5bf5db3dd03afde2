/**
 * A memory engine whose disk is full, or has room for so many messages, for as long as a test says
 * so.
 */
import type { AppendRequest } from '../../src/broker/ports/engine.ts'
import { ReasonCodes } from '../../src/mqtt/reason-codes.ts'
import type { ReasonCode } from '../../src/mqtt/reason-codes.ts'
import { SurvivingEngine } from './surviving-engine.ts'

export class FullEngine extends SurvivingEngine {
  /** Messages that it still takes. */
  room = 0
  /** What it says to those for which there is none. */
  reasonCode: ReasonCode = ReasonCodes.quotaExceeded
  /** Messages that it was asked to own. */
  asked = 0

  override append(partition: number, request: AppendRequest): void {
    this.asked += 1
    if (this.room > 0) {
      this.room -= 1
      super.append(partition, request)
    } else {
      queueMicrotask(() => request.failed({ reasonCode: this.reasonCode, reason: 'The disk is full.' }))
    }
  }
}
