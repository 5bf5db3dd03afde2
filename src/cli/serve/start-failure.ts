import { StartFailure } from '../../service/start-failure.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/**
 * Why the service did not start, for people; the error itself where it is none that they can do
 * something about.
 */
export function describeStartFailure(error: unknown): unknown {
  if (error instanceof StartFailure) return new CommandFailure(error.message)
  // The product's own codes are words, the system's and Node's are capitals; the former's messages
  // are for people.
  const isOwn = error instanceof Error && 'code' in error && /^[a-z]+(?:_[a-z]+)*$/.test(String(error.code))
  return isOwn ? new CommandFailure(error.message) : error
}
