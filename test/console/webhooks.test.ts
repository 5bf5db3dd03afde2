/** An admin of an organization makes a webhook in the console, tests it and looks at it. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import { startWorld } from './world.ts'
import type { World } from './world.ts'

let browser: Browser
let world: World
let receiver: Server
let url = ''

before(async () => {
  receiver = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/plain' }).end('thank you')
  }).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/events`
  world = await startWorld({ environment: { FIELDGATE_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1' } })
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
  receiver?.closeAllConnections()
  receiver?.close()
})

for (const look of LOOKS) {
  test(`a webhook is made, tested, paused, resumed and removed, ${look}`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    await window.enter('/webhooks', world.anna)
    const { page } = window
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'New webhook' }).first().click()
    await dialog.getByLabel('Name', { exact: true }).fill('billing')
    await dialog.getByLabel('Address').fill('nowhere')
    await dialog.getByLabel('up', { exact: true }).check()
    await window.assertLook('new-webhook')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('must be an address that begins with https:// or http://').waitFor()
    await dialog.getByLabel('Address').fill(url)
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText(/^whsec_/).waitFor()
    await window.assertLook('webhook-secret')
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('button', { name: 'Test billing' }).click()
    await dialog.getByText(/The receiver took the event: status 200/).waitFor()
    await dialog.getByText('thank you').waitFor()
    await window.assertLook('webhook-test')
    await dialog.getByRole('button', { name: 'Close' }).click()
    await world.publish(world.devices[0] as World['devices'][0], 'up', { fCnt: 1 })
    await page.getByRole('button', { name: 'Deliveries of billing' }).click()
    await dialog.getByText('delivered').first().waitFor()
    await window.assertLook('webhook-deliveries')
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.getByRole('button', { name: 'Pause billing' }).click()
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click()
    await page.getByText('a person has paused it').waitFor()
    await window.assertLook('webhooks')
    await page.getByRole('button', { name: 'Resume billing' }).click()
    await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
    await page.getByRole('button', { name: 'Pause billing' }).waitFor()
    await page.getByRole('button', { name: 'Remove billing' }).click()
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No webhook yet').waitFor()
    await window.close()
  })
}
