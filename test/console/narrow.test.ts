/**
 * Narrow screens and long names: kinds and names of events are whole at every width, and long names
 * break.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Browser } from 'playwright-core'
import { Administration } from '../support/administration.ts'
import { launchBrowser, Window } from './browser.ts'
import type { Look } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
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

const KINDS = ['up', 'join', 'ack', 'txack', 'status', 'location', 'error'] as const
/** A script of the page: the texts of kinds and names that are cut. */
const CUT = `[...document.querySelectorAll('[role=option] [class*=device], [role=option] [class*=Badge-label]')]
  .filter((one) => one.scrollWidth > one.clientWidth || one.getBoundingClientRect().width === 0)
  .map((one) => one.textContent)`

test('kinds of events and names of devices are whole at 1440 pixels, on a tablet and on a phone', async () => {
  for (const device of world.devices) await world.publish(device, 'up', climateUplink(1))
  const [first] = world.devices
  assert.ok(first !== undefined)
  for (const kind of KINDS) await world.publish(first, kind, {})
  for (const [look, width, height] of [
    ['light', 1440, 900],
    ['light', 820, 1180],
    ['phone', 390, 844],
  ] as const satisfies readonly (readonly [Look, number, number])[]) {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await page.setViewportSize({ width, height })
    await window.enter('/live', world.anna)
    await page.getByRole('option').filter({ hasText: 'location' }).waitFor()
    assert.deepEqual(await page.evaluate(CUT), [], `${width} pixels`)
    await window.assertLook(`live-${width}`)
    await window.close()
  }
})

test('a long name of an application breaks instead of running over its neighbour', async () => {
  const administration = new Administration(world.service)
  const name = 'a'.repeat(100)
  const applicationID = await administration.application(world.organizationId, { name })
  const devEUI = '00005eef10dd0001'
  await administration.must('POST', '/api/devices', { device: { devEUI, name: 'long', applicationID } })
  for (const look of ['light', 'phone'] as const) {
    const window = await Window.open(browser, world.service.https, look)
    const { page } = window
    await window.enter(`/devices/${devEUI}`, world.anna)
    const told = page.getByText(name)
    await told.waitFor()
    assert.equal(await told.evaluate((one) => one.scrollWidth <= one.clientWidth), true)
    await window.picture(`device-long-${look}`)
    await window.close()
  }
})
