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
      /**
       * Beside `taken`: the message is acknowledged when the promise resolves, and refused when the
       * promise has a refusal. The other packets of the connection go on. Never rejects.
       */
      readonly owned?: Promise<Refusal | undefined>
      /** The message goes on under this topic. */
      readonly as?: Topic
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
  /**
   * The user or service within the tenant. It is a part of the Session's key. Permits of one owner
   * that reach different things have different circles behind a slash, `user:7/ab12`. They share
   * the owner's bounds, but no Session and no group of a shared subscription.
   */
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
  /**
   * The time at which the credential behind the permit began to be good (ms since 1970). The notice
   * before the end is given by the length of this life. Absent: since the connection took it.
   */
  readonly beganAtMs?: number | undefined
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
   * Asked for a PUBLISH that `mayPublish` has refused: whether somebody takes the message all the
   * same. The payload is a view; copy what must outlive the call. Absent: nobody does.
   */
  readonly takeRefused?: ((topic: Topic, payload: Buffer, refused: Refusal) => Decision) | undefined
  /**
   * Looks for faults in payloads that `mayPublish` has allowed, so that the operator of the
   * publisher hears of them. Called for each of these messages, so it must look at few: the payload
   * is a view, which is made when it is asked for. `second` grows by one each second. Absent: no
   * payload is inspected.
   */
  readonly inspect?:
    | ((topic: Topic, message: { readonly payload: Buffer }, second: number) => MessageFault | undefined)
    | undefined
  /**
   * Whether the client may subscribe to a Topic Filter. For a shared subscription it is the Topic
   * Filter behind `$share/{ShareName}/`.
   */
  maySubscribe(topicFilter: string): Decision
  /**
   * Asked for each delivery, if present: for subscriptions that are wider than the messages they
   * may bring. A subscriber of whom nothing is to be asked has none, and costs nothing. The
   * function stays the same for as long as the permit is held, and is called by itself.
   */
  readonly mayReceive: ((topic: Topic) => boolean) | undefined
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
   * The part of a Topic Filter that comes, where it may be subscribed to and is wider than the
   * permit, in words; undefined where all of it comes. Absent: all of each Topic Filter comes.
   */
  readonly whyNarrower?: ((topicFilter: string) => string | undefined) | undefined
  /** Tells the watcher of each change from now on. `unwatch` must follow once. */
  watch(watcher: PermitWatcher): void
  unwatch(watcher: PermitWatcher): void
}

/** The holder of a permit. A permit has one at a time. */
export interface PermitWatcher {
  /** A change may have narrowed the permit. With a reason: the permit is over. */
  permitChanged(end: PermitEnd | undefined): void
}

/** The account that pays for the work of the permit's connection. */
export function accountOf({ account, tenant }: Pick<Permit, 'account' | 'tenant'>): string {
  return account ?? tenant
}

/** The owner of an identity: `user:7` of `user:7/ab12`. */
export function ownerOf(identity: string): string {
  const slash = identity.indexOf('/')
  return slash < 0 ? identity : identity.slice(0, slash)
}

/**
 * The name by which members with equal rights share a subscription: a ShareName has no slash
 * [MQTT-4.8.2-2], so no client can name the group of another circle.
 */
export function sharedNameOf(identity: string, shareName: string): string {
  const slash = identity.indexOf('/')
  return slash < 0 ? shareName : shareName + identity.slice(slash)
}

/** An owner, a whole tenant, or an owner within a tenant that had access and has lost it. */
export interface LostAccess {
  readonly tenant?: string
  /** The identity without a circle: all circles have lost access. */
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

/**
 * Branches of topics, the first two levels of Topic Names, with the time since when each belongs to
 * its tenant (ms since 1970; Infinity while it is not known).
 */
export type Branches = ReadonlyMap<string, number>

/** The branches of topics that tenants own. */
export interface Reach {
  /**
   * The tenant's branches, for a Topic Filter that stands for all of them and for no others.
   * Undefined: the Topic Filter matches as it reads. The map is kept right.
   */
  branchesOf(tenant: string, topicFilter: string): Branches | undefined
  /** Resolves when the map is complete. Undefined: it is, or there is none. */
  ready(tenant: string, topicFilter: string): Promise<void> | undefined
  /** Calls the listener after each change of a map, for as long as the policy lives. */
  watch(listener: (tenant: string, branch: string) => void): void
}

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
  /** Absent: every Topic Filter matches as it reads. */
  readonly reach?: Reach | undefined
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
