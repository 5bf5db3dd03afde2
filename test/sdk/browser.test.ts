/** The packed SDK in Chromium: the example of a page, over WebSocket. */
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, it } from 'node:test'
import type { Browser } from 'playwright-core'
import { pinnedNode, root } from '../../scripts/setup.mjs'
import { launchBrowser, Window } from '../console/browser.ts'
import { PASSWORD } from '../support/administration.ts'
import { runProgram } from '../support/program.ts'
import { installPackage } from './installed-package.ts'
import type { InstalledPackage } from './installed-package.ts'
import { startSdkWorld } from './sdk-world.ts'
import type { SdkWorld } from './sdk-world.ts'

let browser: Browser
let world: SdkWorld
let installed: InstalledPackage

before(async () => {
  installed = await installPackage()
  world = await startSdkWorld()
  browser = await launchBrowser()
})

after(async () => {
  await browser?.close()
  await world?.[Symbol.asyncDispose]()
  await installed?.[Symbol.asyncDispose]()
})

it('a page shows the uplinks of all devices, also after its connection was lost', { timeout: 60_000 }, async () => {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js')
  const inputs = ['--logLevel', 'error', '--outDir', 'built', '--target', 'esnext']
  const entry = `export default { build: { rollupOptions: { input: ${JSON.stringify(join(installed.folder, 'dashboard.html'))} } } }`
  const built = await runProgram(
    pinnedNode,
    [vite, 'build', installed.folder, ...inputs, '--config', await configFile(installed.folder, entry)],
    { folder: installed.folder, ms: 60_000 },
  )
  assert.equal(built.code, 0, built.stderr)
  const files = join(installed.folder, 'built')
  const [script = ''] = await readdir(join(files, 'assets'))
  const page = await Window.open(browser, world.service.https)
  // Chromium does not know where a page came from that the test answers.
  await page.context.grantPermissions(['local-network-access'])
  // The page comes from the service's origin, as where an operator puts it beside the service.
  await page.page.route('**/dashboard.html', async (route) =>
    route.fulfill({ contentType: 'text/html', body: await readFile(join(files, 'dashboard.html'), 'utf8') }),
  )
  await page.page.route(`**/assets/${script}`, async (route) =>
    route.fulfill({ contentType: 'text/javascript', body: await readFile(join(files, 'assets', script), 'utf8') }),
  )
  const place = await world.place()
  const login = new URLSearchParams({ username: String(world.options.username), password: PASSWORD })
  await page.page.goto(`/dashboard.html#${login.toString()}`)
  await page.page.waitForFunction("document.title === 'Meters: connected'")
  await place.uplink(118)
  const row = page.page.getByRole('row', { name: `meter ${place.device}` })
  await row.getByRole('cell', { name: '118', exact: true }).waitFor()
  const path = `/api/broker-tokens?limit=100&organizationID=${world.organizationId}`
  const { result } = await world.administration.must('GET', path)
  for (const { id } of result as readonly { readonly id: string }[])
    await world.administration.must('DELETE', `/api/broker-tokens/${id}`)
  await place.uplink(119)
  await row.getByRole('cell', { name: '119', exact: true }).waitFor()
  assert.deepEqual(page.foreignRequests, [])
  await page.close()
})

/** Writes the settings of the bundler. */
async function configFile(folder: string, text: string): Promise<string> {
  const file = join(folder, 'vite.config.mjs')
  await writeFile(file, text)
  return file
}
