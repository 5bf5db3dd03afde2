import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Secret, TOTP } from 'otpauth'
import type { Browser } from 'playwright-core'
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

const open = () => Window.open(browser, world.service.https)

test('a wrong password is told in words, a right one opens the page that was asked for, and a reload keeps it', async () => {
  const window = await open()
  const { page } = window
  await page.goto('/devices')
  await page.getByLabel('User name').fill('anna')
  await page.getByRole('textbox', { name: 'Password' }).fill('wrong')
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The user name or the password is wrong.').waitFor()
  await page.getByRole('textbox', { name: 'Password' }).fill(world.anna.password)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  await page.reload()
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  assert.deepEqual(window.foreignRequests, [])
  await window.close()
})

test('the session is out of reach of scripts, and nothing of it stands in addresses or in storage', async () => {
  const window = await open()
  const { page, context } = window
  const addresses: string[] = []
  page.on('request', (request) => addresses.push(request.url()))
  page.on('websocket', (socket) => addresses.push(socket.url()))
  await window.signIn('/live', world.anna)
  await page.getByText('Connected', { exact: true }).waitFor()
  const kept = (await page.evaluate(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
  )) as string
  assert.doesNotMatch(kept, /eyJ/)
  assert.ok(addresses.every((address) => !address.includes('eyJ')))
  const [cookie, ...others] = await context.cookies()
  assert.equal(others.length, 0)
  assert.deepEqual([cookie?.httpOnly, cookie?.secure, cookie?.sameSite], [true, true, 'Strict'])
  window.assertQuiet()
  await window.close()
})

test('signing out forgets the session here, signing out everywhere ends it in the other window too', async () => {
  const [here, there] = [await open(), await open()]
  await here.signIn('/devices', world.anna)
  await there.signIn('/devices', world.anna)
  await there.page.getByRole('button', { name: 'You' }).click()
  await there.page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()
  await there.page.getByLabel('User name').waitFor()
  await there.page.reload()
  await there.page.getByLabel('User name').waitFor()
  await there.signIn('/devices', world.anna)
  await there.page.getByRole('button', { name: 'You' }).click()
  await there.page.getByRole('menuitem', { name: 'Sign out everywhere' }).click()
  await there.page.getByLabel('User name').waitFor()
  await here.page.getByRole('textbox', { name: 'Search' }).fill('valve')
  await here.page.getByText('Your session is over. Sign in to go on.').waitFor()
  await here.close()
  await there.close()
})

test('another organization is chosen at the top, stays chosen over a reload, and shows nothing of the first', async () => {
  const window = await open()
  const { page } = window
  await window.signIn('/devices', world.anna)
  await page.getByText('climate-pump-house-1').waitFor()
  await page.getByRole('combobox', { name: 'Organization' }).click()
  await page.getByRole('option', { name: 'Harbour City' }).click()
  await page.getByText('No device yet').waitFor()
  assert.equal(await page.getByText('climate-pump-house-1').count(), 0)
  await page.reload()
  await page.getByText('No device yet').waitFor()
  await page.getByRole('link', { name: 'Connect', exact: true }).click()
  await page.getByText('No application yet').waitFor()
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByText('Nothing to watch yet').waitFor()
  await page.getByRole('main').getByRole('link', { name: 'To the applications' }).waitFor()
  await window.assertAccessible('empty organization')
  window.assertQuiet()
  await window.close()
})

test('the second factor is set up with its QR code, asked for when signing in, and turned off by a recovery code', async () => {
  const window = await open()
  const { page } = window
  await window.signIn('/account', world.anna)
  await page.getByRole('button', { name: 'Set up' }).click()
  await page.getByAltText('QR code with the key').waitFor()
  const key = await page.getByText(/^[A-Z2-7]{32}$/).textContent()
  const totp = new TOTP({ secret: Secret.fromBase32(key ?? '') })
  await page.getByRole('button', { name: 'Next' }).click()
  const codes = ((await page.getByLabel('Recovery codes', { exact: true }).textContent()) ?? '').split('\n')
  assert.equal(codes.length, 10)
  await page.getByRole('button', { name: 'I have kept them' }).click()
  await page.getByLabel('Code that the authenticator shows now').fill('000000')
  await page.getByRole('button', { name: 'Turn on' }).last().click()
  await page.getByText('This code is wrong').waitFor()
  // Each code is good once, and the code of the next step is accepted too: the current code turns
  // the second factor on, the next one signs in.
  await page.getByLabel('Code that the authenticator shows now').fill(totp.generate())
  await page.getByRole('button', { name: 'Turn on' }).last().click()
  await page.getByRole('button', { name: 'New recovery codes' }).waitFor()
  await page.getByRole('button', { name: 'You' }).click()
  await page.getByRole('menuitem', { name: 'Sign out', exact: true }).click()

  await page.getByLabel('User name').fill('anna')
  await page.getByRole('textbox', { name: 'Password' }).fill(world.anna.password)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'One more step' }).waitFor()
  await window.assertAccessible('second step')
  await window.picture('second-step')
  await page.getByLabel('Code', { exact: true }).fill(totp.generate({ timestamp: Date.now() + 30_000 }))
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByLabel('Code of your authenticator').fill(codes[0] ?? '')
  await page.getByRole('button', { name: 'Turn off' }).click()
  await page.getByRole('button', { name: 'Set up' }).waitFor()
  assert.deepEqual(window.foreignRequests, [])
  await window.close()
})

test('a changed password ends the session here, and is asked for from then on', async () => {
  const window = await open()
  const { page } = window
  await window.signIn('/account', world.anna)
  await page.getByLabel('Current password').fill(world.anna.password)
  await page.getByLabel('New password', { exact: true }).fill('another sentence to know')
  await page.getByLabel('New password again').fill('another sentence to know')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText('Your password is changed. Sign in with the new one.').waitFor()
  await window.signIn('/account', { userName: 'anna', password: 'another sentence to know' })
  await window.close()
})
