/** The way of the tenants' state to the engine, as the Session store needs it. */
import type { EngineFailure, StateRequest } from '../ports/engine.ts'

export interface StateWay {
  /** Writes changes of the tenant at once, behind its earlier ones. */
  write(tenant: string, request: StateRequest): void
  /**
   * Calls `run` when the tenant's share has room for about so many bytes: within the call, or
   * later. Calls `refused` in its place when the tenant has too much waiting.
   */
  whenRoom(tenant: string, bytes: number, run: () => void, refused: (failure: EngineFailure) => void): void
}
