import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { LIBRARY_PROFILE } from '../../src/identity/devices/library-profile.testing.ts'
import { chirpStackFiles } from '../../src/lorawan/library/collections.testing.ts'
import { zipOf } from '../../src/lorawan/library/zip.testing.ts'
import { Administration } from '../support/administration.ts'
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

const SCRIPT = 'vendors/pond/codecs/frog.js'

/** The collection as an archive; `later` is behind the script of its first model. */
function archive(later = '') {
  const files = { ...chirpStackFiles, [SCRIPT]: `${chirpStackFiles[SCRIPT] ?? ''}${later}` }
  const buffer = zipOf(Object.entries(files).map(([path, content]) => ({ path, content })))
  return { name: 'profiles.zip', mimeType: 'application/zip', buffer }
}

async function importArchive({ page }: Window, later: string, looked: string): Promise<void> {
  await page.goto('/device-library')
  await chooseFile(page, archive(later))
  await page.getByText('profiles.zip would be imported so').waitFor()
  await page.getByText(looked).waitFor()
  await page.getByRole('button', { name: 'Import', exact: true }).click()
  await page.getByText('profiles.zip was imported').waitFor()
}

test('an operator imports an archive, an admin chooses from it, and takes the update of a later archive', async () => {
  const operator = await Window.open(browser, world.service.https)
  await operator.enter('/device-library', world.admin)
  await operator.page.getByText('The library is empty').waitFor()
  await importArchive(operator, '', 'ChirpStack device profiles: 2 new.')
  await operator.page.getByText('The Licence of Tests · 2 profiles').waitFor()
  await operator.assertAccessible('the library, by an operator')

  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.enter('/device-profiles', world.anna)
  await page.getByRole('button', { name: 'Choose from the library' }).click()
  for (const [field, option] of [
    ['Vendor', 'Pond'],
    ['Model', 'Frog'],
    ['Firmware', '1.2'],
    ['Region', 'US915'],
  ] as const) {
    await page.getByRole('combobox', { name: field, exact: true }).click()
    await page.getByRole('option', { name: option, exact: true }).click()
  }
  await page.getByText(/From ChirpStack device profiles · The Licence of Tests · 3 examples/).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Name', exact: true }).inputValue(), 'Pond Frog 1.2')
  await window.assertLook('library-choice')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Pond Frog 1.2' }).waitFor()
  assert.equal(await page.getByLabel('Region').inputValue(), 'US915')

  await importArchive(operator, '\n// later', 'ChirpStack device profiles: 1 changed, 1 unchanged.')
  await page.goto('/device-profiles')
  await page.getByText('update', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Pond Frog 1.2', exact: true }).click()
  await page.getByText('The library has an update').waitFor()
  await page.getByText('It changes: payloadDecoderScript, payloadEncoderScript.').waitFor()
  await page.getByText('It breaks none of the test vectors.').waitFor()
  await window.assertLook('library-update')
  await page.getByRole('button', { name: 'Update', exact: true }).click()
  await page.getByText('The library has an update').waitFor({ state: 'detached' })
  assert.match(await page.getByRole('textbox', { name: 'Decoder script' }).inputValue(), /\/\/ later$/)

  await operator.page.getByRole('button', { name: 'Remove ChirpStack device profiles' }).click()
  await operator.page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await operator.page.getByText('The library is empty').waitFor()
  operator.assertQuiet()
  window.assertQuiet()
  await operator.close()
  await window.close()
})

for (const look of LOOKS) {
  test(`a member reads the library, finds a model by its words and its region, and can’t import (${look})`, async () => {
    const administration = new Administration(world.service)
    await administration.must('POST', '/api/device-library/profiles', { profiles: [LIBRARY_PROFILE] })
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await window.enter('/device-library?region=US915', world.anna)
    await page.getByText('Meter 1', { exact: true }).waitFor()
    await page.getByLabel('Search by vendor or model').fill('toad')
    await page.getByText('No such profile').waitFor()
    await page.getByLabel('Search by vendor or model').fill('METER')
    await page.getByText('Meter 1', { exact: true }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Choose a file' }).count(), 0)
    await window.assertLook('device-library')
    window.assertQuiet()
    await window.close()
  })
}
