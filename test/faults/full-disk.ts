/**
 * The disk is full when the service starts: stored data is served, and the service goes on by
 * itself when there is room.
 */
import assert from 'node:assert/strict'
import { within } from '../support/bounded-wait.ts'
import { ADMIN_PASSWORD, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'
import type { Fault, FaultWorld, SmallDisk } from './fault.ts'

export const FULL_DISK_FAULTS: readonly Fault[] = [
  {
    name: 'starts on a full disk',
    impossible: ({ disk }) => (disk === undefined ? 'a file system can’t be mounted here (it takes root)' : undefined),
    async run(world, random) {
      const { disk } = world
      assert.ok(disk !== undefined)
      const signal = random() < 0.5 ? 'SIGTERM' : 'SIGKILL'
      await world.stop(signal)
      await disk.fill()
      try {
        // Without the witnesses, because they wait for acknowledgements, which nobody gets now.
        await using service = await startAsProcess(world.dataDirectory)
        await assertReads(world, service)
        await disk.empty()
        await goesOn(service)
      } finally {
        await disk.empty()
      }
      await world.start()
      return `after ${signal}`
    },
  },
  {
    name: 'fills the disk again and again',
    impossible: ({ disk }) => (disk === undefined ? 'a file system can’t be mounted here (it takes root)' : undefined),
    async run(world, random) {
      const { disk } = world
      assert.ok(disk !== undefined)
      const times = 1 + Math.floor(random() * 3)
      for (let count = 0; count < times; count += 1) {
        await fillOnce(world, disk)
        await world.load(10)
      }
      return `${times} times`
    },
  },
]

async function fillOnce(world: FaultWorld, disk: SmallDisk): Promise<void> {
  await disk.fill()
  try {
    await assertReads(world, world.service)
    const changed = await change(world.service)
    assert.ok(changed.status === 200 || changed.status === 503, changed.text)
    if (changed.status === 503) assert.match(changed.text, /registry_full/)
  } finally {
    await disk.empty()
  }
  await goesOn(world.service)
}

/** Checks that everything acknowledged, and the registry, can be read. */
async function assertReads(world: FaultWorld, service: RunningService): Promise<void> {
  const promised = new Set(world.acknowledged)
  const login = await service.http.ask('POST', '/api/internal/login', {
    json: { username: 'admin', password: ADMIN_PASSWORD },
  })
  assert.equal(login.status, 200, login.text)
  const history = await world.history(service)
  const lost = [...promised].filter((key) => !history.has(key))
  assert.deepEqual(lost, [], 'what was acknowledged is in the history')
}

function change(service: RunningService): Promise<{ readonly status: number; readonly text: string }> {
  const name = `made-on-a-full-disk-${Math.round(performance.now() * 1000)}`
  const organization = { name, displayName: name, canHaveGateways: false }
  return service.http.ask('POST', '/api/organizations', { token: service.adminSession, json: { organization } })
}

/** Resolves when the registry accepts changes again and the service is healthy. */
async function goesOn(service: RunningService): Promise<void> {
  await within(
    (async () => {
      for (;;) {
        const [health, changed] = [await service.http.ask('GET', '/api/internal/health'), await change(service)]
        if (health.status === 200 && changed.status === 200) return
      }
    })(),
    'the service to go on when there is room',
  )
}
