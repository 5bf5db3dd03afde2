/** An admin makes, restricts, rotates and revokes API keys in the console. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import { startWorld } from './world.ts'
import type { World } from './world.ts'

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

for (const look of LOOKS) {
  test(`a key is made, shown once, restricted, rotated and revoked, ${look}`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    await window.enter('/api-keys', world.anna)
    const { page } = window
    const dialog = page.getByRole('dialog')
    await page.getByText('No API key yet').waitFor()
    await page.getByRole('button', { name: 'New API key' }).first().click()
    await dialog.getByLabel('Name', { exact: true }).fill('lake')
    await dialog.getByRole('checkbox', { name: 'Write codecs' }).check()
    await dialog.getByLabel('Only devices with these tags').fill('line=north')
    await dialog.getByText('A key with the right “Write codecs” can’t be restricted so far.').waitFor()
    assert.equal(await dialog.getByRole('button', { name: 'Create' }).isDisabled(), true)
    await dialog.getByRole('checkbox', { name: 'Write codecs' }).uncheck()
    await window.assertLook('new-api-key')
    await dialog.getByRole('button', { name: 'Create' }).click()
    await dialog.getByText('The key is shown this once.').waitFor()
    await dialog.getByText(/^fg_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}$/).waitFor()
    // Escape would lose the key for ever.
    await page.keyboard.press('Escape')
    await window.assertAccessible('issued API key')
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByText('lake', { exact: true }).waitFor()
    await window.assertLook('api-keys')

    await page.getByRole('button', { name: 'Change lake' }).click()
    assert.equal(await dialog.getByLabel('Only devices with these tags').inputValue(), 'line=north')
    await dialog.getByLabel('Only devices with these tags').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'New secret of lake' }).click()
    await dialog.getByRole('button', { name: 'Make a new secret' }).click()
    await dialog.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByText('two secrets').waitFor()

    await page.getByRole('button', { name: 'Revoke lake' }).click()
    await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByText('No API key yet').waitFor()
    window.assertQuiet()
    await window.close()
  })
}
