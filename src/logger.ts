/**
 * The logger's port, which any room may take; `pino-logger.ts` implements it. A message is
 * `noun.verb`. Fields never hold a payload, a token or a password.
 */

/** Writes one line for each call; `fields` say what the message is about. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Writes no lines. */
export const silentLogger: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
