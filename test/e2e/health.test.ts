/** `fieldgate health`, for containers and scripts: its exit code is the answer. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runProgram } from '../support/program.ts'
import { FIELDGATE, makeFolder, startAsProcess } from '../support/running-service.ts'

const health = (dataDirectory: string) =>
  runProgram(process.execPath, [FIELDGATE, 'health'], {
    environment: { FIELDGATE_DATA_DIR: dataDirectory },
    ms: 30_000,
  })

test('fieldgate health tells by its exit code whether the service is ready', async () => {
  const folder = await makeFolder()
  try {
    const before = await health(join(folder, 'nowhere'))
    assert.equal(before.code, 1)
    assert.match(before.stderr, /^fieldgate: No service runs on \S+nowhere\.\n$/)
    const service = await startAsProcess(folder)
    const running = await health(service.dataDirectory)
    assert.deepEqual([running.code, running.stdout, running.stderr], [0, 'ready\n', ''])
    service.program.signal('SIGKILL')
    await service.program.ended()
    const killed = await health(service.dataDirectory)
    assert.equal(killed.code, 1)
    assert.match(killed.stderr, /No service runs on/)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
