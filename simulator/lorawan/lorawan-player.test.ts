import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import { describe, it } from 'node:test'
import type { Timers } from '../fleet.ts'
import { createRandom } from '../random.ts'
import { region } from '../region.ts'
import type { LorawanRecord } from './device-list.ts'
import { LorawanPlayer } from './lorawan-player.ts'
import { createStatistics, summaryOf } from './lorawan-statistics.ts'
import { createNetworkSide } from './network-side.testing.ts'

describe('a LoRaWAN device that is played', () => {
  it('joins, and sends on and on', async () => {
    const { network, pass, told, statistics } = play()
    await pass(5000)
    assert.deepEqual(told, ['joined'])
    await pass(3000)
    await pass(90_000)
    assert.deepEqual(
      network.uplinks().map(({ fCnt, fPort }) => [fCnt, fPort]),
      [
        [0, 8],
        [1, 8],
      ],
    )
    assert.deepEqual(summaryOf(statistics), [
      'Join requests 1, joins 1',
      'Uplinks 2; confirmed ones acknowledged 0, given up 0',
      'Downlinks of applications 0',
    ])
  })

  it('does what a command says, and shows it with its next uplink', async () => {
    const { network, pass, told, statistics } = play()
    await pass(5000)
    await pass(3000)
    network.answer({ fCnt: 0, fPort: 8, payload: '00' })
    await pass(90_000)
    const [before, after] = network.uplinks().map(({ payload }) => payload.slice(0, 4))
    assert.deepEqual([before, after], ['0164', '0000'])
    assert.deepEqual(told, ['joined', 'sent 0', 'received 0', 'sent 1'])
    assert.equal(statistics.commands, 1)
  })

  it('hastens the uplink that acknowledges a confirmed downlink, or fetches the next', async () => {
    const { network, pass } = play()
    await pass(5000)
    await pass(3000)
    network.answer({ fCnt: 0, fPort: 8, payload: '00', isConfirmed: true })
    await pass(2000)
    assert.deepEqual(
      network.uplinks().map(({ isAcknowledgement }) => isAcknowledgement),
      [false, true],
    )
  })

  it('asks again, later and later, where nobody answers', async (context) => {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const { pass, told, statistics } = play({ isAnswering: false })
    for (const waitMs of [5000, 10_000, 20_000]) {
      await pass(waitMs)
      context.mock.timers.tick(10_000)
      await setImmediate()
    }
    assert.deepEqual(told, ['unanswered', 'unanswered', 'unanswered'])
    assert.deepEqual([statistics.joinRequests, statistics.joins], [3, 0])
  })

  it('does nothing after its end', async () => {
    const { player, network, pass } = play()
    await pass(5000)
    player.stop()
    await pass(90_000)
    assert.deepEqual(network.uplinks(), [])
  })
})

function play({ isAnswering = true } = {}) {
  const network = createNetworkSide({ isAnswering })
  const told: string[] = []
  const statistics = createStatistics()
  const { timers, pass } = createClock()
  const record: LorawanRecord = {
    devEui: '0200000000000001',
    joinEui: '0101010101010101',
    appKey: network.appKey,
    name: 'valve',
    model: 'valve-actuator',
    deviceClass: 'A',
  }
  const player = new LorawanPlayer({
    record,
    options: { intervalMs: 60_000, startWindowMs: 5000, confirmedShare: 0, region: region('EU868') },
    gateways: [network.radio],
    random: createRandom(1),
    timers,
    statistics,
    told: {
      joined: () => told.push('joined'),
      unanswered: () => told.push('unanswered'),
      sent: (_player, { fCnt }) => told.push(`sent ${fCnt}`),
      received: (_player, { fCnt }) => told.push(`received ${fCnt}`),
      failed: (_player, reason) => told.push(reason),
    },
  })
  player.start()
  return { player, network, pass, told, statistics }
}

/** A clock that a test advances. A timer that is set during an advance waits for the next one. */
function createClock() {
  let nowMs = Date.UTC(2026, 0, 1)
  let set: { readonly atMs: number; readonly run: () => void }[] = []
  const timers: Timers = {
    nowMs: () => nowMs,
    after(delayMs, run) {
      const one = { atMs: nowMs + delayMs, run }
      set.push(one)
      return () => {
        set = set.filter((each) => each !== one)
      }
    },
  }
  const pass = async (ms: number): Promise<void> => {
    nowMs += ms
    const due = set.filter(({ atMs }) => atMs <= nowMs)
    set = set.filter(({ atMs }) => atMs > nowMs)
    for (const { run } of due) run()
    await setImmediate()
  }
  return { timers, pass }
}
