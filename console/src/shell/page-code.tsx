/**
 * The code of a page. It is fetched when the page is opened, and again after a fetch that failed.
 */
import { use } from 'react'
import type { ComponentType, ReactElement } from 'react'

/** The code of a page could not be fetched. */
export class PageCodeMissing extends Error {
  /** Makes the next opening of the page fetch the code again. */
  readonly forget: () => void

  constructor(cause: unknown, forget: () => void) {
    super('The code of the page could not be fetched.', { cause })
    this.name = 'PageCodeMissing'
    this.forget = forget
  }
}

/**
 * A page whose code is fetched when it is first shown. It suspends until then, and throws
 * `PageCodeMissing` where the fetch fails.
 */
export function fetchedPage(load: () => Promise<ComponentType>): ComponentType {
  // Kept until the failure is shown: a new promise at each rendering would fetch for ever.
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

/** The reason why the code of a page is missing, as far as the service can be asked. */
export type MissingBecause = 'unreachable' | 'updated' | 'unknown'

/** The longest wait for the service's answer. A connection that hangs counts as no answer. */
const PATIENCE_MS = 5_000

/**
 * Asks the service for its first page, which names the code of the console that the service has
 * now.
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
