/**
 * The contract of all adapters of network servers: one suite, run over the real protocol of each.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Downlink, EventSink, NetworkServer } from '../commands/network-server.ts'
import { EventRefused } from './adapter/event-refused.ts'

type DeviceEvent = Parameters<EventSink['event']>[0]

/**
 * The far side of an adapter: a network server that the test plays, or a program that it starts.
 */
export interface FarSide {
  readonly adapter: NetworkServer
  /** The application that the adapter serves. */
  readonly applicationId: string
  /** Sends an `up` event of the device with this payload. */
  sendEvent(devEui: string, payload: string): Promise<void>
  /** Resolves when the network server knows that everything that it has sent is dealt with. */
  allDealtWith(): Promise<void>
  /** Has the network server send again what was not owned. */
  sendAgain(): Promise<void>
  /** The next downlink that the network server gets. */
  nextDownlink(): Promise<ReceivedDownlink>
  /** From now on the network server refuses downlinks. */
  refuseDownlinks(): Promise<void>
  goAway(): Promise<void>
  comeBack(): Promise<void>
  close(): Promise<void>
}

export interface ReceivedDownlink {
  readonly devEui: string
  readonly confirmed: boolean
  readonly fPort: number
  /** The bytes in base64. */
  readonly data: string
  /** Set when the protocol carries ids. */
  readonly id?: string | undefined
  readonly expiresAtMs?: number | undefined
  readonly object?: unknown
}

export interface ContractSubject {
  readonly name: string
  readonly open: (sink: TestSink) => Promise<FarSide>
  /** Why a part of the contract does not concern this adapter. */
  readonly skip?: {
    readonly events?: string
    readonly refusals?: string
    readonly ids?: string
    readonly expiry?: string
  }
}

const ONE = 'a1b2c3d4e5f60001'
const TWO = 'a1b2c3d4e5f60002'
const LONGEST_WAIT_MS = 20_000

/** A sink that remembers its events, and treats the next events as the test says. */
export class TestSink implements EventSink {
  readonly owned: DeviceEvent[] = []
  /** The treatment of the next events, in order. An event without a plan is owned. */
  readonly plans: ((event: DeviceEvent) => Promise<void>)[] = []
  readyCount = 0
  #wake: () => void = () => {}

  async event(event: DeviceEvent): Promise<void> {
    const copy = { ...event, payload: Buffer.from(event.payload) }
    const plan = this.plans.shift()
    this.#wake()
    try {
      await plan?.(copy)
      this.owned.push(copy)
    } finally {
      this.#wake()
    }
  }

  ready(): void {
    this.readyCount += 1
    this.#wake()
  }

  /** Resolves when the condition holds. It is checked whenever the adapter calls the sink. */
  async until(what: string, isSo: () => boolean): Promise<void> {
    const timeout = AbortSignal.timeout(LONGEST_WAIT_MS)
    while (!isSo()) {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      this.#wake = resolve
      const giveUp = (): void => reject(new Error(`waited in vain for ${what}`))
      timeout.addEventListener('abort', giveUp, { once: true })
      await promise
      timeout.removeEventListener('abort', giveUp)
    }
  }

  payloads(): string[] {
    return this.owned.map(({ payload }) => payload.toString())
  }
}

/** Runs the contract on one adapter. */
export function describeNetworkServer({ name, open, skip = {} }: ContractSubject): void {
  describe(`${name}, as a network server`, { timeout: 60_000 }, () => {
    let sink: TestSink
    let far: FarSide

    beforeEach(async () => {
      sink = new TestSink()
      far = await open(sink)
      await sink.until('ready', () => sink.readyCount > 0)
    })

    afterEach(async () => {
      await far.close()
    })

    const downlink = (fields: Partial<Downlink> = {}): Downlink => ({
      id: '0b7e1f60-4f0e-4d6e-8a54-9a4a6c3f1d02',
      applicationId: far.applicationId,
      devEui: ONE,
      confirmed: true,
      fPort: 7,
      data: Buffer.from('AQIDBA==', 'base64'),
      expiresAtMs: undefined,
      ...fields,
    })

    describe('its events', { skip: skip.events ?? false }, () => {
      it('reach the sink with their application, device, kind and payload, in order', async () => {
        await far.sendEvent(ONE, '{"fCnt":1}')
        await far.sendEvent(TWO, '{"fCnt":2}')
        await far.sendEvent(ONE, '{"fCnt":3}')
        await sink.until('three events', () => sink.owned.length === 3)
        await far.allDealtWith()
        const { applicationId } = far
        const told = sink.owned.map((event) => [event.applicationId, event.devEui, event.kind])
        assert.deepEqual(told, [
          [applicationId, ONE, 'up'],
          [applicationId, TWO, 'up'],
          [applicationId, ONE, 'up'],
        ])
        assert.deepEqual(
          sink.payloads().map((text) => (JSON.parse(text) as { fCnt: number }).fCnt),
          [1, 2, 3],
        )
      })

      it('come again when they could not be owned', async () => {
        sink.plans.push(() => Promise.reject(new Error('the disk is full')))
        await far.sendEvent(ONE, '{"fCnt":1}')
        await sink.until('the event', () => sink.plans.length === 0)
        assert.deepEqual(sink.owned, [])
        await far.sendAgain()
        await sink.until('the event again', () => sink.owned.length === 1)
        await far.allDealtWith()
      })

      it('are not confirmed before they are owned', async () => {
        const held = Promise.withResolvers<void>()
        sink.plans.push(() => held.promise)
        await far.sendEvent(ONE, '{"fCnt":1}')
        await sink.until('the event', () => sink.plans.length === 0)
        let isDealtWith = false
        const dealtWith = far.allDealtWith().then(() => {
          isDealtWith = true
        })
        // Meanwhile a downlink goes out and is answered.
        await far.adapter.handOver(downlink())
        assert.equal(isDealtWith, false)
        held.resolve()
        await dealtWith
        assert.equal(sink.owned.length, 1)
      })

      it('are confirmed when they are refused for good, and do not hold up those behind them', async () => {
        sink.plans.push(() => Promise.reject(new EventRefused('event_device_unknown', 'no such device')))
        await far.sendEvent(ONE, '{"fCnt":1}')
        await far.sendEvent(TWO, '{"fCnt":2}')
        await sink.until('the second event', () => sink.owned.length === 1)
        await far.allDealtWith()
        assert.equal(sink.owned[0]?.devEui, TWO)
      })
    })

    describe('a downlink', () => {
      it('is taken with all its members', async () => {
        const expiresAtMs = Date.UTC(2030, 0, 1)
        const [answer, received] = await Promise.all([
          far.adapter.handOver(downlink({ expiresAtMs })),
          far.nextDownlink(),
        ])
        assert.equal(answer.outcome, 'taken')
        const { devEui, confirmed, fPort, data } = received
        assert.deepEqual(
          { devEui, confirmed, fPort, data },
          { devEui: ONE, confirmed: true, fPort: 7, data: 'AQIDBA==' },
        )
        if (far.adapter.givesIds === true) {
          assert.equal(answer.outcome === 'taken' && answer.networkServerItemId, received.id)
        } else if (skip.ids === undefined) assert.equal(received.id, downlink().id)
        if (skip.expiry === undefined) assert.equal(received.expiresAtMs, expiresAtMs)
      })

      it('with an empty payload and the highest port is taken as it is', async () => {
        const [answer, received] = await Promise.all([
          far.adapter.handOver(downlink({ data: Buffer.alloc(0), fPort: 255, confirmed: false })),
          far.nextDownlink(),
        ])
        assert.equal(answer.outcome, 'taken')
        assert.deepEqual([received.confirmed, received.fPort, received.data], [false, 255, ''])
      })

      it('is refused in words by a network server that won’t have it', { skip: skip.refusals ?? false }, async () => {
        await far.refuseDownlinks()
        const answer = await far.adapter.handOver(downlink())
        assert.equal(answer.outcome, 'refused')
        assert.match((answer as { reason: string }).reason, /too long/)
      })

      it('stays queued while it is away, and is asked for when it is back', async () => {
        await far.goAway()
        const answer = await far.adapter.handOver(downlink())
        assert.equal(answer.outcome, 'away')
        assert.ok((answer as { reason: string }).reason.length > 0)
        const before = sink.readyCount
        await far.comeBack()
        for (let seen = before; ; seen = sink.readyCount) {
          await sink.until('ready', () => sink.readyCount > seen)
          if ((await far.adapter.handOver(downlink())).outcome === 'taken') break
        }
        assert.equal((await far.nextDownlink()).devEui, ONE)
      })

      it('is not lost on an adapter that was closed', async () => {
        await far.adapter.close()
        await far.adapter.close()
        assert.equal((await far.adapter.handOver(downlink())).outcome, 'away')
      })
    })

    it('serves its applications and no others', () => {
      assert.equal(far.adapter.serves(far.applicationId), true)
      assert.equal(far.adapter.serves('999'), false)
    })
  })
}
