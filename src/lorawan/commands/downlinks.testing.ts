/**
 * Commands with all their surroundings in memory, for tests: state, network server, registry and
 * clock.
 */
import type { OwnMessage } from '../../broker/ports/consumer.ts'
import type { StateChange, StateEntry } from '../../broker/ports/engine.ts'
import { TestClock } from '../../clock.testing.ts'
import { silentLogger } from '../../logger.ts'
import { DEFAULT_ORGANIZATION_BOUNDS } from '../../organization-bounds.ts'
import type { CommandCodec, DownlinkEncoder } from './command-registry.ts'
import { Downlinks } from './downlinks.ts'
import type { CommandPorts, DevicePlace } from './command-ports.ts'
import type { DurableState } from './durable-state.ts'
import type { Downlink, HandOverAnswer, NetworkServer } from './network-server.ts'

/** A state that outlives the service that uses it. Its writes fail or wait when a test says so. */
export class MemoryState implements DurableState {
  readonly entries = new Map<string, Buffer>()
  isFailing = false
  #held: (() => void)[] | undefined = undefined

  async write(changes: readonly StateChange[]): Promise<void> {
    const copies = changes.map(({ key, value }) => ({ key, value: value && Buffer.from(value) }))
    if (this.#held !== undefined) await new Promise<void>((resolve) => this.#held?.push(resolve))
    if (this.isFailing) throw new Error('the disk is full')
    for (const { key, value } of copies) {
      if (value === undefined) this.entries.delete(key)
      else this.entries.set(key, value)
    }
  }

  async *load(prefix: string): AsyncIterable<StateEntry> {
    const sorted = [...this.entries].toSorted(([one], [other]) => (one < other ? -1 : 1))
    for (const [key, value] of sorted) if (key.startsWith(prefix)) yield { key, value }
  }

  /** Makes writes wait until the returned function is called. */
  hold(): () => void {
    this.#held = []
    return () => {
      const held = this.#held ?? []
      this.#held = undefined
      for (const go of held) go()
    }
  }
}

/** A network server that gives the answers that a test has set. */
export class TestNetworkServer implements NetworkServer {
  readonly name = 'test'
  readonly judges: boolean
  readonly offered: Downlink[] = []
  readonly flushed: string[] = []
  /** The ids that a flush returns. */
  recalled: readonly string[] = []
  givesIds = false
  takesObjects = false
  answer: HandOverAnswer | ((downlink: Downlink) => HandOverAnswer | Promise<HandOverAnswer>) = { outcome: 'taken' }

  constructor(judges = false) {
    this.judges = judges
  }

  serves(): boolean {
    return true
  }

  async handOver(downlink: Downlink): Promise<HandOverAnswer> {
    this.offered.push(downlink)
    return typeof this.answer === 'function' ? this.answer(downlink) : this.answer
  }

  async flush(devEui: string): Promise<readonly string[]> {
    this.flushed.push(devEui)
    return this.recalled
  }

  async close(): Promise<void> {}
}

/** The answer of a network server that is away. */
export const AWAY: HandOverAnswer = { outcome: 'away', reason: 'it is away' }

/** How long the network server of a test may say nothing about a command. */
export const WORD_WAIT_MS = 3_600_000

export const DEVICE = '0102030405060708'
export const OTHER_DEVICE = '1112131415161718'

export interface TestDownlinks extends Downlinks {
  readonly state: MemoryState
  readonly server: TestNetworkServer
  readonly published: OwnMessage[]
  readonly devices: Map<string, DevicePlace>
  /** The codecs of applications; an application without an entry has none. */
  readonly codecs: Map<string, CommandCodec>
  readonly clock: TestClock
  /** By DevEUI: when the device was last heard of. */
  readonly heard: Map<string, number>
  /** Lets everything happen that needs no further time to pass. */
  settle(): Promise<void>
  /** The payloads of the messages that were published to topics with this end. */
  told(tail: string): Record<string, unknown>[]
}

/** Encodes an object as its JSON text, and refuses one with a member `bad`. */
const jsonEncoder: DownlinkEncoder = {
  encodeDownlink: async ({ object }) =>
    'bad' in object
      ? { ok: false, message: 'bad: is not encoded' }
      : { ok: true, data: Buffer.from(JSON.stringify(object)) },
}

/**
 * Opens commands that are loaded and ready. `overrides` can share the state or the network server
 * of earlier ones.
 */
export async function openTestDownlinks(
  overrides: Partial<CommandPorts> & { readonly state?: MemoryState; readonly server?: TestNetworkServer } = {},
): Promise<TestDownlinks> {
  const { state = new MemoryState(), server = new TestNetworkServer() } = overrides
  const clock = new TestClock()
  const published: OwnMessage[] = []
  const heard = new Map<string, number>()
  const codecs = new Map<string, CommandCodec>()
  const place = { applicationId: '5', organizationId: '1', isDisabled: false }
  const devices = new Map<string, DevicePlace>([
    [DEVICE, place],
    [OTHER_DEVICE, place],
  ])
  const downlinks = new Downlinks({
    state,
    publisher: { publish: async (message) => void published.push(message) },
    serverOf: () => server,
    places: { device: (devEui) => devices.get(devEui) },
    registry: {
      codecOf: async (applicationId) => codecs.get(applicationId) ?? { codec: '', encoderScript: '' },
      profileIdOf: () => undefined,
      profileCodecOf: async () => undefined,
      variablesOf: async () => ({}),
      namesOf: async (devEui) => {
        const applicationId = devices.get(devEui)?.applicationId
        if (applicationId === undefined) return undefined
        return {
          applicationId,
          applicationName: 'meters',
          deviceName: `device ${devEui}`,
          deviceProfileName: 'valve',
          tags: { floor: '1' },
        }
      },
    },
    encoder: jsonEncoder,
    clock,
    heardAtMs: (devEui) => heard.get(devEui),
    wordWaitMs: WORD_WAIT_MS,
    maximumWaitingOf: () => DEFAULT_ORGANIZATION_BOUNDS.waitingCommands,
    log: silentLogger,
    ...overrides,
  })
  await downlinks.load((prefix) => state.load(prefix))
  return Object.assign(downlinks, {
    state,
    server,
    published,
    devices,
    codecs,
    clock,
    heard,
    settle,
    told: (tail: string) =>
      published
        .filter(({ topicName }) => topicName.endsWith(tail))
        .map(({ payload }) => JSON.parse(payload.toString()) as Record<string, unknown>),
  })
}

/** Waits some turns of the event loop: a deferred function may defer another one, a few times. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 8; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}
