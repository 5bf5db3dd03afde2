import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser, Window } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
import type { World } from './world.ts'

/**
 * The load that the console must bear. The test takes 10 s of it; FIELDGATE_LIVE_SECONDS=60 makes
 * it the whole run.
 */
const EVENTS_PER_SECOND = 200
const SECONDS = Number(process.env['FIELDGATE_LIVE_SECONDS'] ?? 10)
/**
 * The page draws its list this often. The events of the next drawing are published when those of
 * the previous one are shown.
 */
const DRAWINGS_PER_SECOND = 10
const EVENTS_OF_A_DRAWING = EVENTS_PER_SECOND / DRAWINGS_PER_SECOND
/** Events before the heap is measured. The page keeps 2,000, so its ring is full then. */
const FILLING_EVENTS = 2_200
/**
 * The allowed growth of the heap between the first and the last third of the run. The ring is full
 * then, so nothing should grow.
 */
const ALLOWED_GROWTH_BYTES = 8_000_000

let browser: Browser
let world: World

before(async () => {
  world = await startWorld()
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

async function openLive(): Promise<Window> {
  const window = await Window.open(browser, world.service.https)
  await window.enter('/live', world.anna)
  await window.page.getByText('Connected', { exact: true }).waitFor()
  return window
}

/** A device of the world, which has more devices than any test asks for. */
function device(index: number): World['devices'][number] {
  const found = world.devices[index]
  assert.ok(found !== undefined)
  return found
}

test('events appear as they come, with values and bytes of the chosen one side by side', async () => {
  const window = await openLive()
  const { page } = window
  await world.publish(device(0), 'up', climateUplink(7))
  await page.getByRole('option').filter({ hasText: 'climate-pump-house-1' }).click()
  const values = page.getByRole('table', { name: 'Decoded values' })
  await values.getByText('temperatureSensor').waitFor()
  await page.getByLabel('Hexadecimal', { exact: true }).getByText('01 67 00').waitFor()
  await page.getByText('Base64', { exact: true }).click()
  const base64 = (climateUplink(7) as { data: string }).data
  await page.getByLabel('Base64', { exact: true }).getByText(base64).waitFor()
  window.assertQuiet()
  await window.close()
})

test('filters by kind and device, and a pause, change what is shown and lose nothing', async () => {
  const window = await openLive()
  const { page } = window
  await page.getByRole('option').first().waitFor()
  await page.getByRole('button', { name: 'Clear' }).click()
  await world.publish(device(0), 'up', climateUplink(1))
  await world.publish(device(4), 'status', { margin: 7, externalPowerSource: false, batteryLevel: 64 })
  await page.getByRole('option').nth(1).waitFor()
  await page.locator('label').filter({ hasText: 'status' }).click()
  await page.getByRole('option').nth(1).waitFor({ state: 'detached' })
  await page.getByText('battery 64 %').waitFor()
  assert.equal(await page.getByRole('option').count(), 1)
  await page.locator('label').filter({ hasText: 'status' }).click()
  await page.getByRole('option').nth(1).waitFor()
  await page.getByLabel('Device').fill(device(0).devEui)
  await page.getByRole('option').nth(1).waitFor({ state: 'detached' })
  await page.getByRole('option').filter({ hasText: 'climate-pump-house-1' }).waitFor()
  assert.equal(await page.getByRole('option').count(), 1)
  await page.getByLabel('Device').fill('')
  await page.getByRole('button', { name: 'Pause' }).click()
  await world.publish(device(1), 'join', { devAddr: '01ab34ef' })
  await page.getByText('3 received').waitFor()
  assert.equal(await page.getByRole('option').count(), 2)
  await page.getByRole('button', { name: 'Go on' }).click()
  await page.getByText('joined as 01ab34ef').waitFor()
  await window.close()
})

test('the list is read by the keyboard, and stays in place while newer events come', async () => {
  const window = await openLive()
  const { page } = window
  for (let fCnt = 0; fCnt < 100; fCnt += 1) await world.publish(device(0), 'up', climateUplink(fCnt))
  await page.getByText('100 received').waitFor()
  const list = page.getByRole('listbox')
  await list.focus()
  for (let step = 0; step < 40; step += 1) await page.keyboard.press('ArrowDown')
  const chosen = page.getByRole('option', { selected: true })
  const placeBefore = await chosen.boundingBox()
  const wordsBefore = await chosen.textContent()
  for (let fCnt = 0; fCnt < 30; fCnt += 1) await world.publish(device(1), 'up', climateUplink(fCnt))
  await page.getByText('130 received').waitFor()
  assert.equal(await chosen.textContent(), wordsBefore)
  assert.deepEqual(await chosen.boundingBox(), placeBefore)
  await window.close()
})

test('a lost connection is told, made again by itself, and events go on', async () => {
  const window = await openLive()
  const { page } = window
  const tokens = await world.service.http.must('GET', `/api/broker-tokens?organizationID=${world.organizationId}`, {
    token: world.service.adminSession,
  })
  for (const { id } of tokens['result'] as { id: string }[]) {
    await world.service.http.must('DELETE', `/api/broker-tokens/${id}`, { token: world.service.adminSession })
  }
  await page.getByText('Reconnecting …').waitFor()
  await page.getByText('Connected', { exact: true }).waitFor()
  await world.publish(device(2), 'join', { devAddr: '0badcafe' })
  await page.getByText('joined as 0badcafe').waitFor()
  await window.close()
})

test('a browser is a client like any other over WSS: the same token, permit and refusals', async () => {
  const window = await openLive()
  const { page } = window
  const tokenOf = (session: string) =>
    world.service.http.must('POST', '/api/mosquitto-auth/login', {
      token: session,
      json: { organizationId: world.organizationId, ttlInSeconds: '60' },
    })
  const { jwtMqttAuth } = await tokenOf(world.service.adminSession)
  // The page's MQTT library is not in its global scope, so the test writes the bytes of MQTT 3.1.1
  // itself.
  const speak = `async (token) => {
    const text = (value) => { const bytes = new TextEncoder().encode(value); return [bytes.length >> 8, bytes.length & 255, ...bytes] }
    const packet = (first, body) => {
      const length = []
      for (let left = body.length; ; left >>= 7) { length.push((left & 127) | (left > 127 ? 128 : 0)); if (left <= 127) break }
      return new Uint8Array([first, ...length, ...body])
    }
    const socket = new WebSocket('wss://' + location.host + '/mqtt', 'mqtt')
    socket.binaryType = 'arraybuffer'
    await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject })
    const answer = () => new Promise((resolve) => { socket.onmessage = ({ data }) => resolve([...new Uint8Array(data)]) })
    const ask = (bytes) => { const answered = answer(); socket.send(bytes); return answered }
    const connack = await ask(packet(0x10, [...text('MQTT'), 4, 0xc2, 0, 60, ...text('raw'), ...text(token), ...text('default')]))
    const own = await ask(packet(0x82, [0, 1, ...text('application/${world.applicationId}/device/+/event/+'), 1]))
    const all = await ask(packet(0x82, [0, 2, ...text('#'), 1]))
    socket.close()
    return { connack, own, all }
  }`
  const answers = await page.evaluate(`(${speak})(${JSON.stringify(jwtMqttAuth)})`)
  assert.deepEqual(answers, { connack: [0x20, 2, 0, 0], own: [0x90, 3, 0, 1, 1], all: [0x90, 3, 0, 2, 0x80] })
  window.assertQuiet()
  await window.close()
})

test(`${EVENTS_PER_SECOND} events a second for ${SECONDS} s leave the page at ease`, async (context) => {
  const window = await openLive()
  const { page } = window
  const debuggerOf = await window.context.newCDPSession(page)
  await debuggerOf.send('HeapProfiler.enable')
  const heapBytes = async (): Promise<number> => {
    await debuggerOf.send('HeapProfiler.collectGarbage')
    return (await debuggerOf.send('Runtime.getHeapUsage')).usedSize
  }
  const heaps: number[] = []
  const shown = async (events: number): Promise<void> =>
    page.getByText(`${events.toLocaleString('en')} received`).waitFor()
  for (let sent = 0; sent < FILLING_EVENTS; sent += EVENTS_PER_SECOND) await publishMany(EVENTS_PER_SECOND)
  await shown(FILLING_EVENTS)
  const total = SECONDS * EVENTS_PER_SECOND
  for (let sent = 0; sent < total; sent += EVENTS_OF_A_DRAWING) {
    await publishMany(EVENTS_OF_A_DRAWING)
    await shown(FILLING_EVENTS + sent + EVENTS_OF_A_DRAWING)
    if (sent % (EVENTS_PER_SECOND * 2) === 0) heaps.push(await heapBytes())
  }
  const third = Math.max(1, Math.floor(heaps.length / 3))
  const growth = mean(heaps.slice(-third)) - mean(heaps.slice(0, third))
  context.diagnostic(
    `heap ${(mean(heaps) / 1e6).toFixed(1)} MB, growth ${(growth / 1e6).toFixed(2)} MB over ${total} events`,
  )
  assert.ok(growth < ALLOWED_GROWTH_BYTES, `the heap grew by ${growth} bytes`)
  // The page still responds.
  await page.getByRole('button', { name: 'Clear' }).click()
  await page.getByText('Waiting for the first event').waitFor()
  await window.close()
})

function mean(values: readonly number[]): number {
  return values.reduce((sum, one) => sum + one, 0) / values.length
}

async function publishMany(count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, (_, index) => world.publish(device(index % 10), 'up', climateUplink(index))),
  )
}
