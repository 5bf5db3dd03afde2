import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { launchBrowser, Window } from './browser.ts'
import { startWorld, type World } from './world.ts'

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

async function open(path: string, who: 'anna' | 'admin' = 'anna'): Promise<Window> {
  const window = await Window.open(browser, world.service.https)
  await window.signIn(path, world[who])
  return window
}

test('a script is tried before it is saved: its values, its fault with the line, and its saving', async () => {
  const window = await open('/codecs')
  const { page } = window
  await page.getByText('JavaScript', { exact: true }).click()
  const decoder = page.getByRole('textbox', { name: 'Decoder' })
  await decoder.fill('function decodeUplink({ bytes }) {\n  return { data: { level: bytes[0] * 2 } }\n}')
  await page.getByLabel('Sample bytes, in hex').fill('15')
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByLabel('Decoded', { exact: true }).getByText('"level": 42').waitFor()
  await decoder.fill('function decodeUplink({ bytes }) {\n  throw new Error("frame of " + bytes.length + " bytes")\n}')
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByText('Line 2', { exact: true }).waitFor()
  await page
    .getByText(/frame of 1 bytes/)
    .last()
    .waitFor()
  await window.assertAccessible('codec with a fault')
  await window.picture('codecs-fault')
  await decoder.fill('function decodeUplink({ bytes }) {\n  return { data: { level: bytes[0] * 2 } }\n}')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. It decodes from the next event on.').waitFor()
  await page.reload()
  await page.getByRole('textbox', { name: 'Decoder' }).getByText('level').waitFor()
  await page.getByText('Cayenne LPP', { exact: true }).click()
  await page.getByText('Encode a command').click()
  await page.getByLabel('Sample object').fill('{"temperatureSensor": {"1": 25}, "humiditySensor": {"1": 32}}')
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByLabel('Encoded', { exact: true }).getByText('AWcA+gFoQA==').waitFor()
  window.assertQuiet()
  await window.close()
})

test('an application and a device are made, and the application goes with its device when it is deleted', async () => {
  const window = await open('/applications')
  const { page } = window
  await page.getByRole('button', { name: 'New application' }).click()
  await page.getByLabel('Name').fill('street-lights')
  await window.assertAccessible('new application')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('cell', { name: 'street-lights', exact: true }).waitFor()
  await page.getByRole('link', { name: 'Devices', exact: true }).click()
  await page.getByRole('button', { name: 'New device' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('combobox', { name: 'Application' }).click()
  await page.getByRole('option', { name: 'street-lights' }).click()
  await dialog.getByLabel('DevEUI').fill('12')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('must be 16 hexadecimal digits').waitFor()
  await dialog.getByLabel('DevEUI').fill('00005EEF100FFFFF')
  await dialog.getByLabel('Name').fill('lamp-1')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: 'lamp-1' }).waitFor()
  await page.getByRole('link', { name: 'Applications' }).click()
  await page.getByRole('button', { name: 'Delete street-lights' }).click()
  await page.getByText('Its devices go with it.').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete street-lights' }).click()
  await page.getByRole('cell', { name: 'street-lights', exact: true }).waitFor({ state: 'detached' })
  await window.close()
})

test('an import is looked at before it is written, and says what is wrong in which line', async () => {
  const window = await open('/import')
  const { page } = window
  const table = 'devEUI,name\n00005eef10aa0001,new-1\nnonsense,new-2\n00005eef10aa0003,new-3\n'
  const chosen = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose a file' }).click()
  await (await chosen).setFiles({ name: 'devices.csv', mimeType: 'text/csv', buffer: Buffer.from(table) })
  await page.getByText('2 devices can be created, 1 row refused.').waitFor()
  await page
    .getByRole('row')
    .filter({ hasText: 'must be 16 hexadecimal digits' })
    .getByRole('cell', { name: '3', exact: true })
    .waitFor()
  await window.assertAccessible('import report')
  await window.picture('import')
  await page.getByRole('button', { name: 'Create 2 devices' }).click()
  await page.getByText('2 devices created').waitFor()
  await page.getByRole('link', { name: 'Devices', exact: true }).click()
  await page.getByRole('textbox', { name: 'Search' }).fill('new-3')
  await page.getByText('One device.').waitFor()
  window.assertQuiet()
  await window.close()
})

test('a credential of a network server shows its password once, and is revoked', async () => {
  const window = await open('/network-servers')
  const { page } = window
  await page.getByRole('button', { name: 'New credential' }).click()
  await page.getByLabel('Name').fill('chirpstack')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByText('The password is shown this once').waitFor()
  await window.assertAccessible('new credential')
  await page.getByRole('button', { name: 'Revoke chirpstack' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke chirpstack' }).click()
  await page.getByRole('cell', { name: 'chirpstack', exact: true }).waitFor({ state: 'detached' })
  await window.close()
})

test('a global admin makes a user, who becomes a member with a role, and both are in the audit log', async () => {
  const window = await open('/users', 'admin')
  const { page } = window
  await page.getByRole('button', { name: 'New user' }).click()
  await page.getByLabel('User name').fill('beat')
  await page.getByLabel('First password').fill('a first password')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('cell', { name: 'beat', exact: true }).waitFor()
  await window.assertAccessible('users')
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('button', { name: 'Add a member' }).click()
  await page.getByRole('dialog').getByLabel('User name').fill('beat')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('checkbox', { name: 'beat may manage devices' }).click()
  await page.getByRole('checkbox', { name: 'beat may manage devices', checked: true }).waitFor()
  await page.getByRole('link', { name: 'Audit log' }).click()
  await page.getByText('member.added').first().waitFor()
  await window.assertAccessible('audit log')
  await page.getByRole('link', { name: 'Organizations' }).click()
  await page.getByRole('button', { name: 'New organization' }).click()
  await page.getByLabel('Short name').fill('hill-farm')
  await page.getByLabel('Name for people').fill('Hill Farm')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Switch to Hill Farm' }).click()
  await page.getByRole('combobox', { name: 'Organization' }).and(page.locator('[value="Hill Farm"]')).waitFor()
  window.assertQuiet()
  await window.close()
})

test('who may not administer is not offered it', async () => {
  const window = await open('/devices')
  const { page } = window
  assert.equal(await page.getByRole('link', { name: 'Users' }).count(), 0)
  await page.getByRole('link', { name: 'Members' }).waitFor()
  await window.close()
})
