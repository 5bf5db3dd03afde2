/** The bounds of organizations: seen by members, changed by global admins, told in the status. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { connectAsync } from 'mqtt'
import type { MqttClient } from 'mqtt'
import type { Browser, Locator, Page } from 'playwright-core'
import { Administration, PASSWORD } from '../support/administration.ts'
import { launchBrowser, LOOKS, Window } from './browser.ts'
import type { Look } from './browser.ts'
import { startWorld } from './world.ts'
import type { SignIn, World } from './world.ts'

let browser: Browser
let world: World
let administration: Administration
let path: string
const clients: MqttClient[] = []

before(async () => {
  world = await startWorld()
  browser = await launchBrowser()
  administration = new Administration(world.service)
  path = `/api/organizations/${world.organizationId}/bounds`
  const session = await administration.login(world.anna.userName, world.anna.password)
  const username = await administration.brokerToken(session, world.organizationId)
  const { ca, mqttsPort } = world.service
  // The network server of the world has the fourth connection.
  for (let index = 0; index < 3; index += 1) {
    const options = { ca, username, password: 'default', protocolVersion: 5, reconnectPeriod: 0 } as const
    clients.push(await connectAsync(`mqtts://localhost:${mqttsPort}`, options))
  }
  await administration.must('PUT', path, { bounds: { sessions: 5, connections: 4 } })
})

after(async () => {
  for (const client of clients) client.end(true)
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
})

async function open(at: string, user: SignIn, look?: Look): Promise<Window> {
  const window = await Window.open(browser, world.service.https, look)
  await window.enter(at, user)
  return window
}

/** The page of the bounds of the world's first organization. */
function ofAlpineValley(): string {
  return `/bounds?organization=${world.organizationId}`
}

function row(page: Page, label: string): Locator {
  return page.getByRole('listitem').filter({ has: page.getByText(label, { exact: true }) })
}

for (const look of LOOKS) {
  test(`the bounds show use, nearness and effect, pass axe and look as their pictures show, ${look}`, async () => {
    const window = await open(ofAlpineValley(), world.admin, look)
    const { page } = window
    await page.getByText('1 bound reached, 1 bound near').waitFor()
    const connections = row(page, 'Connections')
    await connections.getByText('4 of 4').waitFor()
    await connections.getByText('at its bound').waitFor()
    await connections.getByText('New connections are refused. Open connections go on.').waitFor()
    await connections.getByText('own value').waitFor()
    const sessions = row(page, 'Sessions')
    await sessions.getByText('near its bound').waitFor()
    await sessions.getByText('At the bound: Clients without a Session are refused.').waitFor()
    const meter = page.getByRole('meter', { name: 'Sessions', exact: true })
    assert.equal(await meter.getAttribute('aria-valuenow'), '80')
    assert.equal(await meter.getAttribute('aria-valuetext'), '4 of 5, 80 %')
    await row(page, 'Size of retained messages').getByText('0 B of 32 MiB').waitFor()
    await window.assertLook('bounds')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    window.assertQuiet()
    await window.close()
  })
}

test('a global admin gives a bound, with a check of the range, and goes back to the deployment’s', async () => {
  const window = await open(ofAlpineValley(), world.admin)
  const { page } = window
  const dialog = page.getByRole('dialog')
  const change = page.getByRole('button', { name: 'Change the bound: Size of retained messages' })
  await change.focus()
  await page.keyboard.press('Enter')
  await dialog.getByRole('radio', { name: 'Use the deployment’s value: 32 MiB', checked: true }).waitFor()
  // The dialog gives the keyboard to the value. Typing chooses the organization's own value.
  await page.keyboard.press('Control+A')
  await page.keyboard.type('512')
  await dialog.getByRole('radio', { name: 'Use a value of its own', checked: true }).waitFor()
  await dialog.getByText('Choose a value from 0 B to 256 MiB.').waitFor()
  assert.equal(await dialog.getByRole('button', { name: 'Save' }).isDisabled(), true)
  await window.assertAccessible('a bound out of its range')
  await window.picture('bound-out-of-range-light')
  await dialog.getByRole('textbox', { name: 'Own value' }).fill('1.5')
  await page.keyboard.press('Enter')
  await row(page, 'Size of retained messages').getByText('0 B of 1.5 MiB').waitFor()
  await row(page, 'Size of retained messages').getByText('Deployment’s value: 32 MiB').waitFor()

  await change.click()
  await dialog.getByRole('radio', { name: 'Use the deployment’s value: 32 MiB' }).click()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row(page, 'Size of retained messages').getByText('0 B of 32 MiB').waitFor()

  await page.getByRole('button', { name: 'Change the bound: Sessions', exact: true }).click()
  await dialog.getByRole('textbox', { name: 'Own value' }).fill('2')
  await dialog.getByText('Alpine Valley Water uses 4. It keeps what it has').waitFor()
  await window.assertAccessible('a bound below the use')
  await window.picture('bound-below-use-light')
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  window.assertQuiet()
  await window.close()
})

test('what is being typed outlives a refusal and the refresh of the page', async () => {
  const window = await open(ofAlpineValley(), world.admin)
  const { page } = window
  const dialog = page.getByRole('dialog')
  await row(page, 'Waiting commands').getByText('0 of 20,000').waitFor()
  await page.getByRole('button', { name: 'Change the bound: Waiting commands' }).click()
  const input = dialog.getByRole('textbox', { name: 'Own value' })
  await input.fill('30,000')
  await page.route(`**${path}`, async (route) => {
    if (route.request().method() === 'GET') await route.fallback()
    else
      await route.fulfill({
        status: 500,
        json: { code: 13, message: 'internal error', details: [{ reason: 'internal' }] },
      })
  })
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.getByText('Something failed inside the service.').waitFor()
  assert.equal(await input.inputValue(), '30,000')
  // Another admin changes a bound meanwhile. The page asks again every ten seconds.
  await administration.must('PUT', path, { bounds: { waitingCommands: 7_000 } })
  await page.getByText('0 of 7,000').waitFor({ timeout: 30_000 })
  assert.equal(await input.inputValue(), '30,000')
  await page.unroute(`**${path}`)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row(page, 'Waiting commands').getByText('0 of 30,000').waitFor()
  await administration.must('PUT', path, { bounds: { waitingCommands: null } })
  await window.close()
})

test('members see the bounds of their organization, and change none', async () => {
  const organizations = [{ organizationID: world.organizationId }]
  await administration.must('POST', '/api/users', { user: { email: 'gina' }, password: PASSWORD, organizations })
  const window = await open('/connect', { userName: 'gina', password: PASSWORD })
  const { page } = window
  await page.getByRole('link', { name: 'Bounds of the organization' }).click()
  await row(page, 'Connections').getByText('4 of 4').waitFor()
  assert.equal(await page.getByRole('main').getByRole('button').count(), 0)
  await window.assertAccessible('bounds of a member')
  window.assertQuiet()
  await window.close()

  const theirs = await open('/organizations', world.anna)
  await theirs.page.getByRole('link', { name: 'Bounds of Harbour City' }).click()
  await theirs.page.getByText('the bounds of Harbour City').waitFor()
  await theirs.page.getByText('No bound is near').waitFor()
  await theirs.page.locator('input[value="Harbour City"]').waitFor()
  assert.equal(new URL(theirs.page.url()).search, '')
  assert.equal(await theirs.page.getByRole('button', { name: /^Change the bound/ }).count(), 0)
  theirs.assertQuiet()
  await theirs.close()
})

test('bounds that can’t be read say so, and are asked for again', async () => {
  const window = await open('/connect', world.anna)
  const { page } = window
  await page.route('**/bounds', (route) =>
    route.fulfill({ status: 404, json: { code: 5, message: 'not found', details: [{ reason: 'object_not_found' }] } }),
  )
  await page.getByRole('link', { name: 'Bounds', exact: true }).click()
  await page.getByText('This does not exist, or you have no role in its organization.').waitFor()
  await page.unroute('**/bounds')
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('meter', { name: 'Connections', exact: true }).waitFor()
  await window.close()
})

test('the status names the organizations near a bound, and leads to their bounds', async () => {
  const window = await open('/status', world.admin)
  const { page } = window
  const heading = page.getByRole('heading', { name: 'Organizations near a bound' })
  const common = { organizationID: world.organizationId, organizationName: 'Alpine Valley Water' }
  let nearBounds: readonly object[] = []
  await page.route('**/api/status', async (route) => {
    const response = await route.fetch()
    const status = (await response.json()) as { readonly numbers: object }
    await route.fulfill({ response, json: { ...status, numbers: { ...status.numbers, nearBounds } } })
  })
  await page.reload()
  await page.getByText('Stored messages').waitFor()
  assert.equal(await heading.count(), 0)
  nearBounds = [
    { ...common, bound: 'connections', unit: 'count', used: 4, maximum: 4 },
    { ...common, bound: 'retainedBytes', unit: 'bytes', used: 28 * 1_048_576, maximum: 33_554_432 },
    { organizationID: '77', organizationName: '', bound: 'sessions', unit: 'count', used: 9, maximum: 10 },
    ...Array.from({ length: 9 }, (_, index) => ({
      organizationID: `${100 + index}`,
      organizationName: `Farm ${index}`,
      bound: 'sessions',
      unit: 'count',
      used: 8_000 + index,
      maximum: 10_000,
    })),
  ]
  await page.reload()
  await heading.waitFor()
  await page.getByText('28 MiB of 32 MiB').waitFor()
  await page.getByText('a deleted organization').waitFor()
  await page.getByText('Farm 8').waitFor({ state: 'detached' })
  await window.assertLook('status-near-bounds')
  await page.getByRole('button', { name: 'Show all 12' }).click()
  await page.getByText('Farm 8').waitFor()
  await page.getByRole('link', { name: 'Bounds of Alpine Valley Water: Connections' }).click()
  await page.getByText('1 bound reached, 1 bound near').waitFor()
  window.assertQuiet()
  await window.close()
})
