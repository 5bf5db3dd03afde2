/**
 * Debian's Chromium, driven as by a person: windows that record their pages' requests and
 * complaints, and take pictures.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { within } from '../support/bounded-wait.ts'

/** The folder of the pictures; git ignores it. */
const PICTURES = fileURLToPath(new URL('../../test-output/console/', import.meta.url))

/** The longest time for any action on a page. */
const PATIENCE_MS = 15_000

const LOOKS = {
  light: { colorScheme: 'light', viewport: { width: 1360, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1360, height: 860 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const

export type Look = keyof typeof LOOKS

/** Starts the browser; without its sandbox if the tests run as root. */
export function launchBrowser(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return within(chromium.launch({ executablePath: '/usr/bin/chromium', args }), 'Chromium', 30_000)
}

/** A separate window without stored data, and a record of its pages' actions. */
export class Window {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors and warnings of the page's console, and uncaught exceptions. */
  readonly complaints: string[] = []
  /** Requested addresses of other origins. */
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
    // The browser does not know the service's authority; certificates have their own tests. Without
    // motion, because the contrast of a fading text can't be judged.
    const context = await browser.newContext({
      ...LOOKS[look],
      ignoreHTTPSErrors: true,
      reducedMotion: 'reduce',
      baseURL: origin,
    })
    context.setDefaultTimeout(PATIENCE_MS)
    return new Window(context, await context.newPage(), origin)
  }

  /** Signs in on the requested page, and waits until the page appears. */
  async signIn(path: string, { userName, password }: { userName: string; password: string }): Promise<void> {
    await this.page.goto(path)
    await this.page.getByLabel('User name').fill(userName)
    await this.page.getByRole('textbox', { name: 'Password' }).fill(password)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
  }

  /** Takes a picture of the visible part. */
  async picture(name: string): Promise<void> {
    const path = join(PICTURES, `${name}.png`)
    await mkdir(dirname(path), { recursive: true })
    await this.page.screenshot({ path, animations: 'disabled' })
  }

  /**
   * Fails unless the page, in its present state, passes every rule of WCAG 2.2 A and AA that axe
   * knows.
   */
  async assertAccessible(what: string): Promise<void> {
    // The script of the test is not the page's own, so it enters through the debugger, past the
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

  /** Fails if a page complained or sent a request to another origin. */
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
