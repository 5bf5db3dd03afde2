/** The profile of a device model, as a collection of device profiles tells it. */
import type { CollectionProblem } from './collection-tree.ts'

/** A region of a model, with what the model does there. */
export interface LibraryRegion {
  /** As the collection writes it: `EU868`, `EU863-870`. */
  readonly region: string
  readonly deviceClass: 'A' | 'B' | 'C'
}

/** Bytes of an uplink, and what they mean. */
export interface UplinkVector {
  readonly direction: 'up'
  readonly name: string
  /** 1 where the example has none. */
  readonly fPort: number
  /** In hexadecimal digits. */
  readonly bytes: string
  /** RFC 3339. */
  readonly recvTime?: string
  readonly variables?: Readonly<Record<string, string>>
  readonly expected: { readonly data: unknown } | { readonly errors: readonly string[] }
}

/** An object of a command, and its bytes. */
export interface DownlinkVector {
  readonly direction: 'down'
  readonly name: string
  readonly object: unknown
  /** The port of the command; 1 where the example has none. */
  readonly fPort: number
  /** In hexadecimal digits. */
  readonly expectedBytes: string
  /** The port that the script is to choose, where the example says so. */
  readonly expectedFPort?: number
}

/** An example of the maker of a device. */
export type TestVector = UplinkVector | DownlinkVector

/** The origin of a collection. */
export interface LibrarySource {
  readonly name: string
  /** The first line of the collection's licence; empty without a licence. */
  readonly licence: string
  /** The maker's page about the model; empty when there is none. */
  readonly url: string
  /** The commit, where it is known; otherwise empty. */
  readonly version: string
}

/** A model of a device with one codec. */
export interface LibraryProfile {
  readonly vendor: string
  readonly model: string
  readonly description: string
  /** Empty where the collection knows none. */
  readonly firmwareVersion: string
  readonly regions: readonly LibraryRegion[]
  readonly payloadCodec: '' | 'CUSTOM_JS'
  readonly payloadDecoderScript: string
  readonly payloadEncoderScript: string
  readonly testVectors: readonly TestVector[]
  readonly source: LibrarySource
}

/** Everything that was read of a collection. */
export interface Library {
  readonly layout: string
  readonly profiles: readonly LibraryProfile[]
  /** The files that could not be read. */
  readonly problems: readonly CollectionProblem[]
}
