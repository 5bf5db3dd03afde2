import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { Administration, PASSWORD } from '../support/administration.ts'
import { ADMIN_PASSWORD, startInProcess } from '../support/running-service.ts'
import { chooseFile, launchBrowser, LOOKS, Window } from './browser.ts'
import type { Look } from './browser.ts'
import { startWorld } from './world.ts'
import type { SignIn, World } from './world.ts'

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

async function open(path: string, who: SignIn = world.anna, look?: Look): Promise<Window> {
  const window = await Window.open(browser, world.service.https, look)
  await window.enter(path, who)
  return window
}

test('an application is made, described, and deleted with its devices once its name is typed', async () => {
  const window = await open('/applications')
  const { page } = window
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New application' }).click()
  await dialog.getByLabel('Name').fill('water-network')
  await window.assertAccessible('new application')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('The organization has an application of this name already.').waitFor()
  await dialog.getByLabel('Name').fill('street-lights')
  await page.keyboard.press('Enter')
  await page.getByText('street-lights', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Edit street-lights' }).click()
  await dialog.getByLabel('Description').fill('Lamps along the lake')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Lamps along the lake').waitFor()

  await page.getByRole('link', { name: 'Devices of street-lights' }).click()
  await page.getByText('No device matches').waitFor()
  await page.getByRole('button', { name: 'New device' }).click()
  await dialog.getByLabel('DevEUI').fill('12')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('The DevEUI must be 16 hexadecimal digits.').waitFor()
  await dialog.getByLabel('DevEUI').fill('00005EEF100FFFFF')
  await dialog.getByLabel('Name', { exact: true }).fill('lamp-1')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('link', { name: 'lamp-1' }).waitFor()

  await page.getByRole('link', { name: 'Applications' }).click()
  await page.getByRole('button', { name: 'Delete street-lights' }).click()
  const sure = dialog.getByRole('button', { name: 'Delete', exact: true })
  assert.equal(await sure.isDisabled(), true)
  await dialog.getByRole('textbox').fill('street-lights')
  await page.getByRole('button', { name: 'Delete', exact: true, disabled: false }).waitFor()
  await window.assertAccessible('delete an application')
  await sure.click()
  await page.getByRole('button', { name: 'Edit street-lights' }).waitFor({ state: 'detached' })
  await window.close()
})

test('a device is changed, disabled and deleted on its page', async () => {
  const device = world.devices[14]
  assert.ok(device !== undefined)
  const window = await open(`/devices/${device.devEui}`)
  const { page } = window
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'Edit' }).click()
  await dialog.getByLabel('Name', { exact: true }).fill('water-meter-college')
  assert.equal(await dialog.getByLabel('Name of tag 1').inputValue(), 'line')
  await dialog.getByRole('button', { name: 'Add a tag' }).click()
  await dialog.getByLabel('Name of tag 2').fill('floor')
  await dialog.getByLabel('Value of tag 2').fill('3')
  await dialog.getByRole('switch', { name: 'Disabled' }).click()
  await window.assertAccessible('edit a device')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('heading', { name: 'water-meter-college' }).waitFor()
  await page.getByText('floor: 3').waitFor()
  await page.getByText('disabled', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('heading', { name: 'Devices' }).waitFor()
  await page.getByText('water-meter-dairy').waitFor()
  assert.equal(await page.getByText('water-meter-college').count(), 0)
  await window.close()
})

test('an import is looked at before it is written, and says what is wrong in which line', async () => {
  const window = await open('/import')
  const { page } = window
  const table = 'devEUI,name\n00005eef10aa0001,new-1\nnonsense,new-2\n00005eef10aa0003,new-3\n00005eef10000000,again\n'
  const chosen = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'Choose a file' }).click()
  await (await chosen).setFiles({ name: 'devices.csv', mimeType: 'text/csv', buffer: Buffer.from(table) })
  await page.getByText('2 rows are wrong').waitFor()
  const rows = page.getByRole('row')
  await rows.filter({ hasText: 'A DevEUI has 16 hexadecimal digits' }).getByText('3', { exact: true }).waitFor()
  await rows.filter({ hasText: 'has this DevEUI already' }).getByText('5', { exact: true }).waitFor()
  await window.assertAccessible('import report')
  await page.getByRole('button', { name: 'Create 2 devices' }).click()
  await page.getByRole('heading', { name: '2 devices were created' }).waitFor()
  await page.getByRole('link', { name: 'To the devices' }).click()
  await page.getByRole('textbox', { name: 'Search' }).fill('new-3')
  await page.getByText('One device.').waitFor()
  window.assertQuiet()
  await window.close()
})

test('an import names the owner of a taken DevEUI and unknown columns, and returns the wrong rows for correction', async () => {
  const window = await open('/import')
  const { page } = window
  const [known] = world.devices
  const table = [
    'devEUI;name;latitude',
    '00-00-5E-EF-10-CC-00-01;first;1',
    `${known?.devEui};known;2`,
    '00005eef10cc0001;twice;3',
    '00005eef10zz;"odd; and\r\nlong";4',
    '',
  ].join('\r\n')
  await chooseFile(page, {
    name: 'meters.csv',
    mimeType: 'text/csv',
    buffer: Buffer.from(`\uFEFF${table}`, 'utf16le'),
  })
  await page.getByRole('button', { name: 'Create 1 device' }).waitFor()
  await page.getByText(/This column is not known, and will not be imported: latitude/).waitFor()
  const region = page.getByRole('region', { name: 'Rows that are wrong' })
  assert.deepEqual(await region.locator('td:first-child').allTextContents(), ['3', '4', '6'])
  await region.getByText('Line 2 of this table has the same DevEUI.').waitFor()
  await region
    .getByText(new RegExp(`The device "${known?.name}" in application "water-network" of organization`))
    .waitFor()
  await region.getByText('00005eef10zz').first().waitFor()
  await window.assertAccessible('import with wrong rows')
  await window.picture('import-wrong-light')
  await page.getByRole('button', { name: 'Create 1 device' }).click()
  await page.getByText('1 device was created').waitFor()
  // The import in pieces reports the same as the check.
  await region.getByText('Line 2 of this table has the same DevEUI.').waitFor()
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download these 3 rows' }).click(),
  ])
  assert.equal(download.suggestedFilename(), 'meters-wrong.csv')
  const lines = (await readFile(await download.path(), 'utf8')).split('\r\n')
  assert.equal(lines[0], 'devEUI;name;latitude;problem')
  assert.match(lines[1] ?? '', new RegExp(`^${known?.devEui};known;2;"The device ""${known?.name}"" in application`))
  assert.equal(lines[2], '00005eef10cc0001;twice;3;"Line 2 of this table has the same DevEUI."')
  assert.deepEqual(lines.slice(3), [
    '00005eef10zz;"odd; and',
    'long";4;"A DevEUI has 16 hexadecimal digits, like 00005eef10a00001."',
    '',
  ])
  await window.close()
})

test('an import of many rows shows how far it is, and can be cancelled; a file that is none says so', async () => {
  const window = await open('/import')
  const { page } = window
  const rows = Array.from(
    { length: 30_000 },
    (_, row) => `${(0x00005eef20000000 + row).toString(16).padStart(16, '0')},m${row}`,
  )
  const file = { name: 'many.csv', mimeType: 'text/csv', buffer: Buffer.from(`devEUI,name\n${rows.join('\n')}\n`) }
  // With this line the upload takes most of a minute.
  const network = await window.context.newCDPSession(page)
  const line = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 15_000 }
  await network.send('Network.emulateNetworkConditions', line)
  await chooseFile(page, file)
  await page.getByRole('progressbar', { name: 'Checking many.csv' }).waitFor()
  await page.getByText(/^Checking many\.csv: [1-9]\d? %$/).waitFor()
  await window.assertAccessible('import under way')
  const cancelled = page.waitForEvent('requestfailed')
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.equal((await cancelled).failure()?.errorText, 'net::ERR_ABORTED')
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await network.send('Network.emulateNetworkConditions', { ...line, uploadThroughput: -1 })
  await page.getByRole('heading', { name: 'Table', exact: true }).waitFor()
  await chooseFile(page, { name: 'picture.csv', mimeType: 'text/csv', buffer: Buffer.from('colour,size\nred,2\n') })
  await page
    .getByRole('alert')
    .getByText(/devEUI/)
    .waitFor()
  await chooseFile(page, file)
  await page.getByRole('button', { name: 'Create 30,000 devices' }).waitFor({ timeout: 60_000 })
  await window.close()
})

test('an import that is cancelled creates no more than was told; importing again adds the rest', async () => {
  const window = await open('/import')
  const { page } = window
  const rows = Array.from({ length: 6_000 }, (_, row) => `00005eef30${row.toString(16).padStart(6, '0')},piece-${row}`)
  const table = `devEUI,name\n${rows.join('\n')}\nnonsense,wrong\n`
  const file = { name: 'pieces.csv', mimeType: 'text/csv', buffer: Buffer.from(table) }
  await chooseFile(page, file)
  const create = page.getByRole('button', { name: 'Create 6,000 devices' })
  await create.waitFor()
  // The second piece never reaches the service.
  const answers: string[] = []
  await page.route('**/api/devices/import?*', async (route) => {
    if (answers.length > 0) return
    const response = await route.fetch()
    answers.push(((await response.json()) as { createdCount: string }).createdCount)
    await route.fulfill({ response })
  })
  await create.click()
  await page.getByText(/^Creating the devices of pieces\.csv: [1-9]\d %$/).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('progressbar').waitFor({ state: 'detached' })
  await page.unroute('**/api/devices/import?*')
  const created = Number(answers[0])
  assert.ok(created > 1_000 && created < 3_000, String(created))

  await chooseFile(page, file)
  const left = (6_000 - created).toLocaleString('en')
  await page.getByRole('button', { name: `Create ${left} devices` }).click()
  await page.getByRole('heading', { name: `${left} devices were created` }).waitFor()
  await page.getByText(`${(created + 1).toLocaleString('en')} rows are wrong`).waitFor()
  // Line numbers are those of the table, whichever piece the line is in.
  const wrong = page.getByRole('row').filter({ hasText: 'has this DevEUI already' })
  await wrong.first().getByText('2', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'To the devices' }).click()
  await page.getByRole('textbox', { name: 'Search' }).fill('piece-')
  await page.getByText('6,000 devices.').waitFor()
  window.assertQuiet()
  await window.close()
})

test('a network server’s credential shows its password once, and is revoked', async () => {
  const window = await open('/network-servers')
  const { page } = window
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New credential' }).click()
  await dialog.getByLabel('Name').fill('chirpstack')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('The password is shown this once.').waitFor()
  await dialog.getByText(`ssl://localhost:${world.service.mqttsPort}`).waitFor()
  await dialog.getByRole('button', { name: 'Copy: Password' }).waitFor()
  await window.assertAccessible('new credential')
  await window.picture('new-credential-light')
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  await dialog.getByRole('button', { name: 'I have entered it' }).click()
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'Revoke chirpstack' }).click()
  await dialog.getByRole('button', { name: 'Revoke', exact: true }).click()
  await page.getByRole('button', { name: 'Revoke chirpstack' }).waitFor({ state: 'detached' })
  window.assertQuiet()
  await window.close()
})

test('a global admin makes a user, whose role grows, who gets a password, and is shut out', async () => {
  const window = await open('/users', world.admin)
  const { page } = window
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New user' }).click()
  await dialog.getByLabel('User name').fill('beat')
  await dialog.getByLabel('First password').fill('a first password')
  await window.assertAccessible('new user')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Edit beat' }).waitFor()

  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('button', { name: 'Change the role of beat' }).click()
  await dialog.getByRole('combobox', { name: 'Role' }).click()
  await page.getByRole('option', { name: 'Device admin' }).click()
  await window.assertAccessible('role')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('row').filter({ hasText: 'beat' }).getByText('Device admin').waitFor()
  await page.getByRole('button', { name: 'Add a member' }).click()
  await dialog.getByLabel('User name').fill('beat')
  await dialog.getByRole('button', { name: 'Add' }).click()
  await dialog.getByText('This user is a member already.').waitFor()
  await page.keyboard.press('Escape')

  await page.getByRole('link', { name: 'Users' }).click()
  await page.getByRole('button', { name: 'Set the password of beat' }).click()
  await dialog.getByLabel('New password', { exact: true }).fill('a second password')
  await dialog.getByRole('button', { name: 'Set password' }).click()
  await dialog.waitFor({ state: 'detached' })
  const beat = { userName: 'beat', password: 'a second password' }
  const theirs = await open('/devices', beat)
  await theirs.page.getByRole('button', { name: 'New device' }).waitFor()
  assert.equal(await theirs.page.getByRole('link', { name: 'Members' }).count(), 0)

  await page.getByRole('button', { name: 'Edit beat' }).click()
  await dialog.getByRole('checkbox', { name: 'May sign in' }).uncheck()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByText('can’t sign in').waitFor()
  await theirs.page.getByRole('link', { name: 'Connect' }).click()
  await theirs.page.getByText('Your session is over. Sign in to go on.').waitFor()
  await theirs.close()
  await window.picture('users-light')

  await page.getByRole('button', { name: 'Delete beat' }).click()
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Edit beat' }).waitFor({ state: 'detached' })
  await window.close()
})

test('an organization is made, renamed, chosen, and deleted once its name is typed', async () => {
  const window = await open('/organizations', world.admin)
  const { page } = window
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: 'New organization' }).click()
  await dialog.getByLabel('Name for people').fill('Hill Farm')
  await dialog.getByLabel('Short name').fill('harbour-city')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await dialog.getByText('Another organization has this short name.').waitFor()
  await dialog.getByLabel('Short name').fill('hill-farm')
  await window.assertAccessible('new organization')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('button', { name: 'Edit Hill Farm' }).click()
  await dialog.getByLabel('Name for people').fill('Hill Farms')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await page.getByRole('button', { name: 'Switch to Hill Farms' }).click()
  await page.getByText('chosen', { exact: true }).waitFor()
  await page.locator('input[value="Hill Farms"]').waitFor()
  await page.getByRole('link', { name: 'Codecs' }).click()
  await page.getByText('No application yet').waitFor()
  await window.assertAccessible('nothing to write a codec for')
  await page.getByRole('link', { name: 'Organizations' }).click()
  await page.getByRole('button', { name: 'Delete Hill Farms' }).click()
  await dialog.getByRole('textbox').fill('Hill Farms')
  await dialog.getByRole('button', { name: 'Delete', exact: true }).click()
  await page.getByRole('button', { name: 'Edit Hill Farms' }).waitFor({ state: 'detached' })
  await page.locator('input[value="Alpine Valley Water"]').waitFor()
  await window.close()
})

test('the first organization of a new deployment is made where there is none yet', async () => {
  await using service = await startInProcess()
  const window = await Window.open(browser, service.https)
  const { page } = window
  await page.goto('/')
  await page.getByLabel('User name').fill('admin')
  await page.getByRole('textbox', { name: 'Password' }).fill(ADMIN_PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('The first organization').waitFor()
  await window.assertAccessible('no organization yet')
  await window.picture('first-organization-light')
  await page.getByRole('button', { name: 'New organization' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name for people').fill('Hill Farm')
  await dialog.getByLabel('Short name').fill('hill-farm')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await page.getByRole('heading', { name: 'Connect' }).waitFor()
  await page.getByRole('link', { name: 'To the applications' }).click()
  await page.getByText('No application yet').waitFor()
  window.assertQuiet()
  await window.close()
})

test('somebody in no organization is told what to do', async () => {
  await new Administration(world.service).must('POST', '/api/users', { user: { email: 'dora' }, password: PASSWORD })
  const window = await Window.open(browser, world.service.https)
  const { page } = window
  await page.goto('/')
  await page.getByLabel('User name').fill('dora')
  await page.getByRole('textbox', { name: 'Password' }).fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByText('You are in no organization yet').waitFor()
  await window.assertAccessible('in no organization')
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('User name').waitFor()
  await window.close()
})

test('the audit log tells who did what, is searched, and turns its pages', async () => {
  const administration = new Administration(world.service)
  const applicationId = await administration.application(world.organizationId)
  for (let count = 0; count < 30; count += 1) {
    await administration.must('PUT', `/api/applications/${applicationId}`, {
      application: { description: `${count}` },
    })
  }
  const window = await open('/audit-log')
  const { page } = window
  await page.getByText('Application updated').first().waitFor()
  await page.getByRole('button', { name: 'next page' }).click()
  await page.getByText('Application created').first().waitFor()
  await page.getByRole('button', { name: 'Members' }).click()
  await page.getByText('Member added').first().waitFor()
  await page.getByText('Application created').first().waitFor({ state: 'detached' })
  await window.assertAccessible('audit log, members')
  await page.getByRole('textbox', { name: 'Search by action, id or DevEUI' }).fill('no such thing')
  await page.getByText('Nothing is recorded').waitFor()
  await window.close()
})

test('the audit log leaves the console’s own tokens out until they are asked for, and names a global admin', async () => {
  const window = await open('/live')
  const { page } = window
  await page.getByText('Connected', { exact: true }).waitFor()
  await page.goto('/audit-log')
  const issued = page.getByRole('row').filter({ hasText: 'Token issued' }).filter({ hasText: 'of console: yes' })
  await page.getByRole('row').filter({ hasText: 'admin' }).first().waitFor()
  assert.equal(await issued.count(), 0)
  assert.equal(await page.getByText('user 1', { exact: true }).count(), 0)
  await page.getByRole('switch', { name: 'Show the console’s own tokens' }).click()
  await issued.first().waitFor()
  await window.assertAccessible('audit log with the console’s tokens')
  await window.picture('audit-console-tokens-light')
  await window.close()
})

test('search, page and filters of a list stand in the address, and a reload leads to the same rows', async () => {
  const window = await open('/audit-log', world.admin)
  const { page } = window
  const address = (): Record<string, string> => Object.fromEntries(new URL(page.url()).searchParams)
  await page.getByText('All', { exact: true }).click()
  await page.getByRole('button', { name: 'next page' }).click()
  await page.waitForURL('**/audit-log?scope=deployment&page=2')
  // A search and a filter begin at the first page.
  await page.getByRole('textbox', { name: /^Search/ }).fill('user.')
  await page.waitForURL((url) => url.searchParams.has('search'))
  assert.deepEqual(address(), { scope: 'deployment', search: 'user.' })
  await page.getByText('Organization created').first().waitFor({ state: 'detached' })
  await page.reload()
  await page.getByText('User created').first().waitFor()
  assert.equal(await page.getByRole('textbox', { name: /^Search/ }).inputValue(), 'user.')
  assert.equal(await page.getByText('Organization created').count(), 0)
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  await page.goBack()
  await page.getByText('User created').first().waitFor()
  window.assertQuiet()
  await window.close()
})

test('the whole deployment is for global admins, whatever the address says', async () => {
  const window = await open('/audit-log?scope=deployment')
  await window.page.getByText('What was done to Alpine Valley Water in the last 90 days').waitFor()
  assert.equal(await window.page.getByText('All', { exact: true }).count(), 0)
  await window.close()
})

test('a user without the right to administer is not offered administration', async () => {
  const administration = new Administration(world.service)
  const organizations = [{ organizationID: world.organizationId }]
  await administration.must('POST', '/api/users', { user: { email: 'carla' }, password: PASSWORD, organizations })
  const window = await open('/devices', { userName: 'carla', password: PASSWORD })
  const { page } = window
  await page.getByText('climate-pump-house-1').waitFor()
  assert.deepEqual(await page.getByRole('navigation', { name: 'Pages' }).getByRole('link').allTextContents(), [
    'Connect',
    'Live',
    'Devices',
    'Why no data?',
    'Device library',
  ])
  assert.equal(await page.getByRole('button', { name: 'New device' }).count(), 0)
  await page.getByRole('link', { name: 'climate-pump-house-1' }).click()
  await page.getByText('Connected', { exact: true }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0)
  await window.close()

  const theirs = await open('/organizations')
  await theirs.page.getByRole('button', { name: 'Edit Harbour City' }).click()
  assert.equal(await theirs.page.getByLabel('Short name').count(), 0)
  assert.equal(await theirs.page.getByRole('button', { name: /^Delete/ }).count(), 0)
  await theirs.close()
})

test('a dialog takes the keyboard in, and gives it back to where it came from', async () => {
  const window = await open('/applications')
  const { page } = window
  const edit = page.getByRole('button', { name: 'Edit water-network' })
  await edit.focus()
  await page.keyboard.press('Enter')
  await page.getByRole('dialog').waitFor()
  await page.keyboard.type('!')
  assert.match(await page.getByRole('dialog').getByLabel('Name').inputValue(), /!/)
  await page.keyboard.press('Escape')
  await page.getByRole('dialog').waitFor({ state: 'detached' })
  await page.waitForFunction('document.activeElement.getAttribute("aria-label") === "Edit water-network"')
  await window.close()
})

for (const look of LOOKS) {
  test(`the pages of global admins pass axe and look as their pictures show, ${look}`, async () => {
    const window = await open('/users', world.admin, look)
    const { page } = window
    await page.getByText('global admin', { exact: true }).waitFor()
    await window.assertLook('users')
    await page.goto('/audit-log')
    await page.getByText('All', { exact: true }).click()
    await page.getByText('User created').first().waitFor()
    await window.assertLook('audit-log-all')
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true)
    window.assertQuiet()
    await window.close()
  })
}

test('an address without the right says so in one sentence, without buttons', async () => {
  const administration = new Administration(world.service)
  const organizations = [{ organizationID: world.organizationId }]
  await administration.must('POST', '/api/users', { user: { email: 'emil' }, password: PASSWORD, organizations })
  const cases = [
    [world.anna, ['/users', '/status'], 'This page is for global admins of the deployment only.'],
    [{ userName: 'emil', password: PASSWORD }, ['/import'], 'This page is for device admins of the organization.'],
    [{ userName: 'emil', password: PASSWORD }, ['/members', '/codecs'], 'This page is for admins of the organization.'],
  ] as const
  for (const [person, paths, sentence] of cases) {
    const window = await open(paths[0], person)
    const { page } = window
    for (const path of paths) {
      await page.goto(path)
      await page.getByText(sentence).waitFor()
      assert.equal(await page.getByRole('main').getByRole('button').count(), 0)
      await window.assertAccessible(path)
    }
    window.assertQuiet()
    await window.close()
  }
})
