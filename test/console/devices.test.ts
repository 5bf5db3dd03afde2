import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { within } from '../support/bounded-wait.ts'
import { launchBrowser, Window } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
import type { World } from './world.ts'

/** The number of stored events that the page asks for. */
const STORED_EVENTS = 500

/**
 * A script of the page: presses the arrow key for each row and answers the messages. Keys from
 * outside the browser take five times as long.
 */
const MESSAGES_DOWN_THE_LIST = `async (rows) => {
  const messages = []
  for (let row = 0; row < rows; row += 1) {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }))
    await new Promise((resolve) => setTimeout(resolve))
    messages.push(document.querySelector('[aria-label="Message as it came"]').textContent)
  }
  return messages
}`

let browser: Browser
let world: World

before(async () => {
  world = await startWorld({ furtherDevices: 3_000 })
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

test('one of thousands of devices is found by name or DevEUI, and pages are turned', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/devices', world.anna)
  await page.getByText('3,015 devices.').waitFor()
  await page.getByRole('button', { name: 'next page' }).click()
  await page.getByText('meter-00020').waitFor()
  const search = page.getByRole('textbox', { name: 'Search' })
  await search.fill('METER-02999')
  await page.getByText('One device.').waitFor()
  await search.fill(world.devices[10]?.devEui ?? '')
  await page.getByRole('link', { name: 'valve-north-main' }).waitFor()
  await search.fill('nothing is called so')
  await page.getByText('No device matches').waitFor()
  await window.assertAccessible('no device')
  window.assertQuiet()
  await window.close()
})

test('each device shows its state, and the list is filtered by it', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/devices', world.anna)
  await page.getByText('3,015 devices.').waitFor()
  await page.getByText('Never heard', { exact: true }).first().waitFor()
  await page
    .getByRole('textbox', { name: 'State' })
    .or(page.getByRole('combobox', { name: 'State' }))
    .first()
    .click()
  await page.getByRole('option', { name: 'Silent' }).click()
  await page.getByText('No device matches').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('state'), 'SILENT')
  await window.assertAccessible('no silent device')
  const numbers = page.getByRole('group', { name: 'Devices by state' })
  await numbers.getByRole('button', { name: '0 silent', pressed: true }).click()
  await page.getByText('3,015 devices.').waitFor()
  await numbers.getByRole('button', { name: '3,015 never heard' }).focus()
  await page.keyboard.press('Enter')
  await numbers.getByRole('button', { name: '3,015 never heard', pressed: true }).waitFor()
  assert.equal(new URL(page.url()).searchParams.get('state'), 'NEVER_HEARD')
  await window.assertLook('devices-by-state')
  window.assertQuiet()
  await window.close()
})

test('search and page stand in the address: the way back from a device, and the address itself, lead to the same rows', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/devices', world.anna)
  const search = page.getByRole('textbox', { name: 'Search' })
  const next = page.getByRole('button', { name: 'next page' })
  await page.getByText('3,015 devices.').waitFor()
  await next.click()
  await page.getByRole('link', { name: 'meter-00020' }).waitFor()
  // A search begins at the first page, and sends no other request before.
  const asked: string[] = []
  page.on('request', (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === '/api/devices') asked.push(`${searchParams.get('search')} from ${searchParams.get('offset')}`)
  })
  await search.fill('meter-010')
  await page.getByText('100 devices.').waitFor()
  assert.deepEqual(asked, ['meter-010 from 0'])
  await next.click()
  await page.getByRole('link', { name: 'meter-01030' }).click()
  await page.getByRole('heading', { name: 'meter-01030' }).waitFor()
  await page.goBack()
  await page.getByRole('link', { name: 'meter-01030' }).waitFor()
  assert.equal(await search.inputValue(), 'meter-010')
  await page.reload()
  await page.getByRole('link', { name: 'meter-01030' }).waitFor()
  await page.goto('/devices?search=meter-010&page=4000')
  await page.getByRole('link', { name: 'meter-01099' }).waitFor()
  await page.getByRole('button', { name: '4', exact: true, disabled: false }).waitFor()
  // Another organization has none of these devices.
  await page.getByRole('combobox', { name: 'Organization' }).click()
  await page.getByRole('option', { name: 'Harbour City' }).click()
  await page.getByText('No device yet').waitFor()
  assert.equal(new URL(page.url()).search, '')
  assert.equal(await search.inputValue(), '')
  window.assertQuiet()
  await window.close()
})

test('columns keep their places from page to page and from search to search', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/devices', world.anna)
  const places = async (): Promise<readonly unknown[]> => {
    const boxes = await Promise.all((await page.getByRole('columnheader').all()).map((column) => column.boundingBox()))
    return boxes.map((box) => [box?.x, box?.width])
  }
  await page.getByText('3,015 devices.').waitFor()
  const first = await places()
  assert.equal(first.length, 6)
  await page.getByRole('textbox', { name: 'Search' }).fill('meter-02')
  await page.getByText('1,000 devices.').waitFor()
  assert.deepEqual(await places(), first)
  await window.close()
})

test('a device’s page draws its signal and its values as uplinks come', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const device = world.devices[0]
  assert.ok(device !== undefined)
  await window.enter(`/devices/${device.devEui}`, world.anna)
  await page.getByText('Connected', { exact: true }).waitFor()
  for (let fCnt = 0; fCnt < 5; fCnt += 1) await world.publish(device, 'up', climateUplink(fCnt))
  await page.getByRole('img', { name: 'RSSI and SNR over time' }).locator('canvas').waitFor()
  await page.getByRole('img', { name: 'temperatureSensor over time' }).locator('canvas').waitFor()
  await page.getByRole('combobox', { name: 'Value' }).click()
  await page.getByRole('option', { name: 'humiditySensor' }).click()
  await page.getByRole('img', { name: 'humiditySensor over time' }).waitFor()
  window.assertQuiet()
  await window.close()
})

test('a device’s page draws its history over a day, a week and all stored events', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const device = world.devices[1]
  assert.ok(device !== undefined)
  for (const fCnt of [1, 2, 5, 6]) await world.publish(device, 'up', climateUplink(fCnt))
  await window.enter(`/devices/${device.devEui}`, world.anna)
  for (const span of ['24 hours', '7 days', 'All']) {
    await page.getByText(span, { exact: true }).click()
    for (const name of ['RSSI', 'SNR', 'Lost uplinks and spreading factor', 'humiditySensor.2']) {
      await page
        .getByRole('img', { name: `${name} over time` })
        .locator('canvas')
        .waitFor()
    }
  }
  await page.getByRole('combobox', { name: 'Value' }).click()
  await page.getByRole('option', { name: 'temperatureSensor.1' }).click()
  await page.getByRole('img', { name: 'temperatureSensor.1 over time' }).waitFor()
  await window.assertAccessible('history of a device')
  window.assertQuiet()
  await window.close()
})

test('a command is sent as hex, and its fate told from the broker’s answer to the device’s acknowledgement', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const device = world.devices[10]
  assert.ok(device !== undefined)
  await window.enter(`/devices/${device.devEui}`, world.anna)
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.getByLabel('Bytes').fill('01 02 f')
  await page.getByText('Two hexadecimal digits for each byte').waitFor()
  await page.getByLabel('Bytes').fill('01 02 ff')
  await page.getByLabel('Confirmed').check()
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('The service took it.').waitFor()
  const received = await within(world.commands.next(), 'the command')
  const command = JSON.parse(String(received.value?.text)) as Record<string, unknown>
  assert.deepEqual([command['confirmed'], command['fPort'], command['data']], [true, 10, 'AQL/'])
  await world.publish(device, 'txack', { fCnt: 3, gatewayID: '00005eef20000001' })
  await page.getByText('A gateway sent it, frame 3.').waitFor()
  await world.publish(device, 'ack', { fCnt: 3, acknowledged: true })
  await page.getByText('The device acknowledged it.').waitFor()
  await page.getByText('acknowledged', { exact: true }).waitFor()
  window.assertQuiet()
  await window.close()
})

test('a command that the service refuses is told with the service’s own reason', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter(`/devices/${world.devices[11]?.devEui}`, world.anna)
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.getByText('Base64', { exact: true }).click()
  await page.getByLabel('Bytes').fill(Buffer.alloc(300).toString('base64'))
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText(/^Refused \(0x[0-9a-f]{2}\): .*242/).waitFor()
  await page.getByText('No command in the last day').waitFor()
  await window.close()
})

test('a device of nobody, or of somebody else, is told apart from a fault', async () => {
  const window = await Window.open(browser, world.service.https)
  await window.enter('/devices/ffffffffffffffff', world.anna)
  await window.page.getByText('This does not exist, or you have no role in its organization.').waitFor()
  await window.close()
})

test('earlier events are there when the page opens, without a gap and without a double', async () => {
  const device = world.devices[5]
  assert.ok(device !== undefined)
  for (let fCnt = 0; fCnt < 20; fCnt += 1) await world.publish(device, 'up', climateUplink(fCnt))
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  // Events keep coming while the page opens: some are stored, some live, and some both.
  let isOpening = true
  const publishing = (async () => {
    let fCnt = 20
    // oxlint-disable-next-line no-unmodified-loop-condition -- it is, while this awaits
    for (; isOpening && fCnt < 5_000; fCnt += 1) await world.publish(device, 'up', climateUplink(fCnt))
    return fCnt
  })()
  await window.enter(`/devices/${device.devEui}`, world.anna)
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.getByRole('option').first().waitFor()
  isOpening = false
  const published = await publishing
  // When this event is drawn, all events before it are. The keyboard begins at it.
  await world.publish(device, 'join', { devAddr: '00c0ffee' })
  await page.getByText('joined as 00c0ffee').waitFor()
  await page.getByRole('listbox').focus()
  await page.keyboard.press('ArrowDown')
  const rows = Math.min(published, STORED_EVENTS)
  const texts = (await page.evaluate(`(${MESSAGES_DOWN_THE_LIST})(${rows})`)) as readonly string[]
  const frames = texts.map((text) => (JSON.parse(text) as { fCnt: number }).fCnt)
  assert.deepEqual(
    frames,
    Array.from({ length: rows }, (_, index) => published - 1 - index),
  )
  await window.close()
})
