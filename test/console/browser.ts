/**
 * Debian's Chromium, driven as a person would: pages that watch what they fetch and say, and
 * pictures of them.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { within } from '../support/bounded-wait.ts'

/** Where the pictures are kept; git does not look there. */
const PICTURES = fileURLToPath(new URL('../../test-output/console/', import.meta.url))

/** How long anything on a page may take. */
const PATIENCE_MS = 15_000

const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1360, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1360, height: 860 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const

export type Look = keyof typeof LOOKS

/** Starts the browser; without a sandbox of its own where the tests run as root. */
export function launchBrowser(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return within(chromium.launch({ executablePath: '/usr/bin/chromium', args }), 'Chromium', 30_000)
}

/** A window of its own, with nothing kept from before, and a record of what its pages did. */
export class Window {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors and warnings of the page's console, and exceptions that nobody caught. */
  readonly complaints: string[] = []
  /** Addresses of other origins that were asked for. */
  readonly foreignRequests: string[] = []
  readonly origin: string

  private constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context
    this.page = page
    this.origin = origin
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
    })
    page.on('pageerror', (error) => this.complaints.push(String(error)))
    page.on('request', (request) => {
      const url = new URL(request.url())
      if (url.origin !== origin && !['data:', 'blob:'].includes(url.protocol)) this.foreignRequests.push(request.url())
    })
  }

  static async open(browser: Browser, origin: string, look: Look = 'light'): Promise<Window> {
    // The service's own authority is not the browser's; certificates have tests of their own.
    // Without motion: what fades has no contrast that could be judged.
    const context = await browser.newContext({
      ...LOOKS[look],
      ignoreHTTPSErrors: true,
      reducedMotion: 'reduce',
      baseURL: origin,
    })
    context.setDefaultTimeout(PATIENCE_MS)
    return new Window(context, await context.newPage(), origin)
  }

  /** Signs in on the page that is asked for, and waits until it is there. */
  async signIn(path: string, { userName, password }: { userName: string; password: string }): Promise<void> {
    await this.page.goto(path)
    await this.page.getByLabel('User name').fill(userName)
    await this.page.getByRole('textbox', { name: 'Password' }).fill(password)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
  }

  /** Keeps a picture of what is in view. */
  async picture(name: string): Promise<void> {
    const path = join(PICTURES, `${name}.png`)
    await mkdir(dirname(path), { recursive: true })
    await this.page.screenshot({ path, animations: 'disabled' })
  }

  /** Fails unless the page, as it is, passes every rule of WCAG 2.2 A and AA that axe knows. */
  async assertAccessible(what: string): Promise<void> {
    // Scripts of tests are not the page's own, so they come in by the debugger, past the
    // Content-Security-Policy.
    const run = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })`
    await this.page.evaluate(axe.source)
    const { violations } = (await this.page.evaluate(run)) as { violations: readonly Violation[] }
    const told = violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`,
    )
    assert.deepEqual(told, [], what)
  }

  /** Fails where a page complained or asked somebody else. */
  assertQuiet(): void {
    assert.deepEqual(this.complaints, [])
    assert.deepEqual(this.foreignRequests, [])
  }

  async close(): Promise<void> {
    await this.context.close()
  }
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}
