/** The programs of the page Connect are pasted as they stand, and work. */
import assert from 'node:assert/strict'
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { within } from '../support/bounded-wait.ts'
import { Mosquitto } from '../support/mosquitto.ts'
import { Program } from '../support/program.ts'
import { launchBrowser, Window } from './browser.ts'
import { climateUplink, startWorld } from './world.ts'
import type { World } from './world.ts'

const PACKAGES = fileURLToPath(new URL('../../node_modules', import.meta.url))

let browser: Browser
let world: World
let window: Window
let folder: string

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-connect-'))
  world = await startWorld()
  browser = await launchBrowser()
  window = await Window.open(browser, world.service.https)
  await window.enter('/connect', world.anna)
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** Answers the texts of a tab. */
async function snippetsOf(tab: string): Promise<readonly string[]> {
  await window.page.getByRole('tab', { name: tab }).click()
  return window.page.getByRole('tabpanel').locator('pre').allTextContents()
}

/** A shell in the folder into which the certificate authority was downloaded. */
function shell(line: string): Program {
  return new Program('stdbuf', ['-oL', 'sh', '-c', `cd '${folder}' && exec ${line}`])
}

test('a token is created, its certificate authority downloaded, and the page says when a client has connected', async () => {
  const { page } = window
  await page.getByText('One device').click()
  await page.getByRole('combobox', { name: 'Device' }).fill('climate-pump-house-2')
  await page.getByRole('option', { name: /climate-pump-house-2/ }).click()
  await page.getByRole('button', { name: 'Create token' }).click()
  await page.getByText('Waiting for your client to connect').waitFor()
  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: /Download/ }).click()
  await (await download).saveAs(join(folder, 'fieldgate-ca.pem'))

  const [watch = '', send = ''] = await snippetsOf('mosquitto')
  await using watching = shell(watch)
  await page.getByText('A client has connected').waitFor()
  const device = world.devices[1]
  assert.ok(device !== undefined)
  await world.publish(device, 'up', climateUplink(1))
  const [, event = ''] = await watching.output(/event\/up (\{.*\})/)
  assert.equal((JSON.parse(event) as { devEUI: string }).devEUI, device.devEui)

  await using sending = shell(send)
  assert.equal((await sending.ended()).code, 0)
  const received = await within(world.commands.next(), 'the command')
  assert.match(String(received.value?.text), /"data": ?"AQID"/)
})

test('the program for MQTT.js runs as it is', async () => {
  const [text = ''] = await snippetsOf('MQTT.js')
  await symlink(PACKAGES, join(folder, 'node_modules'))
  await writeFile(join(folder, 'events.mjs'), text)
  const device = world.devices[1]
  assert.ok(device !== undefined)
  const earlier = await subscribers(device)
  await using running = shell(`env NODE_EXTRA_CA_CERTS=fieldgate-ca.pem '${process.execPath}' events.mjs`)
  await publishOnceSubscribed(running.output(/event\/up \{/), device, earlier)
})

test('the bridge for Home Assistant carries events into another broker', async () => {
  const [bridge = ''] = await snippetsOf('Home Assistant')
  const device = world.devices[1]
  assert.ok(device !== undefined)
  const earlier = await subscribers(device)
  const lines = ['allow_anonymous true', bridge.replace('/share/mosquitto/', `${folder}/`)]
  const other = await Mosquitto.start(folder, lines)
  try {
    await using watching = shell(`mosquitto_sub -d -p ${other.port} -t '#' -F '%t'`)
    await watching.output(/Subscribed/)
    await publishOnceSubscribed(watching.output(/event\/up/), device, earlier)
  } finally {
    await other.stop()
  }
})

test('every other snippet carries token, topic and certificate', async () => {
  for (const tab of ['Python', 'Go', 'Node-RED', 'MQTTX']) {
    const text = (await snippetsOf(tab)).join('\n')
    assert.match(text, /eyJ[\w-]+\.[\w-]+\.[\w-]+/, tab)
    assert.ok(text.includes(`application/${world.applicationId}/device/${world.devices[1]?.devEui}/event/+`), tab)
    assert.match(text, /fieldgate-ca\.pem/, tab)
  }
  JSON.parse((await snippetsOf('Node-RED')).join(''))
})

test('a revoked token ends its connections at once and leaves the list', async () => {
  const { page } = window
  const [watch = ''] = await snippetsOf('mosquitto')
  const device = world.devices[1]
  assert.ok(device !== undefined)
  const earlier = await subscribers(device)
  await using watching = shell(watch)
  await publishOnceSubscribed(watching.output(/event\/up/), device, earlier)
  const row = page.getByRole('row').filter({ hasText: 'new' })
  await row.getByRole('button', { name: /Revoke/ }).click()
  await page.getByText('This token was revoked').waitFor()
  await watching.ended()
})

test('each choice of the page is a limit of the token that is issued', async () => {
  const { page } = window
  const device = world.devices[1]
  assert.ok(device !== undefined)
  const { applicationId, organizationId, service } = world
  const path = `/api/broker-tokens?organizationID=${organizationId}&limit=100&offset=0`
  const scopes = async (): Promise<ReadonlyMap<string, unknown>> => {
    const { result } = await service.http.must('GET', path, { token: service.adminSession })
    return new Map((result as { readonly id: string; readonly scope: unknown }[]).map(({ id, scope }) => [id, scope]))
  }
  for (const [choice, limits] of [
    ['All applications', { reachesAllApplications: true }],
    ['A whole application', { applicationIds: [applicationId] }],
    ['One device', { devEuis: [device.devEui] }],
  ] as const) {
    const earlier = await scopes()
    await page.reload()
    await page.getByText(choice, { exact: true }).click()
    if (choice === 'One device') {
      await page.getByRole('combobox', { name: 'Device' }).fill('climate-pump-house-2')
      await page.getByRole('option', { name: /climate-pump-house-2/ }).click()
    }
    await page.getByRole('combobox', { name: 'Kinds of event' }).click()
    await page.getByRole('option', { name: 'join', exact: true }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('checkbox', { name: 'For reading only' }).check()
    await page.getByRole('button', { name: 'Create token' }).click()
    await page.getByText('Waiting for your client to connect').waitFor()
    const fresh = [...(await scopes())].filter(([id]) => !earlier.has(id)).map(([, scope]) => scope)
    assert.deepEqual(
      fresh.filter((scope) => scope !== null && JSON.stringify(scope).includes('join')),
      [{ ...limits, eventKinds: ['join'], isReadOnly: true }],
    )
  }
})

/**
 * Publishes an event once a program's subscription stands, and resolves when the program has
 * printed the event.
 */
async function publishOnceSubscribed(
  seen: Promise<unknown>,
  device: World['devices'][number],
  earlier: ReadonlySet<string>,
): Promise<void> {
  const isOver = new AbortController()
  const standing = (async () => {
    while (!isOver.signal.aborted && (await subscribers(device)).isSubsetOf(earlier));
  })()
  try {
    await within(Promise.race([standing, seen]), 'a subscription')
    await world.publish(device, 'up', climateUplink(1))
    await seen
  } finally {
    isOver.abort()
    await standing
  }
}

/**
 * The connections that subscribe to a device's events, by their ids, as administrators see them.
 */
async function subscribers(device: World['devices'][number]): Promise<ReadonlySet<string>> {
  const topicFilter = `application/${world.applicationId}/device/${device.devEui}/event/+`
  const path = `/api/connections?organizationID=${world.organizationId}&limit=100`
  const listed = await world.service.http.must('GET', path, { token: world.service.adminSession })
  const connections = listed['result'] as { id: string; topicFilters: string[] }[]
  return new Set(connections.filter(({ topicFilters }) => topicFilters.includes(topicFilter)).map(({ id }) => id))
}
