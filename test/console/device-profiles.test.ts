import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
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

const DOUBLING = 'function decodeUplink({ bytes }) {\n  return { data: { level: bytes[0] * 2 } }\n}'
const TRIPLING = DOUBLING.replace('* 2', '* 3')
const VECTOR = JSON.stringify([{ name: 'half full', fPort: 1, bytes: '15', expected: { data: { level: 42 } } }])

test('the newest stored uplink of a device becomes a test vector', async () => {
  const [device] = world.devices
  assert.ok(device)
  await world.publish(device, 'up', climateUplink(7))
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/device-profiles', world.anna)
  await page.getByRole('button', { name: 'New profile' }).first().click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Climate')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('Cayenne LPP', { exact: true }).click()
  await page.getByRole('button', { name: 'Take a real uplink' }).click()
  await page.getByRole('combobox', { name: 'Device', exact: true }).click()
  await page.getByRole('option', { name: new RegExp(device.devEui) }).click()
  await window.assertAccessible('a real uplink as a test vector')
  await page.getByRole('button', { name: 'Take', exact: true }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  assert.match(await page.getByRole('textbox', { name: 'Vectors as JSON' }).inputValue(), /, frame 7"/)
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('1 of 1 passed').waitFor()
  await window.assertLook('device-profile-passed')
  await page.getByRole('button', { name: 'Undo all' }).click()
  await page.getByText('not saved').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
  await page.getByText('No device profile yet').waitFor()
  window.assertQuiet()
  await window.close()
})

test('a profile is made, tested, saved against its vector by force, taken back, given to a device, and deleted', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/device-profiles', world.anna)
  await page.getByText('No device profile yet').waitFor()
  await page.getByRole('button', { name: 'New profile' }).first().click()
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Level sensor')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Level sensor' }).waitFor()

  await page.getByLabel('Vendor').fill('Acme')
  const decoded = page.getByRole('textbox', { name: 'FPorts that are decoded' })
  await decoded.fill('1, 300')
  await page.getByText('FPorts are numbers from 1 to 255, like 1, 5-8.').waitFor()
  await decoded.fill('3, 1-2')
  await page.getByRole('textbox', { name: 'FPorts that are not' }).fill('10')
  await page.getByText('JavaScript', { exact: true }).click()
  const decoder = page.getByRole('textbox', { name: 'Decoder script' })
  await decoder.fill(DOUBLING)
  const vectors = page.getByRole('textbox', { name: 'Vectors as JSON' })
  await vectors.fill('[{')
  await page.getByText(/This is not JSON/).waitFor()
  await vectors.fill(VECTOR)
  await page.getByRole('button', { name: 'Run' }).click()
  await page.getByText('1 of 1 passed').waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('not saved').waitFor({ state: 'detached' })

  await decoder.fill(TRIPLING)
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText(/breaks the test vector half full/).waitFor()
  await page.getByText('half full failed').waitFor()
  await page.getByLabel('Expected', { exact: true }).getByText(/42/).waitFor()
  await page.getByLabel('Got', { exact: true }).getByText(/63/).waitFor()
  await window.assertLook('device-profile-failed')
  await page.getByRole('button', { name: 'Save all the same' }).click()
  await page.getByText('not saved').waitFor({ state: 'detached' })
  assert.equal(await decoder.inputValue(), TRIPLING)

  await page.getByRole('button', { name: 'Restore version 2' }).click()
  await page.getByText(/Version 4/).waitFor()
  assert.equal(await decoder.inputValue(), DOUBLING)
  assert.equal(await page.getByLabel('Vendor').inputValue(), 'Acme')
  assert.equal(await decoded.inputValue(), '1-3')
  assert.equal(await page.getByRole('textbox', { name: 'FPorts that are not' }).inputValue(), '10')

  const [device] = world.devices
  assert.ok(device)
  await page.goto(`/devices/${device.devEui}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('combobox', { name: 'Device profile' }).click()
  await page.getByRole('option', { name: 'Level sensor' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Edit' }).click()
  const chosen = page.getByRole('combobox', { name: 'Device profile' })
  await chosen.waitFor()
  assert.equal(await chosen.inputValue(), 'Level sensor')

  await page.goto('/device-profiles')
  await page.getByRole('link', { name: 'Level sensor', exact: true }).waitFor()
  await window.assertLook('device-profiles')
  await page.getByRole('link', { name: 'Level sensor', exact: true }).click()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByText(/One device has this profile\./).waitFor()
  await window.assertAccessible('delete a device profile')
  await page.getByRole('button', { name: 'Detach and delete' }).click()
  await page.getByText('No device profile yet').waitFor()
  // The browser complains once, of the refusal before the force.
  assert.equal(window.complaints.length, 1)
  assert.match(window.complaints[0] ?? '', /status of 400/)
  assert.deepEqual(window.foreignRequests, [])
  await window.close()
})

for (const look of LOOKS) {
  test(`the page of a profile is accessible (${look})`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await window.enter('/device-profiles', world.anna)
    await page.getByRole('button', { name: 'New profile' }).first().click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill(`Meter ${look}`)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByText(/Version 1/).waitFor()
    await page.getByRole('button', { name: 'Add an uplink' }).click()
    await page.getByText('not saved').waitFor()
    await window.assertLook('device-profile')
    window.assertQuiet()
    await page.getByRole('button', { name: 'Undo all' }).click()
    await page.getByText('not saved').waitFor({ state: 'detached' })
    await window.close()
  })
}
