/** The code of a page, fetched when the page is opened, and again after a fetch that failed. */
import { use } from 'react'
import type { ComponentType, ReactElement } from 'react'

/** A page's code did not come. */
export class PageCodeMissing extends Error {
  /** Has the next opening of the page fetch its code again. */
  readonly forget: () => void

  constructor(cause: unknown, forget: () => void) {
    super('The code of the page did not come.', { cause })
    this.name = 'PageCodeMissing'
    this.forget = forget
  }
}

/**
 * A page whose code is fetched when it is first shown; it suspends until then, and throws
 * `PageCodeMissing` where that fails.
 */
export function fetchedPage(load: () => Promise<ComponentType>): ComponentType {
  // Kept as long as nobody has seen the failure: a promise made anew with each rendering would be
  // fetched for ever.
  let code: Promise<ComponentType> | undefined
  const fetched = (): Promise<ComponentType> =>
    (code ??= load().catch((error: unknown) => {
      throw new PageCodeMissing(error, () => {
        code = undefined
      })
    }))
  return function FetchedPage(): ReactElement {
    const Page = use(fetched())
    return <Page />
  }
}

/** Why the code of a page did not come, as far as the service itself can be asked. */
export type MissingBecause = 'unreachable' | 'updated' | 'unknown'

/** Of the question to the service; a connection that hangs is no answer. */
const PATIENCE_MS = 5_000

/**
 * Asks the service for the page that it would give a new visitor, which names the code of the
 * console that it has now.
 */
export async function askWhyMissing(): Promise<MissingBecause> {
  try {
    const response = await fetch('/', {
      headers: { accept: 'text/html' },
      cache: 'no-store',
      credentials: 'same-origin',
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    if (!response.ok) return 'unreachable'
    const own = document.querySelector('script[type=module][src]')?.getAttribute('src') ?? ''
    return (await response.text()).includes(own) ? 'unknown' : 'updated'
  } catch {
    return 'unreachable'
  }
}
