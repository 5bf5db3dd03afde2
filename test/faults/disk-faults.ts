/** The disk of the data directory fills under load, and later has room again. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from './fault.ts'

export const DISK_FAULTS: readonly Fault[] = [
  {
    name: 'fills the disk',
    impossible: ({ disk }) =>
      disk === undefined ? 'a file system can’t be mounted here (it takes root on Linux)' : undefined,
    async run(world, random) {
      const { disk, service } = world
      assert.ok(disk !== undefined)
      const ms = Math.round(500 + random() * 3_500 * world.scale)
      await disk.fill()
      const statuses: number[] = []
      try {
        const endsMs = performance.now() + ms
        for (let count = 0; performance.now() < endsMs; count += 1) {
          const read = await service.http.ask('GET', '/api/organizations?limit=1', { token: service.adminSession })
          assert.equal(read.status, 200, `what is there can be read: ${read.text}`)
          const json = { organization: { name: `full-${world.pid}-${Math.round(endsMs)}-${count}` } }
          const write = await service.http.ask('POST', '/api/organizations', { token: service.adminSession, json })
          assert.ok(write.status === 200 || write.status === 503, `the registry says what is wrong: ${write.text}`)
          statuses.push(write.status)
          await sleep(100)
        }
      } finally {
        await disk.empty()
      }
      return `for ${ms} ms, ${statuses.filter((status) => status === 503).length} changes of the registry refused`
    },
  },
]
