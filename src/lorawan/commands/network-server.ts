/**
 * The port to network servers, which take downlinks for devices. Each adapter brings a network
 * server's events in through `EventSink` and takes commands out through `NetworkServer`. All
 * adapters pass one contract suite.
 */

import type { CommandObject } from './command.ts'
import type { AwayCode } from './command-waits.ts'

/**
 * A valid downlink, ready to be sent: a command whose object our codec, if there is one, has turned
 * into bytes.
 */
export interface Downlink {
  /**
   * The id by which network servers know the command: a UUID in lower case, the same for each
   * offer.
   */
  readonly id: string
  readonly applicationId: string
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly confirmed: boolean
  /** From 1 to 255. */
  readonly fPort: number
  /** The payload in plaintext; undefined when `object` takes its place. */
  readonly data: Buffer | undefined
  /** The input of the network server's own codec; only for a network server that `takesObjects`. */
  readonly object?: CommandObject | undefined
  /** ms since 1970; undefined when it does not expire. */
  readonly expiresAtMs: number | undefined
  /** True: the network server is to forget the device's downlinks that it has not sent yet. */
  readonly replaces?: boolean
  /** Set when the outcome of an earlier offer is unknown. */
  readonly doubt?: DownlinkDoubt | undefined
}

/**
 * The answer to an earlier offer of the downlink was lost: the network server may have the
 * downlink.
 */
export interface DownlinkDoubt {
  /** For how many milliseconds the outcome has been unknown. */
  readonly forMs: number
  /** The ids that the network server gave to the device's other commands. */
  readonly otherIds: ReadonlySet<string>
  /**
   * Ids that events of the device have named since, and that belong to no known command; the
   * earliest first.
   */
  readonly unclaimedIds: readonly string[]
}

/** A network server's answer to the offer of a downlink. */
export type HandOverAnswer =
  /**
   * The network server has the downlink; it is never offered again. `nextAfterMs`: the device's
   * next downlink follows after this time, because the network server handles downlinks side by
   * side. `holdsNext`: the next downlink follows when the network server has reported what became
   * of this one. `networkServerItemId`: the id that the network server gave to the downlink, and
   * that its events name. `recalledIds`: the ids of earlier downlinks that the network server has
   * forgotten for a downlink that `replaces`.
   */
  | {
      readonly outcome: 'taken'
      readonly nextAfterMs?: number
      readonly holdsNext?: boolean
      readonly networkServerItemId?: string | undefined
      readonly recalledIds?: readonly string[]
    }
  /**
   * The network server can't be reached or has no room: the downlink stays in the queue and is
   * offered again. `isInDoubt`: the network server may have the downlink nevertheless.
   * `isOfDevice`: only this device is affected.
   */
  | {
      readonly outcome: 'away'
      readonly reason: string
      /** Set when the sender of the command may see the reason. */
      readonly code?: AwayCode
      readonly isInDoubt?: boolean
      readonly isOfDevice?: boolean
    }
  /** The network server has looked at the downlink and refuses it: the command has failed. */
  | { readonly outcome: 'refused'; readonly reason: string }

export interface NetworkServer {
  /** The name in logs and answers: `mqtt`, or the name in the settings. */
  readonly name: string
  /**
   * True for a network server that looks at a downlink before it takes it. The sender of a command
   * then waits a moment for the verdict.
   */
  readonly judges?: boolean
  /**
   * True for a network server that gives each downlink an id of its own, looks for a downlink in
   * doubt before it takes it again, and forgets earlier downlinks by itself for a downlink that
   * `replaces`.
   */
  readonly givesIds?: boolean
  /**
   * True for a network server with codecs of its own, which takes objects in the place of bytes.
   */
  readonly takesObjects?: boolean
  /** True when downlinks of the application go to this network server. */
  serves(applicationId: string): boolean
  /**
   * Offers a downlink. Downlinks of one device are offered one after the other, in order. Never
   * rejects.
   */
  handOver(downlink: Downlink): Promise<HandOverAnswer>
  /**
   * Asks the network server to forget the device's downlinks that it has not sent yet; absent when
   * it has no such call. Resolves with the ids of the forgotten downlinks, if the network server
   * gives ids. Rejects when the network server can't be asked.
   */
  flush?(devEui: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** The service's side of an adapter. */
export interface EventSink {
  /**
   * Publishes an event of a device, with a payload of its family, on the device's event topic.
   * Resolves when the broker owns the event: only then may the adapter confirm it to the network
   * server. Rejects when the broker could not own it; then the network server has to send it again.
   */
  event(event: {
    readonly applicationId: string
    readonly devEui: string
    readonly kind: string
    readonly payload: Buffer
  }): Promise<void>
  /**
   * The network server can be reached (again): the waiting downlinks of its applications can be
   * offered.
   */
  ready(networkServer: NetworkServer): void
}
