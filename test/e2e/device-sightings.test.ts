/**
 * The list of devices shows the facts from the devices' events, and keeps them over a restart of
 * the process.
 */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, it } from 'node:test'
import { connectAsync } from 'mqtt'
import { Administration } from '../support/administration.ts'
import { makeFolder, startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

let folder: string
before(async () => {
  folder = await makeFolder()
})
after(() => rm(folder, { recursive: true, force: true }))

const start = (): Promise<RunningService> => startInProcess({ environment: { FIELDGATE_DATA_DIR: folder } })

async function deviceOf(service: RunningService, applicationId: string): Promise<Record<string, unknown>> {
  const path = `/api/devices?limit=10&applicationID=${applicationId}`
  const { result } = await service.http.must('GET', path, { token: service.adminSession })
  const [device] = result as Record<string, unknown>[]
  assert.ok(device !== undefined)
  return device
}

/**
 * Publishes these events of the device as a network server, and waits until the broker owns them.
 */
async function publish(service: RunningService, topics: string, events: Readonly<Record<string, object>>) {
  const { userName: username, password } = await new Administration(service).serviceCredential('')
  const client = await connectAsync(`mqtts://localhost:${service.mqttsPort}`, { ca: service.ca, username, password })
  for (const [kind, event] of Object.entries(events)) {
    await client.publishAsync(`${topics}/${kind}`, JSON.stringify(event), { qos: 1 })
  }
  await client.endAsync()
}

it('a device’s last sign of life, battery and margin are listed after its events, also by the next process', async () => {
  const first = await start()
  const administration = new Administration(first)
  const applicationId = await administration.application(await administration.organization())
  const devEui = await administration.device(applicationId)
  const unseen = await deviceOf(first, applicationId)
  assert.deepEqual(
    [unseen['lastSeenAt'], unseen['deviceStatusBatteryLevel'], unseen['deviceStatusMargin']],
    [null, null, null],
  )
  const beganAtMs = Date.now()
  await publish(first, `application/${applicationId}/device/${devEui}/event`, {
    status: { margin: -7, batteryLevel: 81.5, batteryLevelUnavailable: false, externalPowerSource: false },
    up: { fCnt: 1, fPort: 2, data: 'AQID' },
  })
  await first.stop()

  const second = await start()
  const seen = await deviceOf(second, applicationId)
  await second.stop()
  const seenAtMs = Date.parse(String(seen['lastSeenAt']))
  assert.ok(seenAtMs >= beganAtMs && seenAtMs <= Date.now(), String(seen['lastSeenAt']))
  assert.deepEqual([seen['deviceStatusBatteryLevel'], seen['deviceStatusMargin']], [81.5, -7])
})
