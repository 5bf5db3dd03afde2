/**
 * A start on a disk without any room: stored data is served, changes are refused with a reason, and
 * the service recovers by itself. The test needs its own file system.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const folder = await makeFolder()
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'fieldgate-test', folder], { stdio: 'ignore' })
const skip = mounted.status === 0 ? false : 'a file system can’t be mounted here (it takes root on Linux)'
const ballast = join(folder, 'ballast')

after(async () => {
  if (skip === false) spawnSync('umount', ['-l', folder], { stdio: 'ignore' })
  await rm(folder, { recursive: true, force: true })
})

/**
 * The start would write the indexes again: the log's first write could take the block that an old
 * index gives back.
 */
async function removeIndexes(dataDirectory: string): Promise<void> {
  const directory = join(dataDirectory, 'messages', 'log')
  const indexes = (await readdir(directory)).filter((name) => name.endsWith('.index'))
  assert.equal(indexes.length, 1)
  for (const name of indexes) await rm(join(directory, name))
}

async function fill(): Promise<void> {
  const file = await open(ballast, 'w')
  try {
    // More blocks than the file system has.
    for (let count = 0; count < 10_000; count += 1) await file.write(Buffer.alloc(4_096))
  } catch (error) {
    assert.ok(error instanceof Error && 'code' in error && error.code === 'ENOSPC')
  } finally {
    await file.close()
  }
}

function createOrganization(
  service: RunningService,
  name: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const json = { organization: { name, displayName: name, canHaveGateways: false } }
  return service.http.ask('POST', '/api/organizations', { token: service.adminSession, json })
}

test('a start on a full disk serves what is stored, and goes on when there is room', { skip }, async () => {
  const dataDirectory = join(folder, 'data')
  await mkdir(dataDirectory)
  const before = await startInProcess({ dataDirectory })
  await new Administration(before).organization()
  await before.stop()
  await removeIndexes(dataDirectory)
  await fill()

  const service = await startInProcess({ dataDirectory })
  const list = () => service.http.must('GET', '/api/organizations?limit=9', { token: service.adminSession })
  assert.equal((await list())['totalCount'], '1')
  const refused = await createOrganization(service, 'refused')
  assert.equal(refused.status, 503)
  assert.match(refused.text, /registry_full/)
  assert.equal((await service.http.ask('GET', '/api/internal/health')).status, 503)

  await rm(ballast)
  await within(
    (async () => {
      for (;;) if ((await service.http.ask('GET', '/api/internal/health')).status === 200) return
    })(),
    'the service to be healthy',
  )
  assert.equal((await createOrganization(service, 'taken')).status, 200)
  assert.equal((await list())['totalCount'], '2')
  await service.stop()
})
