import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { chooseFile, launchBrowser, LOOKS, Window } from './browser.ts'
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
  test(`devices are exported, changed in the table, and imported again (${look})`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await window.enter('/devices', world.anna)
    await page.getByText('15 devices.').waitFor()
    await window.assertLook('devices-export')
    const exportButton = page.getByRole('button', { name: 'Export' })
    await exportButton.focus()
    const [download] = await Promise.all([page.waitForEvent('download'), page.keyboard.press('Enter')])
    assert.equal(download.suggestedFilename(), 'devices.csv')
    const table = await readFile(await download.path(), 'utf8')
    const [device] = world.devices
    assert.ok(device)
    const file = {
      name: 'devices.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(
        table.replace(/"climate-pump-house-1, \w+"|climate-pump-house-1/, `"climate-pump-house-1, ${look}"`),
      ),
    }

    await page.goto('/import')
    await chooseFile(page, file)
    await page.getByRole('button', { name: 'Nothing to write' }).waitFor()
    await page.getByText('15 rows are wrong').waitFor()
    const update = page.getByRole('switch', { name: 'Change devices that exist' })
    await update.focus()
    await page.keyboard.press('Space')
    await chooseFile(page, file)
    await page.getByText('14 devices are as in the table').waitFor()
    await window.assertLook('import-update')
    await page.getByRole('button', { name: 'Change 1 device' }).click()
    await page.getByText('0 devices were created, and 1 device was changed').waitFor()
    const shown = await world.service.http.must('GET', `/api/devices/${device.devEui}`, {
      token: world.service.adminSession,
    })
    assert.partialDeepStrictEqual(shown['device'], { name: `climate-pump-house-1, ${look}`, tags: { line: 'north' } })
    window.assertQuiet()
    await window.close()
  })
}
