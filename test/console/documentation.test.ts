/**
 * The documentation and the API reference in the browser: axe, the search, a phone, no complaint,
 * no request to another origin.
 */
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

/**
 * The rules of axe take seconds for a long page, so not every page is judged on every screen. Pages
 * with a name are judged in the dark too, and have a picture.
 */
const PAGES: Readonly<Record<(typeof LOOKS)[number], readonly (readonly [path: string, name?: string])[]>> = {
  light: [
    ['/docs'],
    ['/docs/readme', 'documentation'],
    ['/docs/mqtt', 'documentation-mqtt'],
    ['/docs/errors'],
    ['/docs/network-servers/mqtt'],
    ['/docs/no-such-page'],
    ['/api/docs#sendCommand', 'reference'],
  ],
  phone: [['/docs', 'documentation'], ['/docs/settings'], ['/docs/clients'], ['/api/docs#sendCommand', 'reference']],
}

for (const look of LOOKS) {
  test(`pages of the documentation and the API reference pass axe, without a login, ${look}`, async () => {
    const window = await Window.open(browser, world.service.https, look)
    for (const [path, name] of PAGES[look]) {
      await window.page.goto(path)
      await window.page.getByRole('searchbox', { name: 'Search the documentation' }).waitFor()
      if (name === undefined) await window.assertAccessible(`${path}, ${look}`)
      else await window.assertLook(name)
      assert.equal(await window.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true, path)
    }
    const own = window.complaints.filter((text) => !text.includes('404'))
    assert.deepEqual([own, window.foreignRequests], [[], []])
    await window.close()
  })
}

test('what people look for is found by typing it, and the keyboard leads there', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await page.goto('/docs')
  for (const [question, place] of [
    ['token_expired', /\/docs\/errors#(?:http|mqtt)-token_expired$/],
    ['subscribe_not_granted', /\/docs\/errors#mqtt-subscribe_not_granted$/],
    ['0x87', /\/docs\/mqtt#0x87$/],
    ['Keep Alive', /\/docs\//],
    ['sendCommand', /\/api\/docs#sendCommand$/],
  ] as const) {
    await page.keyboard.press('Escape')
    await page.getByRole('searchbox').fill('')
    await page.getByRole('searchbox').fill(question)
    const first = page.locator('#results a').first()
    await first.waitFor()
    assert.match((await first.getAttribute('href')) ?? '', place, question)
  }
  await window.assertAccessible('results of a search')
  await page.getByRole('searchbox').fill('subscribe_not_granted')
  await page.locator('#results a').first().filter({ hasText: 'subscribe_not_granted' }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/docs/errors#mqtt-subscribe_not_granted')
  await page.getByRole('searchbox').fill('no such words xyzzy')
  await page.getByText('Nothing has all of these words.').waitFor()
  window.assertQuiet()
  await window.close()
})

test('the key / goes to the search, an address with a question opens it, and the look is kept', async () => {
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await page.goto('/docs/errors')
  await page.keyboard.press('/')
  assert.equal(await page.evaluate('document.activeElement.id'), 'search')
  await page.goto('/docs?q=token_revoked')
  await page.locator('#results a').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Dark' }).click()
  await page.goto('/docs/mqtt')
  assert.equal(await page.evaluate('document.documentElement.dataset.look'), 'dark')
  await page.getByRole('button', { name: 'Light' }).waitFor()
  window.assertQuiet()
  await window.close()
})

test('a phone opens the list of pages by a button, and pictures are shown', async () => {
  const window = await Window.open(browser, world.service.https, 'phone')
  const { page } = window
  await page.goto('/docs/readme')
  const image = page.getByRole('img', { name: /^Live/ })
  await image.scrollIntoViewIfNeeded()
  // The promise rejects where the picture can't be shown.
  await page.evaluate(`document.querySelector('img[alt^=Live]').decode()`)
  await page.getByRole('button', { name: 'Pages' }).click()
  await page
    .getByRole('navigation', { name: 'Pages', exact: true })
    .getByRole('link', { name: 'MQTT', exact: true })
    .click()
  await page.getByRole('heading', { level: 1, name: 'MQTT' }).waitFor()
  window.assertQuiet()
  await window.close()
})
