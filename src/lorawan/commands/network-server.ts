/**
 * The network-server port: who takes downlinks for devices. Each adapter brings a network server's
 * events in through `EventSink` and takes commands out through `NetworkServer`; one contract suite
 * holds for all.
 */

import type { CommandObject } from './command.ts'
import type { AwayCode } from './command-waits.ts'

/** A validated downlink, ready to be sent: a command after its codec, where that is ours. */
export interface Downlink {
  /**
   * By which network servers know the command: a UUID in lower case, the same each time that it is
   * offered.
   */
  readonly id: string
  readonly applicationId: string
  /** 16 lower-case hexadecimal digits. */
  readonly devEui: string
  readonly confirmed: boolean
  /** 1 to 255. */
  readonly fPort: number
  /** The payload in plaintext; undefined where `object` takes its place. */
  readonly data: Buffer | undefined
  /** For the network server's own codec; only where it `takesObjects`. */
  readonly object?: CommandObject | undefined
  /** ms since 1970; undefined when it does not expire. */
  readonly expiresAtMs: number | undefined
  /**
   * True: what the network server has for the device and has not sent yet is to be forgotten first.
   */
  readonly replaces?: boolean
  /** Set where the end of an earlier offer is not known. */
  readonly doubt?: DownlinkDoubt | undefined
}

/**
 * An earlier offer of a downlink may have been taken, without an answer that we know: the network
 * server may have it.
 */
export interface DownlinkDoubt {
  /** How long ago the end of an offer got lost, in ms. */
  readonly forMs: number
  /** The network server's ids of the device's other commands. */
  readonly otherIds: ReadonlySet<string>
  /**
   * Ids that events of the device have named since, and that are of no command that is known; the
   * earliest first.
   */
  readonly unclaimedIds: readonly string[]
}

/** What a network server said to a downlink. */
export type HandOverAnswer =
  /**
   * It has the downlink: from here on it is not sent again. `nextAfterMs`: the device's next one
   * follows so much later, for the network server handles them side by side. `holdsNext`: it
   * follows when the network server has told what became of this one. `networkServerItemId` is the
   * id that it gave the downlink, by which its events name it; `recalledIds` are those of earlier
   * ones that it has forgotten for a downlink that `replaces`.
   */
  | {
      readonly outcome: 'taken'
      readonly nextAfterMs?: number
      readonly holdsNext?: boolean
      readonly networkServerItemId?: string | undefined
      readonly recalledIds?: readonly string[]
    }
  /**
   * It can't be reached or has no room: the downlink stays queued and is offered again.
   * `isInDoubt`: it may have the downlink nevertheless. `isOfDevice`: other devices' downlinks may
   * be taken.
   */
  | {
      readonly outcome: 'away'
      readonly reason: string
      /** Set where the reason may be told to the command's sender. */
      readonly code?: AwayCode
      readonly isInDoubt?: boolean
      readonly isOfDevice?: boolean
    }
  /** It has looked at the downlink and won't have it: the command has failed. */
  | { readonly outcome: 'refused'; readonly reason: string }

export interface NetworkServer {
  /** Names it in logs and answers: `mqtt`, or the name in its settings. */
  readonly name: string
  /**
   * True when it looks at a downlink before it takes it: then the sender of a command waits a while
   * for its word.
   */
  readonly judges?: boolean
  /**
   * True when it gives each downlink an id of its own, looks for a downlink in doubt before it
   * takes it once more, and forgets earlier ones by itself for a downlink that `replaces`.
   */
  readonly givesIds?: boolean
  /** True when it has codecs of its own, and takes an object in the place of bytes. */
  readonly takesObjects?: boolean
  /** True when downlinks of the application go to this network server. */
  serves(applicationId: string): boolean
  /**
   * Offers a downlink. Downlinks of one device are offered one after the other, in order. Never
   * rejects.
   */
  handOver(downlink: Downlink): Promise<HandOverAnswer>
  /**
   * Asks it to forget what it has not sent to the device yet; absent where a network server has no
   * such call. Resolves with the ids of what it has forgotten, as far as it gives ids; rejects when
   * it can't be asked.
   */
  flush?(devEui: string): Promise<readonly string[]>
  close(): Promise<void>
}

/** What an adapter tells the service. */
export interface EventSink {
  /**
   * An event of a device, in the payload of its family, on its way to the device's event topic.
   * Resolves when it is owned: only then tell the network server so. Rejects when it could not be
   * owned; then it has to come again.
   */
  event(event: {
    readonly applicationId: string
    readonly devEui: string
    readonly kind: string
    readonly payload: Buffer
  }): Promise<void>
  /**
   * The network server can be reached (again): queued downlinks of its applications may be offered.
   */
  ready(networkServer: NetworkServer): void
}
