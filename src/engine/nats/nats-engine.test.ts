/** The engine over NATS against real servers: the contract of all engines. */
import { after, before, describe, test } from 'node:test'
import { describeEngine } from '../engine-contract.testing.ts'
import { NatsEngine } from './nats-engine.ts'
import { natsServerProgram } from './nats-server-binary.testing.ts'
import { NatsServers } from './nats-servers.testing.ts'

const found = natsServerProgram()

/** The servers note the time, so the test waits for the machine's clock. */
async function tick(): Promise<void> {
  for (const atMs = Date.now(); Date.now() < atMs + 2;) await new Promise(setImmediate)
}

for (const count of [3, 1] as const) {
  describe(`with ${count} servers`, () => {
    if ('missing' in found) {
      test('the engine over NATS', { skip: found.missing }, () => {})
      return
    }
    const { program } = found
    let servers: NatsServers
    let made = 0
    before(async () => {
      servers = await NatsServers.start({ program, count })
    })
    after(async () => {
      await servers[Symbol.asyncDispose]()
    })
    describeEngine('The engine over NATS', async ({ retainedBytes, arrivals }) => {
      made += 1
      const prefix = `t${made}`
      const make = async (): Promise<NatsEngine> => {
        const engine = new NatsEngine({
          connect: () => servers.connect(),
          prefix,
          node: 'a',
          partitions: 4,
          replicas: count,
          retentionBytes: retainedBytes,
        })
        await engine.open(undefined, arrivals)
        return engine
      }
      const engine = await make()
      return { engine, now: () => Date.now(), tick, retain: () => engine.maintain(), reopen: make }
    })
  })
}
