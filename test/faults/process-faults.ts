/** The process is killed, frozen, or asked to end while all its peers hold on to it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Crowd } from '../support/crowd.ts'
import type { Fault } from './fault.ts'

export const PROCESS_FAULTS: readonly Fault[] = [
  {
    name: 'kills the process',
    async run(world, random) {
      await sleep(random() * 1_000)
      await world.stop('SIGKILL')
      await world.start()
      return 'started again'
    },
  },
  {
    name: 'kills the process while it starts',
    async run(world, random) {
      await world.stop('SIGKILL')
      const starting = world.startUnwatched()
      await sleep(random() * 1_500)
      starting.signal('SIGKILL')
      await starting.ended()
      await world.start()
      return 'started again'
    },
  },
  {
    name: 'freezes the process',
    async run(world, random) {
      const ms = Math.round(500 + random() * 7_500 * world.scale)
      process.kill(world.pid, 'SIGSTOP')
      await sleep(ms)
      process.kill(world.pid, 'SIGCONT')
      return `for ${ms} ms`
    },
  },
  {
    name: 'freezes the process, then kills it',
    async run(world, random) {
      const ms = Math.round(500 + random() * 4_500 * world.scale)
      process.kill(world.pid, 'SIGSTOP')
      await sleep(ms)
      await world.stop('SIGKILL')
      await world.start()
      return `after ${ms} ms`
    },
  },
  {
    name: 'asks it to end under everything',
    async run(world, random) {
      const clients = Math.round(20 + random() ** 3 * 980 * world.scale)
      const crowd = await Crowd.open(world.service, clients)
      try {
        const ms = await world.stop('SIGTERM')
        await world.start()
        return `with ${clients} clients: ended after ${Math.round(ms)} ms`
      } finally {
        crowd.close()
      }
    },
  },
]
