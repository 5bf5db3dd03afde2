/**
 * Reads all pages of the documentation, checks their links against each other, and makes the index
 * of the search.
 */
import { existsSync, readFileSync, statSync } from 'node:fs'
import { extname, join, posix } from 'node:path'
import { settingsTable } from '../src/settings/settings.ts'
import type { SearchIndex } from './browser/search.ts'
import { renderMarkdown } from './markdown.ts'
import type { RenderedPage, Resolve } from './markdown.ts'
import { pageGroups } from './pages.ts'
import type { PageGroup, PageSource } from './pages.ts'
import { addressOf, REFERENCE_ADDRESS } from './template.ts'

/** A page and where it comes from. */
export interface DocumentationPage {
  readonly source: PageSource
  readonly rendered: RenderedPage
}

/** Everything that the build writes, except the frame. */
export interface Documentation {
  readonly groups: readonly PageGroup[]
  readonly pages: readonly DocumentationPage[]
  /** Pictures and programs that pages link to: from the root of the repository, and below /docs. */
  readonly files: ReadonlyMap<string, string>
  readonly index: SearchIndex
}

/** Marks the place of the table of settings, which is made from the source. */
const SETTINGS_PLACEHOLDER = '<!-- table of settings -->'

/** Pictures are copied as they are. Every other linked file is shown as text. */
const PICTURES = new Set(['.webp', '.svg'])

/**
 * Reads and renders all pages of the repository at `root`. Throws an error that lists all links
 * that lead nowhere, if there are any.
 */
export function readDocumentation(root: string): Documentation {
  const groups = pageGroups(root)
  const sources = groups.flatMap(({ pages }) => pages)
  const byFile = new Map(sources.map((source) => [source.file, source]))
  const files = new Map<string, string>()
  const faults: string[] = []
  const pages = sources.map((source): DocumentationPage => {
    const text = readFileSync(join(root, source.file), 'utf8').replace(SETTINGS_PLACEHOLDER, settingsTable)
    const resolve: Resolve = (href) => {
      if (/^(?:https?|mailto):/.test(href) || href === REFERENCE_ADDRESS) return { address: href }
      const [path = '', anchor] = href.split('#')
      const target = posix.join(posix.dirname(source.file), path).replace(/\/$/, '')
      const page = byFile.get(target) ?? byFile.get(`${target}/README.md`)
      if (page !== undefined) {
        return { address: addressOf(page) + (anchor === undefined ? '' : `#${anchor}`), page: page.path }
      }
      if (!existsSync(join(root, target))) faults.push(`${source.file}: ${href} leads nowhere`)
      else if (statSync(join(root, target)).isFile()) {
        const below = fileAddress(target)
        files.set(target, below)
        return { address: `/docs${below}` }
      }
      return undefined
    }
    return { source, rendered: renderMarkdown(text, { resolve, isCodes: source.file === 'docs/errors.md' }) }
  })
  faults.push(...lostAnchors(pages))
  if (faults.length > 0) throw new Error(`Links of the documentation:\n${faults.join('\n')}`)
  return { groups, pages, files, index: searchIndex(pages) }
}

/**
 * The address of a linked file below /docs. `docs/images/a.webp` has `/images/a.webp`;
 * `examples/clients/c/events.c` has `/examples/clients/c/events.c.txt`.
 */
function fileAddress(target: string): string {
  const below = target.startsWith('docs/') ? target.slice('docs'.length) : `/${target}`
  return PICTURES.has(extname(target)) ? below : `${below}.txt`
}

function lostAnchors(pages: readonly DocumentationPage[]): string[] {
  const byPath = new Map(pages.map(({ source, rendered }) => [source.path, rendered]))
  return pages.flatMap(({ source, rendered }) =>
    rendered.links
      .filter(({ path, anchor }) => {
        const target = path === '#' ? rendered : byPath.get(path)
        return anchor !== '' && target?.anchors.has(anchor) !== true
      })
      .map(({ written }) => `${source.file}: ${written} has no such anchor`),
  )
}

function searchIndex(pages: readonly DocumentationPage[]): SearchIndex {
  return pages.map(({ source, rendered: { title, sections } }) => ({
    name: source.name,
    title,
    address: addressOf(source),
    weight: source.weight,
    sections: sections.map(({ anchor, heading, text }) => [anchor, heading, text]),
  }))
}
