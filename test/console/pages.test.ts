/**
 * Every page in pictures, and the rules for all pages: WCAG, the bound on script, no request to
 * another origin, no complaint.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { chooseFile, launchBrowser, LOOKS, Window } from './browser.ts'
import type { Look } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
import type { World } from './world.ts'

/** The most script before the first page can be used, in bytes with gzip. */
const FIRST_LOAD_BYTES = 300_000
/**
 * The longest time from the request for the address to a page that answers. The machine does other
 * things besides.
 */
const INTERACTIVE_MS = 2_000

let browser: Browser
let world: World

before(async () => {
  world = await startWorld({ furtherDevices: 200 })
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

/** `--mantine-color-body` of the dark look. */
const DARK_BACKGROUND = 'rgb(20, 24, 26)'

/** A table of which two rows are new and two are wrong. */
const TABLE = {
  name: 'meters.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(
    'devEUI,name\n00005eef10aa0001,meter-1\nnonsense,meter-2\n00005eef10aa0003,meter-3\n00005eef10000000,meter-4\n',
  ),
}

/** Opens each page and brings it into the state that is judged. */
const PAGES: Readonly<Record<string, (window: Window) => Promise<void>>> = {
  connect: async ({ page }) => {
    await page.goto('/connect')
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByRole('tab', { name: 'mosquitto' }).waitFor()
  },
  live: async ({ page }) => {
    await page.goto('/live')
    await page.getByText('Connected', { exact: true }).waitFor()
    await someEvents()
    const event = page.getByRole('option').filter({ hasText: 'temperature' }).first()
    await event.waitFor()
    // New events would move the list below the pointer.
    await page.getByRole('button', { name: 'Pause' }).click()
    await event.click()
    await page.getByRole('table', { name: 'Decoded values' }).waitFor()
  },
  devices: async ({ page }) => {
    await page.goto('/devices')
    await page.getByText('climate-pump-house-1').waitFor()
  },
  device: async ({ page }) => {
    const device = deviceAt(0)
    await page.goto(`/devices/${device.devEui}`)
    await page.getByText('Connected', { exact: true }).waitFor()
    await Promise.all(Array.from({ length: 24 }, (_, fCnt) => world.publish(device, 'up', climateUplink(fCnt))))
    await page.getByRole('img', { name: 'RSSI and SNR over time' }).locator('canvas').waitFor()
  },
  why: async ({ page }) => {
    await page.goto(`/why?about=${deviceAt(1).devEui.toUpperCase()}`)
    await page.getByText('The way from the device to the client').waitFor()
  },
  codecs: async ({ page }) => {
    await page.goto('/codecs')
    await page.getByText('JavaScript', { exact: true }).click()
    await page.getByRole('textbox', { name: 'Decoder script' }).waitFor()
    await page.getByRole('button', { name: 'Try' }).click()
    await page.getByLabel('Values', { exact: true }).waitFor()
  },
  applications: async ({ page }) => {
    await page.goto('/applications')
    await page.getByText('water-network', { exact: true }).waitFor()
  },
  'new-device': async ({ page }) => {
    await page.goto('/devices')
    await page.getByRole('button', { name: 'New device' }).click()
    await page.getByRole('button', { name: 'Add a tag' }).click()
    await page.getByLabel('Name of tag 1').waitFor()
  },
  import: async ({ page }) => {
    await page.goto('/import')
    await chooseFile(page, TABLE)
    await page.getByRole('button', { name: 'Create 2 devices' }).waitFor()
  },
  members: async ({ page }) => {
    await page.goto('/members')
    await page.getByText('you', { exact: true }).waitFor()
  },
  'network-servers': async ({ page }) => {
    await page.goto('/network-servers')
    await page.getByRole('button', { name: /^Revoke/ }).waitFor()
  },
  organizations: async ({ page }) => {
    await page.goto('/organizations')
    await page.getByRole('button', { name: 'Switch to Harbour City' }).waitFor()
  },
  'audit-log': async ({ page }) => {
    await page.goto('/audit-log')
    await page.getByText('Application created').first().waitFor()
  },
  account: async ({ page }) => {
    await page.goto('/account')
    await page.getByRole('button', { name: 'Set up' }).click()
    await page.getByAltText('QR code with the key').waitFor()
  },
}

const KINDS = ['up', 'join', 'ack', 'txack', 'status', 'location', 'error'] as const
/** A script of the page: the texts of kinds and names that are cut. */
const CUT = `[...document.querySelectorAll('[role=option] [class*=device], [role=option] [class*=Badge-label]')]
  .filter((one) => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().width === 0)
  .map((one) => one.textContent)`

function deviceAt(index: number): World['devices'][number] {
  const found = world.devices[index]
  assert.ok(found !== undefined)
  return found
}

async function someEvents(): Promise<void> {
  for (let fCnt = 0; fCnt < 20; fCnt += 1) await world.publish(deviceAt(fCnt % 3), 'up', climateUplink(fCnt))
  await world.publish(deviceAt(3), 'status', { margin: 7, externalPowerSource: false, batteryLevel: 64 })
  await world.publish(deviceAt(1), 'join', { devAddr: '01ab34ef' })
  await world.publish(deviceAt(2), 'error', { type: 'DOWNLINK_PAYLOAD_SIZE', error: 'payload is too large', fCnt: 12 })
  await world.publish(deviceAt(1), 'txack', { fCnt: 4, gatewayID: '00005eef20000001' })
  await world.publish(deviceAt(2), 'up', climateUplink(21))
}

for (const look of LOOKS) {
  test(`every page passes axe, looks as its picture shows and never scrolls sideways, ${look}`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    await window.page.goto('/connect')
    await window.page.getByLabel('User name').waitFor()
    await window.assertLook('sign-in')
    await window.enter('/connect', world.anna)
    for (const [name, show] of Object.entries(PAGES)) {
      await show(window)
      assert.equal(await window.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, name)
      await window.assertLook(name)
    }
    window.assertQuiet()
    await window.close()
  })
}

test('a system with dark colours gets dark pages from the first one', async () => {
  const window = await Window.open(browser, world.service.https, 'dark')
  const { page } = window
  await page.goto('/devices')
  await page.getByLabel('User name').waitFor()
  const background = `getComputedStyle(document.body).backgroundColor`
  assert.equal(await page.evaluate(background), DARK_BACKGROUND)
  await window.enter('/devices', world.anna)
  await page.getByText('climate-pump-house-1').waitFor()
  assert.equal(await page.evaluate(background), DARK_BACKGROUND)
  window.assertQuiet()
  await window.close()
})

test('on a phone the navigation opens by a button, and closes when a page is chosen', async () => {
  const window = await Window.open(browser, world.service.https, 'phone')
  const { page } = window
  await window.enter('/connect', world.anna)
  await page.getByRole('button', { name: 'Navigation' }).click()
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByRole('heading', { name: 'Live' }).waitFor()
  await window.close()
})

test('the way from the address to the content goes by the keyboard alone', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await page.goto('/devices')
  await page.getByLabel('User name').waitFor()
  await page.keyboard.type('anna')
  await page.keyboard.press('Tab')
  await page.keyboard.type(world.anna.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  await page.getByText('climate-pump-house-1').waitFor()
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content')
  await page.keyboard.press('Enter')
  await page.keyboard.press('Tab')
  assert.equal(await page.evaluate('document.activeElement.textContent'), 'Export')
  await window.close()
})

test('the first page takes less than 300 kB of script and answers within two seconds', async (context) => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/connect', world.anna)
  const scripts = new Set<string>()
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') scripts.add(response.url())
  })
  const startMs = Date.now()
  await page.reload()
  await page.getByRole('button', { name: 'Create token' }).waitFor()
  const interactiveMs = Date.now() - startMs
  let bytes = 0
  for (const url of scripts) {
    const { headers } = await world.service.http.ask('GET', new URL(url).pathname, {
      headers: { 'accept-encoding': 'gzip' },
    })
    assert.match(String(headers['cache-control']), /immutable/)
    bytes += Number(headers['content-length'])
  }
  context.diagnostic(
    `first load ${(bytes / 1000).toFixed(0)} kB of script in ${scripts.size} files, interactive after ${interactiveMs} ms`,
  )
  assert.ok(scripts.size > 0 && bytes < FIRST_LOAD_BYTES, `${bytes} bytes`)
  assert.ok(interactiveMs < INTERACTIVE_MS, `${interactiveMs} ms`)
  await window.close()
})

test('who asked for less motion sees a button that can be pressed as such at once', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/connect', world.anna)
  await page.getByRole('button', { name: 'Create token' }).waitFor()
  const looks = (await page.evaluate(`(() => {
    const button = document.querySelector('button[type=submit]')
    const seen = () => getComputedStyle(button).backgroundColor
    const able = seen()
    button.disabled = true
    const unable = seen()
    button.disabled = false
    return { able, unable, ableAgain: seen() }
  })()`)) as Record<'able' | 'unable' | 'ableAgain', string>
  assert.notEqual(looks.unable, looks.able)
  assert.equal(looks.ableAgain, looks.able)
  await window.close()
})

test('an unknown page says so, and leads on', async () => {
  const window = await Window.open(browser, world.service.https)
  await window.enter('/no/such/page', world.anna)
  await window.page.getByText('There is no such page').waitFor()
  await window.assertAccessible('unknown page')
  await window.close()
})

test('kinds of events and names of devices are whole at 1440 pixels, on a tablet and on a phone', async () => {
  for (const device of world.devices) await world.publish(device, 'up', climateUplink(1))
  for (const kind of KINDS) await world.publish(deviceAt(0), kind, {})
  for (const [look, width, height] of [
    ['light', 1440, 900],
    ['light', 820, 1180],
    ['phone', 390, 844],
  ] as const satisfies readonly (readonly [Look, number, number])[]) {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await page.setViewportSize({ width, height })
    await window.enter('/live', world.anna)
    await page.getByRole('option').filter({ hasText: 'location' }).waitFor()
    assert.deepEqual(await page.evaluate(CUT), [], `${width} pixels`)
    await window.assertLook(`live-${width}`)
    await window.close()
  }
})

test('a long name of an application breaks instead of running over its neighbour', async () => {
  const administration = new Administration(world.service)
  const name = 'a'.repeat(100)
  const applicationID = await administration.application(world.organizationId, { name })
  const devEUI = '00005eef10dd0001'
  await administration.must('POST', '/api/devices', { device: { devEUI, name: 'long', applicationID } })
  for (const look of ['light', 'phone'] as const) {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await window.enter(`/devices/${devEUI}`, world.anna)
    const told = page.getByText(name)
    await told.waitFor()
    assert.equal(await told.evaluate((one) => one.scrollWidth <= one.clientWidth), true)
    await window.picture(`device-long-${look}`)
    await window.close()
  }
})
