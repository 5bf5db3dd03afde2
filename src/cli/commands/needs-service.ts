/** The refusal of commands that only a running service can answer. */
import { ApiRefusal } from '../api/api-client.ts'
import { CommandFailure } from '../terminal/command-failure.ts'

/**
 * The handler of a failed request for `what`. Without a running service the route is missing, and
 * answers 404: the caller must have asked for the thing itself before.
 */
export function needsService(what: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof ApiRefusal && error.status === 404) {
      throw new CommandFailure(`Only a running service knows ${what}. Start it by \`fieldgate serve\`.`)
    }
    throw error
  }
}
