/** An organization admin looks at an inventory, imports it, and keeps in step with it. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { listing, openStandIn, settingsFor } from '../../src/lorawan/network-servers/http/the-things-stack.testing.ts'
import type { StandIn } from '../../src/lorawan/network-servers/http/the-things-stack.testing.ts'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import { startWorld } from './world.ts'
import type { World } from './world.ts'

const FORMATTERS = { up_formatter: 'FORMATTER_CAYENNELPP' }

let browser: Browser
let world: World
let standIn: StandIn
let folder: string
/** The devices that The Things Stack lists. */
let listed = 0

before(async () => {
  standIn = await openStandIn((url) => listing(listed, FORMATTERS)(url))
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-console-inventory-'))
  const file = join(folder, 'network-servers.json')
  await writeFile(file, settingsFor(standIn))
  world = await startWorld({ environment: { FIELDGATE_NETWORK_SERVERS_FILE: file } })
  assert.equal(world.organizationId, '1')
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
  await standIn?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

for (const look of LOOKS) {
  test(`an inventory is looked at, imported and kept in step, ${look}`, async () => {
    const known = listed
    listed += 3
    const window = await Window.open(browser, world.service.https, look)
    await window.enter('/network-servers', world.anna)
    const { page } = window
    const dialog = page.getByRole('dialog')
    await page.getByText('Imported on wish.').waitFor()
    await window.assertLook('network-servers-inventory')
    await page.getByRole('button', { name: 'Import from ttn' }).click()
    await dialog.getByRole('button', { name: 'Look' }).click()
    await dialog.getByText(`3 devices would be created, 0 changed, ${known} as they are, 0 refused.`).waitFor()
    await dialog.getByRole('cell', { name: 'acme flow 2.0 EU_863_870' }).waitFor()
    await window.assertLook('inventory-look')
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await dialog.getByText(`3 devices created, 0 changed, ${known} as they are, 0 refused.`).waitFor()
    await dialog.getByRole('button', { name: 'Keep in step' }).click()
    await page.getByText('Kept in step every hour.').waitFor()
    await page.getByRole('button', { name: 'End the step with ttn' }).click()
    await dialog.getByRole('button', { name: 'Remove', exact: true }).click()
    await page.getByText('Imported on wish.').waitFor()
    await window.close()
  })
}
