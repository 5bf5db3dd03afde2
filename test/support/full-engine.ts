/**
 * A memory engine whose disk is full, or has room for a few messages, for as long as a test wants.
 */
import type { AppendRequest } from '../../src/broker/ports/engine.ts'
import { ReasonCodes } from '../../src/mqtt/reason-codes.ts'
import type { ReasonCode } from '../../src/mqtt/reason-codes.ts'
import { SurvivingEngine } from './surviving-engine.ts'

export class FullEngine extends SurvivingEngine {
  /** The number of messages that it still accepts. */
  room = 0
  /** The Reason Code of the refusal. */
  reasonCode: ReasonCode = ReasonCodes.quotaExceeded
  /** The number of messages that it was asked to own. */
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
