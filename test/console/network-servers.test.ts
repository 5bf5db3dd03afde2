/** A global admin connects a ChirpStack in the console. */
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { addressOf, FakeChirpStack } from '../support/fake-chirpstack.ts'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import { startWorld } from './world.ts'
import type { World } from './world.ts'

let browser: Browser
let world: World
let chirpStack: FakeChirpStack

before(async () => {
  chirpStack = new FakeChirpStack()
  await chirpStack.start()
  world = await startWorld()
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
  chirpStack?.stop()
})

for (const look of LOOKS) {
  test(`a ChirpStack is tried, connected and removed, ${look}`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    await window.enter('/network-servers', world.admin)
    const { page } = window
    const dialog = page.getByRole('dialog')
    const { target, apiKey } = addressOf(chirpStack)
    await page.getByRole('button', { name: 'Connect ChirpStack' }).first().click()
    await dialog.getByLabel('Address').fill(`http://${target}`)
    await dialog.getByLabel('API key', { exact: true }).fill('wrong')
    await dialog.getByRole('button', { name: 'Try the connection' }).click()
    await dialog.getByText('ChirpStack does not know the API key.').waitFor()
    await window.assertLook('connect-chirpstack')
    await dialog.getByLabel('API key', { exact: true }).fill(apiKey)
    await dialog.getByRole('button', { name: 'Try the connection' }).click()
    await dialog.getByText('It works: the key sees 1 tenant with 1 application.').waitFor()
    await dialog.getByRole('button', { name: 'Connect', exact: true }).click()
    await page.getByText(`http://${target}`).waitFor()
    await window.assertLook('network-servers-admin')
    await page.getByRole('button', { name: 'Remove chirpstack' }).click()
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('No ChirpStack is connected').waitFor()
    await window.close()
  })
}
