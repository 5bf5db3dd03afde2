/**
 * The running broker in the console: connections, refusals, the status, and the clients of a new
 * token.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connect, connectAsync } from 'mqtt'
import type { IClientOptions, MqttClient } from 'mqtt'
import type { Browser } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import type { Look } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
import type { World } from './world.ts'

let browser: Browser
let world: World
let administration: Administration
let token: string
const clients: MqttClient[] = []

before(async () => {
  world = await startWorld()
  browser = await launchBrowser()
  administration = new Administration(world.service)
  const session = await administration.login(world.anna.userName, world.anna.password)
  token = await administration.brokerToken(session, world.organizationId)
  const dashboard = await client({ clientId: 'dashboard-control-room' })
  await dashboard.subscribeAsync(`application/${world.applicationId}/device/+/event/+`, { qos: 1 })
  const archive = await client({ clientId: 'archive', protocolVersion: 4, keepalive: 0 })
  for (const { devEui } of world.devices.slice(0, 4))
    await archive.subscribeAsync(`application/${world.applicationId}/device/${devEui}/event/up`)
  const [first] = world.devices
  assert.ok(first !== undefined)
  for (let fCnt = 0; fCnt < 30; fCnt += 1) await world.publish(first, 'up', climateUplink(fCnt))
  // The page shows the refusal of each of these.
  await dashboard.subscribeAsync('application/+/device/+/event/up').catch(() => undefined)
  await refused({ clientId: 'meter-import', password: 'secret' })
  const revoked = await administration.brokerToken(session, world.organizationId)
  await administration.revokeToken(revoked)
  for (let time = 0; time < 3; time += 1) await refused({ clientId: 'old-script', username: revoked })
  await refused({ clientId: 'guessing', username: 'not.a.token' })
})

after(async () => {
  for (const one of clients) one.end(true)
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

function options(given: IClientOptions): IClientOptions {
  const { ca } = world.service
  return { ca, username: token, password: 'default', protocolVersion: 5, reconnectPeriod: 0, ...given }
}

function address(): string {
  return `mqtts://localhost:${world.service.mqttsPort}`
}

async function client(given: IClientOptions): Promise<MqttClient> {
  const connected = await connectAsync(address(), options(given))
  clients.push(connected)
  return connected
}

function closing(one: MqttClient): Promise<void> {
  return new Promise((resolve) => one.once('close', () => resolve()))
}

/** Resolves when the broker has closed the connection. */
async function refused(given: IClientOptions): Promise<void> {
  const trying = connect(address(), options(given))
  trying.on('error', () => undefined)
  await within(closing(trying), 'the refusal')
  trying.end(true)
}

async function open(path: string, who: 'anna' | 'admin', look: Look = 'light'): Promise<Window> {
  const window = await Window.open(browser, world.service.https, look)
  await window.enter(path, world[who])
  return window
}

for (const look of LOOKS) {
  test(`connections, refusals and status pass axe and look as their pictures show, ${look}`, async () => {
    const window = await open('/connections', 'admin', look)
    const { page } = window
    await page.getByRole('combobox', { name: 'Organization' }).click()
    await page.getByRole('option', { name: 'Alpine Valley Water' }).click()
    const pages: readonly (readonly [string, string])[] = [
      ['connections', 'dashboard-control-room'],
      ['refusals', 'Connection refused'],
      ['status', 'Stored messages'],
    ]
    for (const [name, text] of pages) {
      await page.goto(`/${name}`)
      await page.getByText(text).first().waitFor()
      if (name === 'status')
        await page
          .getByRole('img', { name: /^Messages a second/ })
          .locator('canvas')
          .waitFor()
      await window.assertLook(name)
      assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, name)
    }
    window.assertQuiet()
    await window.close()
  })
}

test('a connection shows its details, and is ended after a question', async () => {
  const runaway = await client({ clientId: 'runaway' })
  const window = await open('/connections', 'anna')
  const { page } = window
  await page.getByRole('textbox', { name: /^Search/ }).fill('runaway')
  await page.getByRole('button', { name: 'Details of runaway' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('It subscribes to nothing.').waitFor()
  await window.assertAccessible('details of a connection')
  await window.picture('connection-details')
  await dialog.getByRole('button', { name: 'Close' }).click()
  const ended = closing(runaway)
  await page.getByRole('button', { name: 'Disconnect runaway' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click()
  await within(ended, 'the end of the connection')
  await page.getByText('No client is connected').waitFor()
  window.assertQuiet()
  await window.close()
})

test('refusals say why and what to do, how often, and are searched', async () => {
  const window = await open('/refusals', 'anna')
  const { page } = window
  const row = page.getByRole('row').filter({ hasText: 'old-script' })
  await row.getByText('it was revoked, or an older backup of the service was restored').waitFor()
  await row.getByText('3 times').waitFor()
  await row.getByText('Create a new one on the page Connect').waitFor()
  await page.getByRole('button', { name: 'Topics not granted' }).click()
  await page.getByText('Subscription refused').waitFor()
  const explained = page.getByRole('link', { name: 'What subscribe_wildcard_not_granted means' }).first()
  assert.equal(await explained.getAttribute('href'), '/docs/errors#mqtt-subscribe_wildcard_not_granted')
  await row.waitFor({ state: 'detached' })
  // A client that did not prove its organization is not shown to the organization.
  assert.equal(await page.getByText('guessing').count(), 0)
  window.assertQuiet()
  await window.close()
})

test('a new token says that its client is connected, and why one was refused', async () => {
  const window = await open('/connect', 'anna')
  const { page } = window
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByText('Waiting for your client to connect').waitFor()
  const jwt = (await page.getByText(/^eyJ/).first().textContent()) ?? ''
  await refused({ clientId: 'first-try', username: jwt, password: 'Default' })
  await page.getByText('Connection refused: The password must be the word default.').waitFor()
  await page.getByText('first-try was refused').scrollIntoViewIfNeeded()
  await window.assertAccessible('a refused client')
  await window.picture('connect-refused')
  await client({ clientId: 'second-try', username: jwt })
  await page.getByText('second-try is connected from').waitFor()
  await window.assertAccessible('a connected client')
  await page.getByRole('row').filter({ hasText: 'new' }).getByText('connected', { exact: true }).waitFor()
  window.assertQuiet()
  await window.close()
})
