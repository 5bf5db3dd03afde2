/** Failures of a start that people can repair: a taken port, a wrong file. */

/** The service could not be started. The message is a sentence for people; no stack is shown. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
}

/**
 * Listens. When the port can't be had, it throws a StartFailure that names the port and the setting
 * by which another port is chosen.
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
