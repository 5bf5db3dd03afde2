/**
 * Debian's Chromium without its user interface, driven as a person drives it: windows that record
 * the requests and the complaints of their pages, and pictures of the pages.
 */
import assert from 'node:assert/strict'
import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import axe from 'axe-core'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContext, ConsoleMessage, Locator, Page, Request } from 'playwright-core'
import { within } from '../support/bounded-wait.ts'

/** The folder of the pictures, which git ignores. */
const PICTURES = fileURLToPath(new URL('../../test-output/console/', import.meta.url))
/** Pictures are taken on request only: no test looks at them. */
const IS_TAKING_PICTURES = process.env['FIELDGATE_PICTURES'] === '1'

/** The longest time that a test waits for one thing on a page. */
const PATIENCE_MS = 15_000

const CONTEXTS = {
  light: { colorScheme: 'light', viewport: { width: 1360, height: 860 } },
  dark: { colorScheme: 'dark', viewport: { width: 1360, height: 860 } },
  phone: { colorScheme: 'light', viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const

export type Look = keyof typeof CONTEXTS

/** The looks in which tests open every page. `assertLook` adds the dark one. */
export const LOOKS = ['light', 'phone'] as const

/** The names and passwords that sign a user in. */
interface Credentials {
  readonly userName: string
  readonly password: string
}

const WCAG = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rules of `WCAG` whose result depends on colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Starts the browser. As root, Chromium starts only without its sandbox. */
export function launchBrowser(): Promise<Browser> {
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : []
  return within(chromium.launch({ executablePath: '/usr/bin/chromium-headless-shell', args }), 'Chromium', 30_000)
}

/** Pages that a closed window left clean, by the browser, the origin and the look. */
const idlePages = new WeakMap<Browser, Map<string, Page[]>>()

function idlePagesOf(browser: Browser, origin: string, look: Look): Page[] {
  const pages = idlePages.get(browser) ?? new Map<string, Page[]>()
  idlePages.set(browser, pages)
  const key = `${look} ${origin}`
  const found = pages.get(key) ?? []
  pages.set(key, found)
  return found
}

/** Cookies of users who have a session, by the origin and the user name. */
const keptSessions = new Map<string, Awaited<ReturnType<BrowserContext['cookies']>>>()

interface WindowOptions {
  readonly browser: Browser
  readonly page: Page
  readonly origin: string
  readonly look: Look
}

/**
 * A browser window without cookies and without stored data, and a record of what its page did.
 *
 * A new browser context costs two seconds of processor time, because it compiles the whole console
 * again. So `close` wipes the page and keeps it, and the next window of the same look takes it. The
 * page of a test that fails is not taken again.
 */
export class Window {
  readonly context: BrowserContext
  readonly page: Page
  /** Errors and warnings of the page's console, and exceptions that nobody caught. */
  readonly complaints: string[] = []
  /** Addresses of other origins that the page asked for. */
  readonly foreignRequests: string[] = []
  readonly origin: string
  readonly #browser: Browser
  readonly #look: Look

  private constructor({ browser, page, origin, look }: WindowOptions) {
    this.context = page.context()
    this.page = page
    this.origin = origin
    this.#browser = browser
    this.#look = look
    page.on('console', this.#onConsole)
    page.on('pageerror', this.#onError)
    page.on('request', this.#onRequest)
  }

  readonly #onConsole = (message: ConsoleMessage): void => {
    if (['error', 'warning'].includes(message.type())) this.complaints.push(message.text())
  }

  readonly #onError = (error: Error): void => {
    this.complaints.push(String(error))
  }

  readonly #onRequest = (request: Request): void => {
    const url = new URL(request.url())
    if (url.origin !== this.origin && !['data:', 'blob:'].includes(url.protocol))
      this.foreignRequests.push(request.url())
  }

  static async open(browser: Browser, origin: string, look: Look = 'light'): Promise<Window> {
    const page = idlePagesOf(browser, origin, look).pop() ?? (await newPage(browser, origin, look))
    return new Window({ browser, page, origin, look })
  }

  /** Fills in the sign-in of the page at `path`, and waits until the page is there. */
  async signIn(path: string, { userName, password }: Credentials): Promise<void> {
    await this.page.goto(path)
    await this.page.getByLabel('User name').fill(userName)
    await this.page.getByRole('textbox', { name: 'Password' }).fill(password)
    await this.page.getByRole('button', { name: 'Sign in' }).click()
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
  }

  /**
   * Opens the page at `path` with the session of a user, without the sign-in. All windows of a
   * process share the user's session, so it is not for users whose sessions a test ends.
   */
  async enter(path: string, user: Credentials): Promise<void> {
    const key = `${this.origin} ${user.userName}`
    const kept = keptSessions.get(key)
    if (kept === undefined) {
      await this.#beginSession(user)
      keptSessions.set(key, await this.context.cookies())
    } else await this.context.addCookies(kept)
    await this.page.goto(path)
    await this.page.getByRole('navigation', { name: 'Pages' }).waitFor({ state: 'attached' })
  }

  /** Asks for a session and its cookie by the two requests that the console sends. */
  async #beginSession({ userName, password }: Credentials): Promise<void> {
    const { request } = this.context
    const login = await request.post('/api/internal/login', { data: { username: userName, password } })
    const { jwt } = (await login.json()) as { readonly jwt: string }
    const headers = { 'grpc-metadata-authorization': `Bearer ${jwt}` }
    const answer = await request.post('/api/internal/console-session', { headers })
    assert.ok(answer.ok(), await answer.text())
  }

  /** Keeps a picture of the visible part of the page, with FIELDGATE_PICTURES=1. */
  async picture(name: string): Promise<void> {
    if (!IS_TAKING_PICTURES) return
    const path = join(PICTURES, `${name}.png`)
    await mkdir(dirname(path), { recursive: true })
    await this.page.screenshot({ path, animations: 'disabled' })
  }

  /** Fails unless the page, as it is, passes every rule of WCAG 2.2 A and AA that axe knows. */
  async assertAccessible(what: string): Promise<void> {
    assert.deepEqual(await this.#violations(WCAG), [], what)
  }

  /**
   * Takes a picture of the page and fails unless it passes axe in the window's look. A light window
   * is also judged in dark colours: the dark look differs from the light one in its colours alone,
   * so the rules about colours are enough.
   */
  async assertLook(name: string): Promise<void> {
    await this.picture(`${name}-${this.#look}`)
    await this.assertAccessible(`${name}, ${this.#look}`)
    if (this.#look !== 'light') return
    await this.#show('dark')
    await this.picture(`${name}-dark`)
    assert.deepEqual(await this.#violations({ type: 'rule', values: COLOUR_RULES }), [], `${name}, dark`)
    await this.#show('light')
  }

  /** Resolves when the page has the colours of the scheme. */
  async #show(colorScheme: 'light' | 'dark'): Promise<void> {
    await this.page.emulateMedia({ colorScheme })
    // The pages of the documentation have the colours at once, without an attribute.
    const attribute = 'data-mantine-color-scheme'
    await this.page
      .locator(`html[${attribute}=${colorScheme}], html:not([${attribute}])`)
      .waitFor({ state: 'attached' })
  }

  /** Each violation of the rules as a sentence. */
  async #violations(runOnly: object | readonly string[]): Promise<readonly string[]> {
    // Scripts of tests are not the page's own. The debugger brings them in, past the
    // Content-Security-Policy.
    if ((await this.page.evaluate('typeof axe')) === 'undefined') await this.page.evaluate(axe.source)
    // The elements that pass are not told, which halves the time.
    const options = JSON.stringify({ runOnly, resultTypes: ['violations'] })
    const { violations } = (await this.page.evaluate(`axe.run(document, ${options})`)) as {
      violations: readonly Violation[]
    }
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`,
    )
  }

  /** Fails where a page complained or sent a request to another origin. */
  assertQuiet(): void {
    assert.deepEqual(this.complaints, [])
    assert.deepEqual(this.foreignRequests, [])
  }

  /** Signs out, forgets what the page stored, and leaves the page to the next window. */
  async close(): Promise<void> {
    const { page } = this
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    // A page that could not be loaded has no storage, and says so by an exception.
    await page.evaluate('try { localStorage.clear(); sessionStorage.clear() } catch {}')
    await page.goto('about:blank')
    page.off('console', this.#onConsole)
    page.off('pageerror', this.#onError)
    page.off('request', this.#onRequest)
    await this.context.clearCookies()
    await page.setViewportSize(CONTEXTS[this.#look].viewport)
    idlePagesOf(this.#browser, this.origin, this.#look).push(page)
  }
}

async function newPage(browser: Browser, origin: string, look: Look): Promise<Page> {
  // The browser does not know the service's own authority; certificates have tests of their own.
  // Without motion: a text that fades has no contrast that axe could judge.
  const context = await browser.newContext({
    ...CONTEXTS[look],
    ignoreHTTPSErrors: true,
    reducedMotion: 'reduce',
    baseURL: origin,
  })
  context.setDefaultTimeout(PATIENCE_MS)
  return context.newPage()
}

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** Gives the page Import a file, as soon as the page takes one: it has to know the applications. */
export async function chooseFile(page: Page, file: Parameters<Locator['setInputFiles']>[0]): Promise<void> {
  await page.getByRole('button', { name: 'Choose a file' }).click({ trial: true })
  await page.locator('input[type=file]').setInputFiles(file)
}
