/** SIGTERM ends the service in order and in time, even if its peers do not cooperate. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { test } from 'node:test'
import { Crowd, SilentGrpc } from '../support/crowd.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'

/** Docker kills a container that has not stopped after this time. */
const END_MS = 10_000

test('SIGTERM under silent, half-open, slow, busy and many connections ends the service within 10 s, in order', async (t) => {
  const folder = await makeFolder()
  const { grpc, file } = await SilentGrpc.open(folder)
  const service = await startAsProcess(folder, {
    FIELDGATE_LOG_LEVEL: 'warn',
    FIELDGATE_NETWORK_SERVERS_FILE: file,
  })
  let crowd: Crowd | undefined
  try {
    crowd = await Crowd.open(service, 100)
    const startedMs = performance.now()
    service.program.signal('SIGTERM')
    const { code, stderr } = await service.program.ended(END_MS)
    assert.equal(code, 0, stderr)
    t.diagnostic(`ended after ${Math.round(performance.now() - startedMs)} ms`)
    const errors = stderr.split('\n').filter((line) => /"level":"?(error|fatal|50|60)/.test(line))
    assert.deepEqual(errors, [])
  } finally {
    crowd?.close()
    await service.stop()
    grpc.close()
    await rm(folder, { recursive: true, force: true })
  }
})
