/**
 * The policy port: who a client is and what it may do. The broker asks; it knows no token, user or
 * organization.
 */
import type { ProtocolVersion } from '../../mqtt/packet.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'
import type { Topic } from '../../mqtt/topic.ts'

/** Where a connection comes from. */
export interface Peer {
  /** The remote address as text, without port. */
  readonly address: string
  readonly listener: 'tls' | 'websocket' | 'tcp'
}

/** The members of CONNECT that the policy judges. */
export interface Credentials {
  readonly protocolVersion: ProtocolVersion
  readonly clientId: string
  readonly userName: string | undefined
  readonly password: Buffer | undefined
  readonly authenticationMethod: string | undefined
  readonly authenticationData: Buffer | undefined
  readonly peer: Peer
}

/**
 * A refusal: a Reason Code of at least 0x80, a sentence for the client and a stable word for logs
 * and metrics.
 */
export interface Refusal {
  readonly allowed: false
  readonly reasonCode: ReasonCode
  readonly reason: string
  readonly code: string
  /**
   * The effect of a refused PUBLISH on a client that no acknowledgement can tell (MQTT 3.1.1, or
   * QoS 0). `close` ends its connection. `discard` counts the refusal and goes on, for a network
   * server whose other devices' events must flow.
   */
  readonly untold: 'close' | 'discard'
}

export type Decision =
  | {
      readonly allowed: true
      /** True: a consumer owns the message now; it is acknowledged and goes no further. */
      readonly taken?: true
    }
  | Refusal

/** A fault of a message that may be published, and goes on as it came. */
export interface MessageFault extends Unmatched {
  /**
   * The topic under which the fault is told: a Topic Name, or a filter for all Topic Names with the
   * same fault.
   */
  readonly topic: string
  /** False where the same fault was told a short time ago. */
  readonly isNews: boolean
}

/**
 * Why a granted Topic Filter can match nothing at present: a stable word, and a sentence for the
 * client.
 */
export interface Unmatched {
  readonly code: string
  readonly reason: string
}

/** The one value of consent, so that a check allocates nothing. */
export const ALLOWED: Decision = { allowed: true }

/** Why a permit is over, while its connection lives. */
export interface PermitEnd {
  readonly reasonCode: ReasonCode
  readonly reason: string
  readonly code: string
}

/** The tenant and identity that a permit belongs to, or would have belonged to. */
export interface PermitHolder {
  /** Sessions, shared subscription groups and quotas of different tenants never meet. */
  readonly tenant: string
  /** The user or service within the tenant. It is a part of the Session's key. */
  readonly identity: string
  /**
   * The ground of the permit, in the policy's own words. After a restart the policy finds the
   * permit again by its ground.
   */
  readonly ground: string
}

/**
 * The rights of one connection, held for as long as the connection lives. Checks are pure and
 * O(levels). A check that has to look something up answers with a promise, and the connection
 * waits, in order.
 */
export interface Permit extends PermitHolder {
  /**
   * Names the account that pays for the connection's work: for its share of the event loop and of
   * the way to the log, and for its rates. Absent: the tenant, with all its connections together.
   */
  readonly account?: string | undefined
  /** The time at which the permit ends by itself (ms since 1970). */
  readonly expiresAtMs: number | undefined
  /** PUBLISH packets a second that this connection may send, on average over a second. */
  readonly maximumMessagesPerSecond: number
  /**
   * Seconds for which the Session is kept where the client asks for Clean Start 0 and names no
   * Session Expiry Interval; CONNACK tells the client (MQTT 5.0 §3.2.2.3.2). Absent: the Session
   * ends with its connection, as in the specification.
   */
  readonly defaultSessionExpirySeconds?: number | undefined
  /**
   * Set: a message of this client is never refused for a reason that passes. The message waits, and
   * its connection waits with it. `own`: for as long as it takes, since all messages of the
   * connection belong to one tenant. `shared`: the connection carries messages of several tenants,
   * and no tenant may hold up the others for long. Absent: the client is told at once.
   */
  readonly backPressure?: 'own' | 'shared' | undefined
  mayPublish(topic: Topic): Decision | Promise<Decision>
  /**
   * Looks for faults in payloads that `mayPublish` has allowed, so that the operator of the
   * publisher hears of them. Called for each of these messages, so it must look at few. `second`
   * grows by one each second. Absent: no payload is inspected.
   */
  readonly inspect?: ((topic: Topic, payload: Buffer, second: number) => MessageFault | undefined) | undefined
  /**
   * Whether the client may subscribe to a Topic Filter. For a shared subscription it is the Topic
   * Filter behind `$share/{ShareName}/`.
   */
  maySubscribe(topicFilter: string): Decision
  /**
   * Asked for each delivery, if present: for subscriptions that are wider than the messages they
   * may bring.
   */
  readonly mayReceive: ((topicName: string) => boolean) | undefined
  /**
   * The time since when the topics of the Topic Filter belong to this tenant (ms since 1970). The
   * same topics may have belonged to another tenant before, so a replay begins no earlier, and no
   * older retained message is sent. Asked for Topic Filters that may be subscribed to. Absent: the
   * topics have always belonged to the tenant.
   */
  readonly belongsSinceMs?: ((topicFilter: string) => Promise<number>) | undefined
  /**
   * Why no message that is published at present can match a Topic Filter that may be subscribed to;
   * undefined where one can. Asked at a SUBSCRIBE, and when an administrator looks at the
   * connection. Absent: the policy does not know what is published.
   */
  readonly whyUnmatched?: ((topicFilter: string) => Unmatched | undefined | Promise<Unmatched | undefined>) | undefined
  /**
   * Calls the listener with each change that may have narrowed the permit; with a reason when the
   * permit is over. The returned function stops the calls.
   */
  watch(listener: (end: PermitEnd | undefined) => void): () => void
}

/** The account that pays for the work of the permit's connection. */
export function accountOf({ account, tenant }: Pick<Permit, 'account' | 'tenant'>): string {
  return account ?? tenant
}

/** An identity, a whole tenant, or an identity within a tenant that had access and has lost it. */
export interface LostAccess {
  readonly tenant?: string
  readonly identity?: string
  /** The reason that live connections are told. */
  readonly end: PermitEnd
}

/**
 * A refused CONNECT. The holder is set where the credential proved its identity, though it is valid
 * no more.
 */
export type RefusedAdmission = Refusal & { readonly holder?: PermitHolder | undefined }

export type Admission = { readonly allowed: true; readonly permit: Permit } | RefusedAdmission

export interface Policy {
  /** Judges a CONNECT. Never throws for anything that a client sent. */
  authenticate(credentials: Credentials): Promise<Admission>
  /** The Authentication Method that AUTH may renew a permit with; undefined: AUTH is refused. */
  readonly authenticationMethod: string | undefined
  /**
   * Judges the Authentication Data of a re-authentication [MQTT-4.12.1-1]; the new permit must be
   * of the same identity.
   */
  reauthenticate(permit: Permit, authenticationData: Buffer | undefined): Promise<Admission>
  /**
   * The permit that rests on the ground of an earlier one; undefined when that ground is gone. For
   * a Will Message whose connection ended with an earlier process. Absent: these Will Messages are
   * not sent.
   */
  permitOn?(ground: string): Promise<Permit | undefined>
  /**
   * Calls the listener when access is lost for good, so that stored Sessions end as well: a client
   * that gets access back later must not find the messages in between. The listener is called for
   * as long as the policy lives.
   */
  watchAccess?(listener: (lost: LostAccess) => void): void
}
