/**
 * The policy port: who a client is and what it may do. The broker asks; it knows no token, user or
 * organization.
 */
import type { ProtocolVersion } from '../../mqtt/packet.ts'
import type { ReasonCode } from '../../mqtt/reason-codes.ts'

/** Where a connection comes from. */
export interface Peer {
  /** The remote address as text, without port. */
  readonly address: string
  readonly listener: 'tls' | 'websocket' | 'tcp'
}

/** What CONNECT brings for the policy to judge. */
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
   * What a refused PUBLISH does to a client that no acknowledgement can tell (MQTT 3.1.1, or QoS
   * 0): `close` ends its connection; `discard` counts it and goes on, for a network server whose
   * other devices' events must flow.
   */
  readonly untold: 'close' | 'discard'
}

export type Decision =
  | {
      readonly allowed: true
      /** A consumer owns the message now: it is acknowledged and goes no further. */
      readonly taken?: true
    }
  | Refusal

/** What is wrong with a message that may be published, and goes on as it came. */
export interface MessageFault extends Unmatched {
  /** What it is told under: a Topic Name, or a filter for all that have the same fault. */
  readonly topic: string
  /** False where the same was told a short time ago. */
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

/** The one value for consent, so that a check allocates nothing. */
export const ALLOWED: Decision = { allowed: true }

/** Why a permit is over, while its connection lives. */
export interface PermitEnd {
  readonly reasonCode: ReasonCode
  readonly reason: string
  readonly code: string
}

/** Whose a permit is, or would have been. */
export interface PermitHolder {
  /** Sessions, shared subscription groups and quotas of different tenants never meet. */
  readonly tenant: string
  /** The user or service within the tenant; a part of the Session's key. */
  readonly identity: string
  /**
   * What it rests on, in the policy's own words: after a restart the policy finds the permit again
   * by it.
   */
  readonly ground: string
}

/**
 * What one connection may do, held for as long as it lives. Checks are pure and O(levels); where a
 * check has to look something up that is not at hand, it answers with a promise and the connection
 * waits, in order.
 */
export interface Permit extends PermitHolder {
  /** The permit ends by itself at this time (ms since 1970). */
  readonly expiresAtMs: number | undefined
  /** PUBLISH packets a second that this connection may send, on average over a second. */
  readonly maximumMessagesPerSecond: number
  /**
   * Seconds for which the Session is kept where the client asks for Clean Start 0 and names no
   * Session Expiry Interval; CONNACK tells it (MQTT 5.0 §3.2.2.3.2). Absent: the Session ends with
   * its connection, as the specification has it.
   */
  readonly defaultSessionExpirySeconds?: number | undefined
  /**
   * Set: what its client publishes is never refused for a reason that passes. It waits, and the
   * connection with it. `own`: for as long as it takes, for all that the connection carries is one
   * tenant's. `shared`: the connection carries messages of several tenants, and none of them may
   * hold up the others for long. Absent: the client is told at once.
   */
  readonly backPressure?: 'own' | 'shared' | undefined
  mayPublish(topicName: string): Decision | Promise<Decision>
  /**
   * Looks at some of the payloads that `mayPublish` has allowed, for faults that their publisher's
   * operator must hear of. Called for each of them, so it must look at few. `second` grows by one
   * each second. Absent: nothing is looked at.
   */
  readonly inspect?: ((topicName: string, payload: Buffer, second: number) => MessageFault | undefined) | undefined
  /** For a shared subscription: the Topic Filter behind `$share/{ShareName}/`. */
  maySubscribe(topicFilter: string): Decision
  /**
   * Asked for each delivery if present: for subscriptions granted wider than what they may bring.
   */
  readonly mayReceive: ((topicName: string) => boolean) | undefined
  /**
   * Since when what the Topic Filter matches is this tenant's (ms since 1970): a replay of it
   * begins no earlier, and nothing older that is retained goes with it, for the same topics may
   * have been somebody else's. Asked for what may be subscribed to; absent: it always has been.
   */
  readonly belongsSinceMs?: ((topicFilter: string) => Promise<number>) | undefined
  /**
   * Why nothing that is published at present can match a Topic Filter that may be subscribed to;
   * undefined where something can. Asked at a SUBSCRIBE, and when somebody looks at the connection.
   * Absent: nothing is known of what is published.
   */
  readonly whyUnmatched?: ((topicFilter: string) => Unmatched | undefined | Promise<Unmatched | undefined>) | undefined
  /**
   * Called with each change that may have narrowed the permit; with a reason when it is over.
   * Returns the way to stop.
   */
  watch(listener: (end: PermitEnd | undefined) => void): () => void
}

/**
 * Somebody who had access and has none any more: an identity, a whole tenant, or an identity within
 * a tenant.
 */
export interface LostAccess {
  readonly tenant?: string
  readonly identity?: string
  /** What live connections are told. */
  readonly end: PermitEnd
}

/**
 * A refused CONNECT; with the holder where the credential proved whose it is, though it is good no
 * more.
 */
export type RefusedAdmission = Refusal & { readonly holder?: PermitHolder | undefined }

export type Admission = { readonly allowed: true; readonly permit: Permit } | RefusedAdmission

export interface Policy {
  /** Judges a CONNECT. Never throws for what a client sent. */
  authenticate(credentials: Credentials): Promise<Admission>
  /** The Authentication Method that AUTH may renew a permit with; undefined: AUTH is refused. */
  readonly authenticationMethod: string | undefined
  /**
   * Judges the Authentication Data of a re-authentication [MQTT-4.12.1-1]; the new permit must be
   * of the same identity.
   */
  reauthenticate(permit: Permit, authenticationData: Buffer | undefined): Promise<Admission>
  /**
   * The permit that rests on the ground of an earlier one, for a Will Message whose connection
   * ended with an earlier process; undefined when that ground is gone. Absent: such Will Messages
   * are not sent.
   */
  permitOn?(ground: string): Promise<Permit | undefined>
  /**
   * Calls the listener when access is lost for good, so that stored Sessions end as well: who gets
   * it back later must not find what came between. For as long as the policy lives.
   */
  watchAccess?(listener: (lost: LostAccess) => void): void
}
