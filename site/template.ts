/**
 * The frame around the content of every page: the head, the search, the navigation, the list of
 * headings, and the links to the pages before and after.
 */
import { escaped } from './markdown.ts'
import type { Heading } from './markdown.ts'
import type { PageGroup, PageSource } from './pages.ts'

/** Addresses of the files that every page loads. */
export interface Assets {
  readonly style: string
  readonly theme: string
  readonly program: string
  readonly search: string
}

/** One page and its place among the others. */
export interface PageParts {
  readonly title: string
  /** HTML. */
  readonly content: string
  /** HTML: the list of the page's headings; empty for a page with few headings. */
  readonly contents: string
  /** The address of the page. */
  readonly address: string
  readonly previous?: PageSource | undefined
  readonly next?: PageSource | undefined
}

/** The address of the API reference, which the service makes at its start. */
export const REFERENCE_ADDRESS = '/api/docs'

/** A whole page. */
export function pageTemplate(parts: PageParts, groups: readonly PageGroup[], assets: Assets): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(parts.title)} · Fieldgate documentation</title>
<link rel="icon" type="image/svg+xml" href="/favicon.svg">
<link rel="stylesheet" href="${assets.style}">
<script src="${assets.theme}"></script>
<script src="${assets.program}" type="module"></script>
</head>
<body data-search="${assets.search}">
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="brand" href="/docs"><img src="/favicon.svg" alt="" width="24" height="24">Fieldgate documentation</a>
<div class="search" role="search" hidden>
<input type="search" id="search" aria-label="Search the documentation" placeholder="Search: token_expired, 0x87 ..." autocomplete="off" spellcheck="false" aria-controls="results">
<div id="results" hidden><p id="found" role="status"></p><ul></ul></div>
</div>
<div class="tools">
<button type="button" id="menu" aria-expanded="false" aria-controls="pages" hidden>Pages</button>
<button type="button" id="look" hidden>Dark</button>
<a href="/">Console</a>
</div>
</header>
<div class="columns">
<nav id="pages" aria-label="Pages">${navigation(groups, parts.address)}</nav>
<main id="content" tabindex="-1">
<article>
${parts.content}
</article>
${wayOn(parts)}
</main>
${parts.contents}
</div>
</body>
</html>
`
}

/** The list of a page's headings, where there are enough of them. */
export function contentsOf(headings: readonly Heading[]): string {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ anchor, text, depth }) => `<li class="depth-${depth}"><a href="#${anchor}">${escaped(text)}</a></li>`,
  )
  return `<aside aria-label="On this page"><p>On this page</p><ul>${items.join('\n')}</ul></aside>`
}

function navigation(groups: readonly PageGroup[], current: string): string {
  const all = groups.map(({ name, pages }) => {
    const items = pages.map((page) => item(addressOf(page), page.name, current))
    if (name === 'Use') items.push(item(REFERENCE_ADDRESS, 'API reference', current))
    return `<p>${escaped(name)}</p><ul>${items.join('\n')}</ul>`
  })
  return all.join('\n')
}

function item(address: string, name: string, current: string): string {
  return `<li><a href="${address}"${address === current ? ' aria-current="page"' : ''}>${escaped(name)}</a></li>`
}

function wayOn({ previous, next }: PageParts): string {
  if (previous === undefined && next === undefined) return ''
  const back = previous === undefined ? '' : `<a rel="prev" href="${addressOf(previous)}">${escaped(previous.name)}</a>`
  const on = next === undefined ? '' : `<a rel="next" href="${addressOf(next)}">${escaped(next.name)}</a>`
  return `<nav class="way" aria-label="Previous and next page">${back}${on}</nav>`
}

/** The address of a page. */
export function addressOf({ path }: PageSource): string {
  return `/docs${path}`
}
