/** The servers that keep the messages and the registry of a deployment, in the status. */
import { Type } from 'typebox'
import type { Static } from 'typebox'
import { choice } from '../api/fields.ts'
import { NAME } from '../api/schema-keywords.ts'

/** A server of NATS, or the registry's PostgreSQL. */
export interface ServerStatus {
  readonly kind: 'nats' | 'postgresql'
  readonly name: string
  readonly isWell: boolean
  /** For people: the part that it has. */
  readonly role: string
  /** For people: how far it, or its slowest standby, is behind. Empty: it is not known. */
  readonly lag: string
  /** For people: what is not well. Empty when all is well. */
  readonly reason: string
}

/** The server as the interface shows it. */
export const Server = Type.Object(
  {
    kind: choice(['nats', 'postgresql'], { [NAME]: 'ServerKind' }),
    name: Type.String(),
    isWell: Type.Boolean(),
    role: Type.String({ description: 'For people: the part that the server has.' }),
    lag: Type.String({ description: 'For people: how far it, or its slowest standby, is behind; "" if unknown.' }),
    reason: Type.String({ description: 'For people: what is not well; "" when all is well.' }),
  },
  { description: 'A server that keeps messages or the registry', [NAME]: 'Server' },
)

/** The members of the server without any others. */
export function serverOf({ kind, name, isWell, role, lag, reason }: ServerStatus): Static<typeof Server> {
  return { kind, name, isWell, role, lag, reason }
}
