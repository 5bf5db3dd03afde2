/** A program or configuration that people paste, and the facts that it is made of. */

import type { TokenScope } from '../api/token-scope.ts'

/** The facts that every snippet is made of. */
export interface SnippetFacts {
  readonly host: string
  readonly port: number
  /** `https://<host>:<port>` of this console. */
  readonly origin: string
  readonly token: string
  readonly organizationId: string
  /** The limits of the token, which the next tokens have as well. Absent: none. */
  readonly scope?: TokenScope
  readonly eventTopic: string
  /** Undefined for a whole application. */
  readonly commandTopic: string | undefined
  /**
   * PEM of the service's own certificate authority; undefined where the system's authorities are
   * enough.
   */
  readonly authority: string | undefined
  /**
   * Unique per client: a second connection with the same Client Identifier ends the first
   * [MQTT-3.1.4-3].
   */
  readonly clientId: string
}

/** One way to connect. */
export interface Snippet {
  readonly id: string
  readonly name: string
  /** Says which programs are needed, and where the text goes. */
  readonly lead: string
  readonly blocks: readonly SnippetBlock[]
}

interface SnippetBlock {
  readonly title: string
  readonly text: string
}

/** The file that the certificate authority is saved as. */
export const CA_FILE = 'fieldgate-ca.pem'

/** A sentence for programs that can get a token by themselves. */
export const RENEWING = 'With FIELDGATE_USER and FIELDGATE_PASSWORD in its environment it gets new tokens by itself.'

/** The command that every snippet sends as its example. */
export const COMMAND = '{"confirmed": false, "fPort": 10, "data": "AQID"}'

/** The further members of a login for the next token, each as its name and its JSON. */
export function scopeMembers({ scope = {} }: Pick<SnippetFacts, 'scope'>): readonly (readonly [string, string])[] {
  return Object.entries(scope).map(([name, value]) => [name, JSON.stringify(value)] as const)
}

/** A text as one word of a POSIX shell. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
