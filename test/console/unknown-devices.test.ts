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

const NUMBERS = { one: 1, two: 2, three: 3, four: 4, five: 5, six: 6 } as const

/** An uplink of a device that is not registered. */
async function hear(
  number: keyof typeof NUMBERS,
  deviceProfileName: string,
  name = `stranger-${number}`,
): Promise<void> {
  const devEui = `00005eef20${NUMBERS[number].toString(16).padStart(6, '0')}`
  const theirs = { applicationID: '77', applicationName: 'north-side', deviceName: name, deviceProfileName }
  await world.publish({ devEui, name }, 'up', { ...theirs, fCnt: 1, fPort: 2, data: 'AQ==' })
}

test('unknown devices are registered one by one and by a filter, and one is forgotten', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/unknown-devices', world.anna)
  await page.getByText('No unknown device').waitFor()
  await hear('one', 'Level')
  await hear('two', 'Level')
  await hear('two', 'Level')
  await hear('three', 'Lamp')
  await page.reload()
  await page.getByText('stranger-one').waitFor()
  await window.assertLook('unknown-devices')
  const row = page.getByRole('row', { name: /stranger-two/ })
  assert.match((await row.textContent()) ?? '', /00005eef20000002.*north-side.*Level2/)

  await page.getByRole('button', { name: 'Register 00005eef20000001' }).click()
  const dialog = page.getByRole('dialog')
  assert.equal(await dialog.getByRole('textbox', { name: 'Name' }).inputValue(), 'stranger-one')
  await dialog.getByRole('textbox', { name: 'Name' }).fill('pump-house-9')
  await window.assertLook('unknown-device-register')
  await dialog.getByRole('button', { name: 'Register', exact: true }).click()
  await page.getByText('Registered one device.').waitFor()
  await page.getByText('stranger-one').waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Forget 00005eef20000003' }).click()
  await dialog.waitFor()
  // The button's tooltip goes when the dialog covers it.
  await page.getByRole('tooltip').waitFor({ state: 'detached' })
  await window.assertAccessible('forget an unknown device')
  await page.getByRole('dialog').getByRole('button', { name: 'Forget' }).click()
  await page.getByText('stranger-three').waitFor({ state: 'detached' })

  await hear('three', 'Lamp')
  await page.getByRole('combobox', { name: 'Device profile' }).click()
  await page.getByRole('option', { name: 'Level' }).click()
  await page.getByRole('button', { name: 'Register these 1' }).click()
  await page.getByRole('dialog').getByRole('textbox', { name: 'Names' }).fill('north {deviceName}')
  await page.getByRole('dialog').getByRole('button', { name: 'Register', exact: true }).click()
  await page.getByText('No device matches').waitFor()
  await page.goto('/devices?search=north%20stranger')
  await page.getByRole('link', { name: 'north stranger-two' }).waitFor()
  // The kept events of the device are in its history.
  const path = '/api/devices/00005eef20000002/events?kind=up'
  const { result } = await world.service.http.must('GET', path, { token: world.service.adminSession })
  assert.equal((result as readonly unknown[]).length, 2)
  await page.goto('/devices?search=pump-house-9')
  await page.getByRole('link', { name: 'pump-house-9' }).waitFor()
  window.assertQuiet()
  await window.close()
})

test('a rule is made and deleted with the keyboard alone, and registers a device that sends', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/unknown-devices', world.anna)
  await page.getByRole('button', { name: 'New rule' }).focus()
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  await page.keyboard.press('Tab')
  await page.keyboard.type('Gas')
  await window.assertLook('registration-rule')
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await page.getByText('devices with profile “Gas”').waitFor()
  await hear('four', 'Gas')
  await page.goto('/devices?search=stranger-four')
  await page.getByRole('link', { name: 'stranger-four' }).waitFor()

  await page.goto('/unknown-devices')
  await page.getByRole('button', { name: /Delete the rule devices with profile/ }).focus()
  await page.keyboard.press('Enter')
  // The dialog takes the focus a moment after it is there.
  await dialog.locator(':focus').waitFor()
  await page.keyboard.press('Tab')
  await dialog.getByRole('button', { name: 'Delete' }).and(page.locator(':focus')).waitFor()
  await page.keyboard.press('Enter')
  await page.getByText('No rule', { exact: true }).waitFor()
  window.assertQuiet()
  await window.close()
})

test('a device that can’t be registered is told, and a global admin sees the devices of the deployment', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await hear('five', 'Foreign')
  const body = { organization: { name: 'other', displayName: 'Other' } }
  const token = world.service.adminSession
  const { id } = await world.service.http.must('POST', '/api/organizations', { token, json: body })
  const application = { name: 'theirs', organizationID: id }
  const made = await world.service.http.must('POST', '/api/applications', { token, json: { application } })
  const device = { devEUI: '00005eef20000005', applicationID: made['id'] }
  await world.service.http.must('POST', '/api/devices', { token, json: { device } })
  await window.enter('/unknown-devices', world.anna)
  await page.getByRole('button', { name: 'Register 00005eef20000005' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Register', exact: true }).click()
  await page.getByText('Registered 0 devices.').waitFor()
  await page.getByText(/00005eef20000005: a device of an organization that you are no member of/).waitFor()
  await window.assertLook('unknown-device-refused')
  await window.close()

  const second = await Window.open(browser, world.service.https)
  await second.enter('/unknown-devices', world.admin)
  await second.page.getByText('Whole deployment').click()
  await second.page.getByText('No unknown device').waitFor()
  second.assertQuiet()
  await second.close()
})

for (const look of LOOKS) {
  test(`the page is accessible (${look})`, async () => {
    await hear(
      'six',
      'A device profile with a long name',
      'a stranger with a name of many letters: pump-house-at-the-lower-reservoir',
    )
    const window = await Window.open(browser, world.service.https, look)
    await window.enter('/unknown-devices', world.anna)
    await window.page.getByRole('button', { name: 'Register 00005eef20000006' }).waitFor()
    await window.assertLook('unknown-devices-list')
    window.assertQuiet()
    await window.close()
  })
}
