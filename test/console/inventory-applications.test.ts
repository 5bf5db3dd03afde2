/** An organization admin chooses applications of a ChirpStack, and how often they are imported. */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import grpc from '@grpc/grpc-js'
import type { Browser, Locator, Page } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { within } from '../support/bounded-wait.ts'
import { addressOf, FakeChirpStack, TENANT } from '../support/fake-chirpstack.ts'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import { startWorld } from './world.ts'
import type { World } from './world.ts'

const WATER = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11'
const GAS = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c12'
const LAMPS = '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c13'
const STEP_PATH = '/api/inventories/chirpstack/step'

let browser: Browser
let world: World
let chirpStack: FakeChirpStack
let administration: Administration
let gasId: string

before(async () => {
  chirpStack = new FakeChirpStack()
  await chirpStack.start()
  const names = new Map([
    [WATER, 'Water'],
    [GAS, 'Gas'],
    [LAMPS, 'Lamps'],
  ])
  chirpStack.applications.set(TENANT, names)
  for (const [index, id] of [...names.keys()].entries()) {
    chirpStack.devices.set(id, new Map([[`00005eef3000000${index}`, { name: `${names.get(id)} meter` }]]))
  }
  world = await startWorld()
  administration = new Administration(world.service)
  gasId = await administration.application(world.organizationId, { name: 'gas-network' })
  const { target, apiKey } = addressOf(chirpStack)
  const networkServer = {
    name: 'chirpstack',
    url: `http://${target}`,
    apiKey,
    tenants: { [TENANT]: world.organizationId },
    syncSeconds: 0,
  }
  await administration.must('POST', '/api/network-servers', { networkServer })
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
  chirpStack?.stop()
})

afterEach(async () => {
  chirpStack.fault = undefined
  if ((await step()) !== null) await endStep()
})

interface Step {
  readonly applications: Readonly<Record<string, string>>
  readonly intervalSeconds: number
  readonly removeMissing: boolean
  readonly tags: Readonly<Record<string, string>>
  readonly lastRunAt: string | null
}

async function step(): Promise<Step | null> {
  const { result } = await administration.must('GET', `/api/inventories?organizationID=${world.organizationId}`)
  const [inventory] = result as readonly { readonly step: Step | null }[]
  return inventory?.step ?? null
}

/** Resolves with the step when its first import is over: two imports do not run together. */
async function ranStep(): Promise<Step> {
  for (;;) {
    const now = await step()
    if (now !== null && now.lastRunAt !== null) return now
  }
}

async function keepInStep(inventoryStep: object): Promise<void> {
  await administration.must('PUT', STEP_PATH, { organizationID: world.organizationId, inventoryStep })
  await within(ranStep(), 'the first import')
}

async function endStep(): Promise<void> {
  await administration.must('DELETE', `${STEP_PATH}?organizationID=${world.organizationId}`)
}

async function openDialog(window: Window): Promise<Locator> {
  await window.enter('/network-servers', world.anna)
  await window.page.getByRole('button', { name: 'Import from chirpstack' }).click()
  const dialog = window.page.getByRole('dialog')
  await dialog.waitFor()
  return dialog
}

/** The fields of an application in the dialog. */
function row(dialog: Locator, number: number): { readonly from: Locator; readonly into: Locator } {
  const group = dialog.getByRole('group', { name: `Application ${number}` })
  return {
    from: group.getByRole('combobox', { name: 'From chirpstack' }),
    into: group.getByRole('combobox', { name: 'Into' }),
  }
}

/** Resolves when a field has this value: until its names have come, it has an id. */
async function shows(field: Locator, value: string): Promise<void> {
  const comes = async (): Promise<void> => {
    while ((await field.inputValue()) !== value);
  }
  await within(comes(), value)
}

async function choose(page: Page, field: Locator, option: string): Promise<void> {
  await field.click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

/** Chooses in the list that has the focus: `typed` is the beginning of the option. */
async function chooseByKeys(page: Page, typed: string, option: string): Promise<void> {
  await page.keyboard.type(typed)
  const found = page.getByRole('option', { name: option, exact: true })
  await found.waitFor()
  await page.keyboard.press('ArrowDown')
  await found.and(page.locator('[data-combobox-selected]')).waitFor()
  await page.keyboard.press('Enter')
  await found.waitFor({ state: 'hidden' })
}

for (const look of LOOKS) {
  test(`chosen applications are imported into applications of the organization at an interval, ${look}`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    const dialog = await openDialog(window)
    chirpStack.calls.length = 0
    await dialog.getByRole('radio', { name: /^Only chosen ones/ }).check()
    await choose(page, row(dialog, 1).from, 'Water')
    // Listing the applications reads no device.
    assert.deepEqual([...new Set(chirpStack.calls)], ['applications'])
    assert.equal(await dialog.getByRole('button', { name: 'Look' }).isDisabled(), true)
    await choose(page, row(dialog, 1).into, 'water-network')
    await dialog.getByRole('button', { name: 'Add an application' }).click()
    await row(dialog, 2).from.click()
    // An application of the network server goes into one application.
    assert.deepEqual(await page.getByRole('option').allTextContents(), ['Gas', 'Lamps'])
    await page.getByRole('option', { name: 'Gas' }).click()
    await choose(page, row(dialog, 2).into, 'gas-network')
    await dialog.getByLabel('Device profiles').click()
    await page.getByRole('option', { name: 'Import no device profiles' }).click()
    await window.assertLook('inventory-applications')
    await dialog.getByRole('button', { name: 'Look' }).click()
    await dialog.getByText('2 devices would be created, 0 changed, 0 as they are, 0 refused.').waitFor()
    await dialog.getByRole('row', { name: 'Application Gas goes into gas-network' }).waitFor()
    await dialog.getByRole('row', { name: 'Application Lamps left out' }).waitFor()

    const interval = dialog.getByRole('textbox', { name: 'Import every' })
    const keep = dialog.getByRole('button', { name: 'Keep in step' })
    await choose(page, dialog.getByRole('combobox', { name: 'Unit' }), 'minutes')
    assert.equal(await keep.isDisabled(), true)
    await dialog.getByText('Choose an interval from 5 minutes to 7 days.').waitFor()
    assert.equal(await interval.getAttribute('aria-invalid'), 'true')
    await window.assertLook('inventory-interval-wrong')
    await interval.fill('90')
    await dialog.getByText('From 5 minutes to 7 days.').waitFor()
    await window.assertLook('inventory-step')
    await keep.click()
    await page.getByText('Kept in step every 90 minutes.').waitFor()
    const applications = { [WATER]: world.applicationId, [GAS]: gasId }
    const kept = await within(ranStep(), 'the first import')
    assert.partialDeepStrictEqual(kept, { applications, intervalSeconds: 5400, removeMissing: false })
    for (const [devEui, applicationID] of [
      ['00005eef30000000', world.applicationId],
      ['00005eef30000001', gasId],
    ]) {
      const { device } = await administration.must('GET', `/api/devices/${devEui}`)
      assert.partialDeepStrictEqual(device, { applicationID })
      await administration.must('DELETE', `/api/devices/${devEui}`)
    }
    window.assertQuiet()
    await window.close()
  })
}

test('the dialog has the settings of the step, and changes the interval without another look', async () => {
  await keepInStep({
    applications: { [LAMPS]: gasId },
    profiles: 'NONE',
    tags: { site: 'north' },
    intervalSeconds: 604_800,
    removeMissing: true,
  })
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const dialog = await openDialog(window)
  assert.equal(await dialog.getByRole('textbox', { name: 'Import every' }).inputValue(), '7')
  assert.equal(await dialog.getByRole('combobox', { name: 'Unit' }).inputValue(), 'days')
  assert.equal(await dialog.getByRole('textbox', { name: 'Value of tag 1' }).inputValue(), 'north')
  await shows(row(dialog, 1).from, 'Lamps')
  await shows(row(dialog, 1).into, 'gas-network')
  const keep = dialog.getByRole('button', { name: 'Keep in step' })
  await dialog.getByRole('textbox', { name: 'Import every' }).fill('1')
  await dialog.getByRole('checkbox', { name: /^Remove imported devices/ }).uncheck()
  await keep.click()
  await page.getByText('Kept in step every day.').waitFor()
  assert.partialDeepStrictEqual(await within(ranStep(), 'the import'), {
    applications: { [LAMPS]: gasId },
    intervalSeconds: 86_400,
    removeMissing: false,
    tags: { site: 'north' },
  })
  const again = await openDialog(window)
  await choose(page, row(again, 1).into, 'water-network')
  assert.equal(await keep.isDisabled(), true)
  await again.getByRole('button', { name: 'Look' }).click()
  await again.getByRole('row', { name: 'Application Lamps goes into water-network' }).waitFor()
  assert.equal(await keep.isDisabled(), false)
  await again.getByRole('button', { name: 'Take application 1 away' }).click()
  await again.getByText('No application is chosen.').waitFor()
  assert.deepEqual(
    [await keep.isDisabled(), await again.getByRole('button', { name: 'Look' }).isDisabled()],
    [true, true],
  )
  window.assertQuiet()
  await window.close()
})

test('an application that is not there is told at its field, also when it goes before the look', async () => {
  const gone = await administration.application(world.organizationId, { name: 'gone' })
  await keepInStep({ applications: { unknown: gone }, profiles: 'NONE' })
  await administration.must('DELETE', `/api/applications/${gone}`)
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const dialog = await openDialog(window)
  const { from, into } = row(dialog, 1)
  await dialog.getByText('The network server lists no application with this id.').waitFor()
  await dialog.getByText('The organization has no application with this id.').waitFor()
  await page.getByText('0 refused. 1 chosen application is missing there.').waitFor()
  assert.deepEqual([await from.getAttribute('aria-invalid'), await into.getAttribute('aria-invalid')], ['true', 'true'])
  await window.assertLook('inventory-application-unknown')
  await dialog.getByRole('button', { name: 'Look' }).click()
  await dialog.getByText('0 refused. 1 chosen application is missing there.').waitFor()
  const words = 'missing there: the network server has no application with this id'
  await dialog.getByRole('row', { name: `Application unknown ${words}` }).waitFor()

  const late = await administration.application(world.organizationId, { name: 'late' })
  await page.reload()
  await page.getByRole('button', { name: 'Import from chirpstack' }).click()
  await choose(page, from, 'Gas')
  await choose(page, into, 'late')
  await administration.must('DELETE', `/api/applications/${late}`)
  await dialog.getByRole('button', { name: 'Look' }).click()
  await dialog.getByText(`The organization has no application ${late}.`).waitFor()
  assert.equal(await into.getAttribute('aria-invalid'), 'true')
  await choose(page, into, 'gas-network')
  await dialog.getByText(`The organization has no application ${late}.`).waitFor({ state: 'detached' })
  window.assertQuiet()
  await window.close()
})

test('a ChirpStack that does not list its applications is told, and asked again, with the keyboard alone', async () => {
  chirpStack.fault = { code: grpc.status.PERMISSION_DENIED, details: 'no' }
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const dialog = await openDialog(window)
  const byName = dialog.getByRole('radio', { name: /^All, each/ })
  await byName.focus()
  await page.keyboard.press('ArrowDown')
  await dialog.getByRole('alert').waitFor()
  await window.assertAccessible('applications that are not listed')
  chirpStack.fault = undefined
  await dialog.getByRole('button', { name: 'Try again' }).focus()
  await page.keyboard.press('Enter')
  await dialog.getByRole('alert').waitFor({ state: 'detached' })
  await row(dialog, 1).from.focus()
  await chooseByKeys(page, 'La', 'Lamps')
  await page.keyboard.press('Tab')
  await row(dialog, 1).into.and(page.locator(':focus')).waitFor()
  await chooseByKeys(page, 'gas', 'gas-network')
  assert.equal(await row(dialog, 1).from.inputValue(), 'Lamps')
  assert.equal(await row(dialog, 1).into.inputValue(), 'gas-network')
  await dialog.getByRole('button', { name: 'Look' }).focus()
  await page.keyboard.press('Enter')
  await dialog.getByRole('row', { name: 'Application Lamps goes into gas-network' }).waitFor()
  await dialog.getByRole('button', { name: 'Take application 1 away' }).focus()
  await page.keyboard.press('Enter')
  assert.equal(await dialog.getByRole('button', { name: 'Look' }).isDisabled(), true)
  await byName.focus()
  await page.keyboard.press('Space')
  assert.equal(await dialog.getByRole('button', { name: 'Look' }).isDisabled(), false)
  await window.close()
})
