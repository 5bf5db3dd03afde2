/** What the adapters need of a logger; pino's child loggers fit. Messages are `noun.verb`; never a payload, a key or a password. */
export interface NetworkServerLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
