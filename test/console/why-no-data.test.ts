/** The page Why no data?: one sentence on top, the steps below, and the links that lead there. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import type { Browser } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { launchBrowser, Window } from './browser.ts'
import { startWorld } from './world.ts'
import type { World } from './world.ts'

let browser: Browser
let world: World
let client: MqttClient

before(async () => {
  world = await startWorld()
  browser = await launchBrowser()
  const administration = new Administration(world.service)
  const session = await administration.login(world.anna.userName, world.anna.password)
  const username = await administration.brokerToken(session, world.organizationId)
  const { ca, mqttsPort } = world.service
  const options = { ca, username, password: 'default', protocolVersion: 5, clientId: 'wrong-kind' } as const
  client = await connectAsync(`mqtts://localhost:${mqttsPort}`, options)
  await client.subscribeAsync(`application/${world.applicationId}/device/+/event/uplink`, { qos: 1 })
})

after(async () => {
  client?.end(true)
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

test('a person asks for a client by its keys alone, and reads the cause and the topic that matches', async () => {
  const window = await Window.open(browser, world.service.https, 'light')
  const { page } = window
  await window.enter('/why', world.anna)
  await page.getByLabel('DevEUI, client id or topic').focus()
  await page.keyboard.type('wrong-kind')
  await page.keyboard.press('Enter')
  const answer = page.getByRole('status').filter({ hasText: 'No event can match' })
  await answer.waitFor()
  const right = `Subscribe to application/${world.applicationId}/device/+/event/up.`
  assert.ok((await answer.innerText()).endsWith(right), await answer.innerText())
  const steps = page.getByRole('list').filter({ hasText: 'Network server' }).getByRole('listitem')
  assert.match((await steps.allInnerTexts()).join('\n'), /Subscription\s+cause\s+No event can match/)
  assert.equal(new URL(page.url()).searchParams.get('about'), 'wrong-kind')
  await window.assertLook('why-no-data')
  window.assertQuiet()
  await window.close()
})

test('a device and a connection lead to their own question', async () => {
  const window = await Window.open(browser, world.service.https, 'light')
  const { page } = window
  const [device] = world.devices
  await window.enter(`/devices/${device?.devEui}`, world.anna)
  await page.getByRole('main').getByRole('link', { name: 'Why no data?' }).first().click()
  await page.getByText('The way from the device to the client').waitFor()
  assert.equal(new URL(page.url()).searchParams.get('about'), device?.devEui)
  await page.goto('/connections')
  await page.getByRole('button', { name: 'Details of wrong-kind' }).click()
  await page.getByRole('dialog').getByRole('link', { name: 'Why no data?' }).click()
  await page.getByRole('status').filter({ hasText: 'No event can match' }).waitFor()
  await window.close()
})
