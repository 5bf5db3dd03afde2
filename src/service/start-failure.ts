/** What keeps the service from starting and people can do something about. */

/** A service that could not be started: a sentence for people, without a stack. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
}

/**
 * Listens, or throws a StartFailure that says which port is taken and by which setting another is
 * chosen.
 */
export async function listening<Listening>(
  setting: string,
  port: number,
  listen: () => Promise<Listening>,
): Promise<Listening> {
  try {
    return await listen()
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') {
      throw new StartFailure(`Port ${port} is in use by another program. Choose another by ${setting}.`)
    }
    if (code === 'EACCES')
      throw new StartFailure(`Port ${port} may not be opened by this user. Choose another by ${setting}.`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      throw new StartFailure('The address of FIELDGATE_HOST is not one of this machine.')
    }
    throw error
  }
}
