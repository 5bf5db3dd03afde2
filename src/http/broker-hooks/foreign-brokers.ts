/** The port through which brokers of other projects ask whether a client may do a thing. */

/** A client of a foreign broker, in the words of that broker. */
export interface ForeignClient {
  readonly userName: string
  /** Set where the broker belongs to one organization. */
  readonly onlyOrganizationId: string | undefined
}

/** The answer to a question. `code` is stable: docs/errors.md has a paragraph for each. */
export type Verdict =
  | { readonly allowed: true }
  | { readonly allowed: false; readonly code: string; readonly reason: string }

/** The answer about a CONNECT. */
export type ConnectVerdict =
  | {
      readonly allowed: true
      /** The end of the client's right, ms since 1970; undefined for none. */
      readonly expiresAtMs: number | undefined
    }
  | Extract<Verdict, { readonly allowed: false }>

/** The judge of all questions. */
export interface ForeignBrokers {
  mayConnect(
    client: ForeignClient,
    given: { readonly password: string; readonly clientId: string | undefined },
  ): Promise<ConnectVerdict>
  /** Whether the client holds a right at present, whatever it asks for. */
  isAdmitted(client: ForeignClient): Promise<Verdict>
  mayUseClientId(client: ForeignClient, clientId: string): Promise<Verdict>
  mayPublish(client: ForeignClient, topicName: string): Promise<Verdict>
  /** `asksAtDelivery`: the broker asks `mayReceive` for each message. */
  maySubscribe(client: ForeignClient, topicFilter: string, asksAtDelivery: boolean): Promise<Verdict>
  mayReceive(client: ForeignClient, topicName: string): Promise<Verdict>
}

/** The judge, and the secrets of the brokers that may ask it. */
export interface BrokerHooks {
  readonly judge: ForeignBrokers
  /** Empty: only programs of this machine may ask. */
  readonly secrets: readonly string[]
}
