/** The pages that a build brings along: the built program finds them beside itself. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { makeFolder, startAsProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let folder: string
let service: RunningService

before(async () => {
  folder = await makeFolder()
  service = await startAsProcess(folder, { FIELDGATE_LOG_LEVEL: 'warn' })
})

after(async () => {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

for (const [path, content] of [
  ['/', '<div id="root">'],
  ['/docs', 'Fieldgate'],
  ['/docs/lifecycle', 'CONNECT'],
  ['/api/docs', 'openapi'],
] as const) {
  test(`the built program serves ${path}`, async () => {
    const { status, text } = await service.http.ask('GET', path, { headers: { accept: 'text/html' } })
    assert.equal(status, 200, text.slice(0, 200))
    assert.ok(text.includes(content), text.slice(0, 400))
  })
}
