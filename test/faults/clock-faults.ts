/**
 * Sets the machine's clock while the service runs, by libfaketime (Debian: `faketime`), which shows
 * a process another clock.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN_PASSWORD } from '../support/running-service.ts'
import { WireClient } from '../support/wire-client.ts'
import type { Fault, FaultWorld } from './fault.ts'

const LIBRARY = ['x86_64', 'aarch64']
  .map((machine) => `/usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`)
  .find((path) => existsSync(path))
/**
 * libfaketime looks at its file once a second; the service's tick follows within another second.
 */
const SETTLES_MS = 2_500
const HOUR_SECONDS = 3_600
/**
 * The clock is ahead of the real time from the start on. So a message that comes an hour back is
 * still younger than its device, and is in its history.
 */
const START_SECONDS = 2 * HOUR_SECONDS

export const CLOCK_FAULTS: readonly Fault[] = [
  {
    name: 'sets the clock',
    impossible: () =>
      LIBRARY === undefined ? 'libfaketime is not installed (Debian: apt-get install faketime)' : undefined,
    async run(world, random) {
      const folder = await mkdtemp(join(tmpdir(), 'fieldgate-clock-'))
      const file = join(folder, 'clock')
      const set = (seconds: number): Promise<void> => writeFile(file, `${seconds < 0 ? '' : '+'}${seconds}\n`)
      await set(START_SECONDS)
      await world.stop('SIGTERM')
      try {
        await world.start({
          LD_PRELOAD: LIBRARY as string,
          FAKETIME_TIMESTAMP_FILE: file,
          FAKETIME_CACHE_DURATION: '1',
          // Nobody sets the clock by which durations are measured.
          FAKETIME_DONT_FAKE_MONOTONIC: '1',
          DONT_FAKE_MONOTONIC: '1',
          NO_FAKE_STAT: '1',
        })
        const steps = random() < 0.5 ? [HOUR_SECONDS, -HOUR_SECONDS] : [-HOUR_SECONDS, HOUR_SECONDS]
        const { connects } = world
        for (const seconds of [...steps, 0]) {
          await set(START_SECONDS + seconds)
          await sleep(SETTLES_MS)
          await assertNobodyNotices(world, connects)
        }
        assert.match(world.service.logText(), /clock\.stepped/, 'the service saw its clock step')
        await world.stop('SIGTERM')
        await world.start()
        return `by ${steps.join(' s, ')} s, and right`
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  },
]

/** Checks that no live connection has ended, and that known clients can still connect. */
async function assertNobodyNotices(world: FaultWorld, connects: number): Promise<void> {
  await world.load(20)
  assert.equal(world.connects, connects, 'a live connection ended')
  const { service } = world
  const login = await service.http.ask('POST', '/api/internal/login', {
    json: { username: 'admin', password: ADMIN_PASSWORD },
  })
  assert.equal(login.status, 200, login.text)
  // These attempts come from addresses that the service knows, and whose attempts it has counted.
  for (let count = 0; count < 5; count += 1) {
    using client = await WireClient.open(service, 5)
    assert.equal(await client.connect({ username: 'nobody', password: 'default' }), 0x86)
  }
}
