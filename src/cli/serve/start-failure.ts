/** Explains to people why the service did not start. */
import { StartFailure } from '../../service/start-failure.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/**
 * Turns an error of a start into a CommandFailure if people can repair its cause. Other errors are
 * returned as they are.
 */
export function describeStartFailure(error: unknown): unknown {
  if (error instanceof StartFailure) return new CommandFailure(error.message)
  // Fieldgate's own codes are lower-case words, and the messages of these errors are for people.
  // The codes of the system and of Node are in capitals.
  const isOwn = error instanceof Error && 'code' in error && /^[a-z]+(?:_[a-z]+)*$/.test(String(error.code))
  return isOwn ? new CommandFailure(error.message) : error
}
