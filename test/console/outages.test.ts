/** The console while the service is away, and after the end of a session: open pages go on. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { ADMIN_PASSWORD, makeFolder, startInProcess } from '../support/running-service.ts'
import { launchBrowser, Window } from './browser.ts'
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

const ADMIN = { userName: 'admin', password: ADMIN_PASSWORD }

test('a page whose code did not come says why, leaves the others alone, and comes when the service is back', async () => {
  const dataDirectory = await makeFolder()
  let service = await startInProcess({ dataDirectory })
  try {
    await new Administration(service).must('POST', '/api/organizations', { organization: { name: 'valley' } })
    const window = await Window.open(browser, service.https)
    const { page } = window
    await window.signIn('/organizations', ADMIN)
    await page.getByRole('heading', { name: 'Organizations' }).waitFor()
    const { port } = new URL(service.https)
    await service.stop()
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByText('The service does not answer').waitFor()
    await window.assertAccessible('a page that did not come')
    await window.picture('service-away')
    await page.getByRole('link', { name: 'Organizations' }).click()
    await page.getByRole('heading', { name: 'Organizations' }).waitFor()
    await page.getByRole('link', { name: 'Network servers' }).click()
    await page.getByText('The service does not answer').waitFor()

    service = await startInProcess({ dataDirectory, environment: { FIELDGATE_HTTPS_PORT: port } })
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'Network servers' }).waitFor()
    await page.getByRole('link', { name: 'Members' }).click()
    await page.getByRole('heading', { name: 'Members' }).waitFor()
    assert.equal(await page.getByText('The service does not answer').count(), 0)
    await window.close()
  } finally {
    await service.stop()
    await rm(dataDirectory, { recursive: true, force: true })
  }
})

test('a console that is older than the service says so, and offers to be reloaded', async () => {
  const { service } = world
  const window = await Window.open(browser, service.https)
  const { page } = window
  await window.signIn('/organizations', ADMIN)
  // An update: the code of the old console is gone, and the first page names the code of the new
  // one.
  await page.route('**/assets/*.js', (route) => route.fulfill({ status: 404, body: '' }))
  await page.route(`${service.https}/`, (route) =>
    route.fulfill({ contentType: 'text/html', body: '<script type="module" src="/assets/newer.js"></script>' }),
  )
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByText('The service was updated').waitFor()
  await page.unrouteAll()
  await page.getByRole('button', { name: 'Reload' }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  await window.close()
})

/** Ends every session of anna, as a changed password does. */
async function endSessions({ service, anna }: World): Promise<void> {
  const json = { username: anna.userName, password: anna.password }
  const { jwt } = await service.http.must('POST', '/api/internal/login', { json })
  await service.http.must('POST', '/api/internal/sign-out-everywhere', { token: String(jwt) })
}

test('the end of a session takes nothing that is being written: the same person signs in and goes on', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  const signInOver = async ({ userName, password }: World['anna']): Promise<void> => {
    await page.getByText('Your session is over. Sign in to go on.').waitFor()
    await page.getByRole('textbox', { name: 'User name', exact: true }).fill(userName)
    await page.getByRole('textbox', { name: 'Password' }).fill(password)
    await page.getByRole('button', { name: 'Sign in' }).click()
  }
  await window.signIn('/codecs', world.anna)
  await page.getByText('JavaScript', { exact: true }).click()
  const editor = page.getByRole('textbox', { name: 'Decoder script' })
  const draft = 'function decodeUplink() { return { data: { draft: 1 } } }'
  await editor.fill(draft)
  await endSessions(world)
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByText('Your session is over. Sign in to go on.').waitFor()
  assert.equal(await page.getByRole('navigation', { name: 'Pages' }).isVisible(), false)
  await window.assertAccessible('signing in over a page')
  await window.picture('sign-in-over')
  await page.keyboard.press('Escape')
  await signInOver(world.anna)
  await page.getByText('not saved').waitFor()
  assert.equal(await editor.inputValue(), draft)
  assert.match(await page.title(), /^Codecs/)
  await page.getByRole('button', { name: 'Try' }).click()
  await page.getByLabel('Values', { exact: true }).getByText('draft').waitFor()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('not saved').waitFor({ state: 'detached' })

  await page.getByRole('link', { name: 'Devices', exact: true }).click()
  await page.getByRole('button', { name: 'New device' }).click()
  await page.getByRole('dialog').getByLabel('DevEUI').fill('00005eef10ffff01')
  await page.getByLabel('Name', { exact: true }).fill('half written')
  await endSessions(world)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('Your session is over. Sign in to go on.').waitFor()
  await window.assertAccessible('signing in over a dialog')
  await page.keyboard.press('Escape')
  await signInOver(world.anna)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByText('half written').first().waitFor()

  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByText('Connected', { exact: true }).waitFor()
  await endSessions(world)
  await page.getByRole('link', { name: 'Members' }).click()
  await signInOver(world.anna)
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByText('Connected', { exact: true }).waitFor()
  await window.close()
})

test('another person who signs in gets nothing of what the one before was writing', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await window.signIn('/devices', world.anna)
  await page.getByRole('button', { name: 'New device' }).click()
  await page.getByRole('dialog').getByLabel('DevEUI').fill('00005eef10ffff01')
  await page.getByLabel('Name', { exact: true }).fill('secret plan')
  await endSessions(world)
  await page.getByRole('button', { name: 'Create', exact: true }).click()
  await page.getByLabel('User name').fill(world.admin.userName)
  await page.getByRole('textbox', { name: 'Password' }).fill(world.admin.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('button', { name: 'New device' }).waitFor()
  await page.getByText('climate-pump-house-1').waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  await page.getByRole('button', { name: 'New device' }).click()
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '')
  const kept = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }])')
  assert.doesNotMatch(String(kept), /secret plan/)
  await window.close()
})
