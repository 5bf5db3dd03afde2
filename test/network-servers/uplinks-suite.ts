/**
 * No uplink is lost while Fieldgate is killed, frozen, cut off or without a disk, under 60 uplinks
 * a second.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FillingDisk } from '../support/filling-disk.ts'
import type { Way } from './place.ts'
import type { Places } from './places.ts'
import { UplinkLoad } from './uplink-load.ts'

const PER_SECOND = 60
/**
 * With so many devices, each sends once a second: ChirpStack handles uplinks of one device
 * concurrently if they come closer.
 */
const DEVICES = 60
/** The time of load before and after a trouble. */
const LOAD_MS = 4_000
/**
 * Uplinks that were on their way to Fieldgate or to the integrator when a connection broke may come
 * twice: docs/network-servers/README.md.
 */
const DOUBLED_AT_MOST = 400

/** A fault of Fieldgate under load; `run` resolves when it is over. */
interface Trouble {
  readonly title: string
  happen(places: Places, way: Way): Promise<void>
}

export const TROUBLES_OF_THE_PROCESS: readonly Trouble[] = [
  {
    title: 'killed and started again',
    happen: async ({ fieldgate }) => {
      await fieldgate.kill()
      await fieldgate.comeBack()
    },
  },
  {
    title: 'frozen for 8 s, killed and started again',
    happen: async ({ fieldgate }) => {
      fieldgate.freeze()
      await sleep(8_000)
      await fieldgate.kill()
      await fieldgate.comeBack()
    },
  },
]

export const TROUBLES_OF_THE_PATH: readonly Trouble[] = [
  {
    title: 'cut off from the network server for 5 s',
    happen: async ({ fieldgate, bridgedBroker }, way) => {
      const path = way === 'v4-bridge' ? bridgedBroker?.fieldgatePath : fieldgate.networkServerPath
      path?.cut()
      await sleep(5_000)
      path?.mend()
    },
  },
  {
    title: 'not heard of for 8 s, with the connection open, and then cut off',
    happen: async ({ fieldgate, bridgedBroker }, way) => {
      const path = way === 'v4-bridge' ? bridgedBroker?.fieldgatePath : fieldgate.networkServerPath
      path?.silence()
      await sleep(8_000)
      path?.mend()
    },
  },
]

/** Fills Fieldgate's disk for some time. */
export function fullDisk(disk: FillingDisk, seconds: number): Trouble {
  return {
    title: `without room on its disk for ${seconds} s`,
    happen: async () => {
      disk.isFull = true
      await sleep(seconds * 1_000)
      disk.isFull = false
    },
  }
}

export function testUplinks(places: () => Places, ways: readonly Way[], troubles: readonly Trouble[]): void {
  for (const way of ways) {
    for (const trouble of troubles) {
      const { title } = trouble
      it(`${way}: Fieldgate is ${title} under ${PER_SECOND} uplinks a second, and none is lost`, async (t) => {
        const load = await UplinkLoad.prepare(places().of(way), DEVICES, PER_SECOND)
        const droppedBefore = droppedByV3(places()).length
        load.start()
        await sleep(LOAD_MS)
        await trouble.happen(places(), way)
        await sleep(LOAD_MS)
        const counts = await load.settle()
        t.diagnostic(`${way}, ${title}: ${load.sent} sent, ${JSON.stringify(counts)}`)
        const dropped = droppedByV3(places()).slice(droppedBefore)
        assert.deepEqual(dropped, [], 'v3 hands each event to its MQTT client')
        assert.equal(counts.lost, 0, JSON.stringify(counts))
        assert.ok(counts.published > load.sent * 0.9, `ChirpStack has published ${counts.published} of ${load.sent}`)
        assert.ok(counts.doubled <= DOUBLED_AT_MOST, `${counts.doubled} came twice`)
      })
    }
  }
}

/**
 * The lines of v3's log about events that it dropped before its MQTT client got them, because
 * PostgreSQL answered with an error. Its HTTP integration may have posted these events. They would
 * count as lost here, though Fieldgate never got them.
 */
function droppedByV3({ v3 }: Places): readonly string[] {
  const lines = v3?.applicationServer.text.split('\n') ?? []
  return lines.filter((line) => line.includes('integration="*mqtt.Integration"') && line.includes('pq: '))
}
