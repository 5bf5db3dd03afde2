/** The console while the service is away, and while nobody is signed in any more: what was open goes on. */
import assert from 'node:assert/strict'
import { rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { ADMIN_PASSWORD, makeFolder, startInProcess } from '../support/running-service.ts'
import { launchBrowser, Window } from './browser.ts'

let browser: Browser

before(async () => {
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
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
  await using service = await startInProcess()
  await new Administration(service).must('POST', '/api/organizations', { organization: { name: 'valley' } })
  const window = await Window.open(browser, service.https)
  const { page } = window
  await window.signIn('/organizations', ADMIN)
  // An update: the code of the old console is gone, and the first page names that of the new one.
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
