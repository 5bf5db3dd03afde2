import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
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

const DOUBLING = 'function decodeUplink({ bytes }) {\n  return { data: { level: bytes[0] * 2 } }\n}'
const FAULTY =
  'function decodeUplink({ bytes }) {\n  console.log("got", bytes.length)\n  throw new Error("no such frame")\n}'

async function open(path = '/codecs'): Promise<Window> {
  const window = await Window.open(browser, world.service.https)
  await window.enter(path, world.anna)
  return window
}

async function chooseScript(page: Page): Promise<void> {
  await page.getByText('JavaScript', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Decoder script' }).waitFor()
}

async function try_(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Try', exact: true }).click()
}

test('a script is tried before it is saved: its values, then its fault with line, message and console', async () => {
  const window = await open()
  const { page } = window
  await chooseScript(page)
  const decoder = page.getByRole('textbox', { name: 'Decoder script' })
  await decoder.fill(DOUBLING)
  await page.getByLabel('Bytes in hex').fill('15')
  await try_(page)
  await page.getByLabel('Values', { exact: true }).getByText('"level": 42').waitFor()
  await page.getByText('Base64', { exact: true }).click()
  await page.getByLabel('Bytes in base64').fill('FQ==')
  await try_(page)
  await page.getByLabel('Values', { exact: true }).getByText('"level": 42').waitFor()
  await decoder.fill(FAULTY)
  await try_(page)
  await page.getByText('It failed in line 3').waitFor()
  await page
    .getByRole('alert')
    .getByText(/no such frame/)
    .waitFor()
  await page.getByLabel('Console', { exact: true }).getByText('got 1').waitFor()
  assert.equal(await page.locator('[data-line]').getAttribute('data-line'), '3')
  await window.assertAccessible('codec with a fault')
  await window.picture('codecs-fault-light')
  window.assertQuiet()
  await window.close()
})

test('warnings of a script, and the port that it chooses, are shown', async () => {
  const window = await open()
  const { page } = window
  await chooseScript(page)
  await page
    .getByRole('textbox', { name: 'Decoder script' })
    .fill('function decodeUplink() {\n  return { data: {}, warnings: ["battery is low"] }\n}')
  await try_(page)
  await page.getByRole('alert').getByText('battery is low').waitFor()
  await page.getByText('Object', { exact: true }).click()
  await page.getByRole('textbox', { name: 'Object' }).fill('{"open": tr')
  await page.getByText(/This is not JSON/).waitFor()
  await page.getByRole('textbox', { name: 'Object' }).fill('{"open": true}')
  await try_(page)
  await page.getByText('The script chose port 10.').waitFor()
  await page.getByLabel('Bytes in hex', { exact: true }).getByText('01').waitFor()
  window.assertQuiet()
  await window.close()
})

test('Cayenne LPP encodes and decodes the specification’s example', async () => {
  const window = await open()
  const { page } = window
  await page.getByText('Cayenne LPP', { exact: true }).click()
  await page.getByText('Object', { exact: true }).click()
  await page
    .getByRole('textbox', { name: 'Object' })
    .fill('{"temperatureSensor": {"1": 25}, "humiditySensor": {"1": 32}}')
  await try_(page)
  await page.getByLabel('Bytes in base64').getByText('AWcA+gFoQA==').waitFor()
  await page.getByRole('textbox', { name: 'Object' }).fill('{"temperatureSensor": {"1": 4000}}')
  await try_(page)
  await page.getByText('TemperatureSensor.1: 4000 is above 3276.7.').waitFor()
  await window.close()
})

test('both ways of makers stand ready as templates, and what is no JavaScript is marked while it is typed', async () => {
  const window = await open()
  const { page } = window
  await chooseScript(page)
  const decoder = page.getByRole('textbox', { name: 'Decoder script' })
  assert.match(await decoder.inputValue(), /^[^]*function decodeUplink\(input\)/)
  await page.getByRole('button', { name: 'Templates' }).click()
  await page.getByRole('menuitem', { name: /Decode, Encode/ }).click()
  assert.match(await decoder.inputValue(), /^function Decode\(fPort, bytes, variables\)/)
  await page.getByLabel('Bytes in hex').fill('ff f6')
  await try_(page)
  await page.getByLabel('Values', { exact: true }).getByText('"temperature": -1').waitFor()
  await decoder.fill('function Decode( {\n')
  await page.getByText('Line 1 is no JavaScript yet.').waitFor()
  await window.assertAccessible('script with an error')
  await window.close()
})

test('the editor indents, and its steps are undone like in any field', async () => {
  const window = await open()
  const { page } = window
  await chooseScript(page)
  const decoder = page.getByRole('textbox', { name: 'Decoder script' })
  await decoder.fill('')
  await decoder.pressSequentially('function f() {\nreturn 1\n}')
  assert.equal(await decoder.inputValue(), 'function f() {\n  return 1\n}')
  await page.keyboard.press('ControlOrMeta+z')
  assert.notEqual(await decoder.inputValue(), 'function f() {\n  return 1\n}')
  await page.keyboard.press('Tab')
  assert.notEqual(await page.evaluate('document.activeElement.tagName'), 'TEXTAREA')
  await window.close()
})

test('every way out of the page asks while changes are unsaved, and none after saving', async () => {
  const window = await open(`/codecs?application=${world.applicationId}`)
  const { page } = window
  await chooseScript(page)
  await page.getByRole('textbox', { name: 'Decoder script' }).fill(DOUBLING)
  const question = page.getByRole('dialog', { name: 'Leave without saving?' })
  await page.getByRole('link', { name: 'Members' }).click()
  await question.waitFor()
  await window.assertAccessible('leave without saving')
  await page.getByRole('button', { name: 'Stay' }).click()
  await page.getByText('not saved').waitFor()
  await page.getByRole('combobox', { name: 'Organization' }).click()
  await page.getByRole('option', { name: 'Harbour City' }).click()
  await page.getByRole('button', { name: 'Stay' }).click()
  assert.equal(await page.getByRole('textbox', { name: 'Decoder script' }).inputValue(), DOUBLING)

  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. It decodes from the next event on.').waitFor()
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  await page.goBack()
  await page.getByRole('textbox', { name: 'Decoder script' }).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Decoder script' }).inputValue(), DOUBLING)

  await page.getByText('None', { exact: true }).click()
  await page.getByRole('link', { name: 'Live' }).click()
  await page.getByRole('button', { name: 'Leave', exact: true }).click()
  await page.getByRole('heading', { name: 'Live' }).waitFor()
  await window.close()
})

test('the browser’s own way back asks too', async () => {
  const window = await open('/members')
  const { page } = window
  await page.getByRole('link', { name: 'Codecs' }).click()
  await page.getByText('None', { exact: true }).click()
  await page.getByText('not saved').waitFor()
  await page.evaluate('history.back()')
  await page.getByRole('button', { name: 'Stay' }).click()
  await page.getByText('not saved').waitFor()
  await page.evaluate('history.back()')
  await page.getByRole('button', { name: 'Leave', exact: true }).click()
  await page.getByRole('heading', { name: 'Members' }).waitFor()
  await window.close()
})

test('a script that is no JavaScript is not saved, and the line is shown in the script that it is about', async () => {
  const window = await open()
  const { page } = window
  await chooseScript(page)
  await page.getByRole('textbox', { name: 'Decoder script' }).fill(DOUBLING)
  await page.getByRole('tab', { name: 'Encoder' }).click()
  await page
    .getByRole('textbox', { name: 'Encoder script' })
    .fill('function encodeDownlink() {\n  return { bytes: [1,, ] ) }\n}')
  await page.getByRole('tab', { name: 'Decoder' }).click()
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText(/The encoder script is no JavaScript at line 2, column \d+: SyntaxError/).waitFor()
  await page.getByRole('textbox', { name: 'Encoder script' }).waitFor()
  assert.equal(await page.locator('[data-line]').getAttribute('data-line'), '2')
  await page.getByText('not saved').waitFor()
  await window.assertAccessible('codec that was not saved')
  await window.picture('codecs-not-saved-light')
  await page
    .getByRole('textbox', { name: 'Encoder script' })
    .fill('function encodeDownlink() { return { bytes: [1] } }')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('not saved').waitFor({ state: 'detached' })
  await window.close()
})
