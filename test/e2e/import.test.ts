/**
 * The import of devices over a real socket: the service has read the whole body long before it
 * writes the last row.
 */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { Administration } from '../support/administration.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let service: RunningService
let applicationId: string

before(async () => {
  service = await startInProcess()
  const administration = new Administration(service)
  const { id: organizationId } = await administration.must('POST', '/api/organizations', {
    organization: { name: 'import', displayName: 'Import' },
  })
  const application = { name: 'import', description: '', organizationID: organizationId, serviceProfileID: '' }
  const { id } = await administration.must('POST', '/api/applications', { application })
  applicationId = String(id)
})

after(async () => {
  await service.stop()
})

describe('an import over HTTPS', () => {
  let next = 0
  for (const rows of [1, 2, 3000]) {
    for (const type of ['text/csv', 'application/x-ndjson']) {
      it(`creates all of ${rows} rows of ${type}`, async () => {
        const devEuis = Array.from({ length: rows }, () => (next += 1).toString(16).padStart(16, '0'))
        const lines =
          type === 'text/csv'
            ? ['devEui,name', ...devEuis.map((devEui) => `${devEui},device ${devEui}`)]
            : devEuis.map((devEui) => JSON.stringify({ devEUI: devEui, name: `device ${devEui}` }))
        const answer = await service.http.ask('POST', `/api/devices/import?applicationID=${applicationId}`, {
          token: service.adminSession,
          headers: { 'content-type': type },
          bytes: `${lines.join('\n')}\n`,
        })
        assert.equal(answer.status, 200, answer.text)
        assert.deepEqual([answer.body['isComplete'], answer.body['createdCount']], [true, String(rows)])
      })
    }
  }
})
