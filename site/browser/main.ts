/**
 * The program of the documentation's pages: the search, the list of pages on a phone, the look, and
 * the buttons that copy.
 */
import './style.css'
import { search } from './search.ts'
import type { Hit, SearchIndex } from './search.ts'

/** The name of the look in the browser's storage, the same as the console's. */
const LOOK_KEY = 'mantine-color-scheme-value'

const field = element('#search', HTMLInputElement)
const results = element('#results')
const found = element('#found')
const list = element('#results ul')

let index: Promise<SearchIndex> | undefined
/** The number of the last question: answers may come in another order than the questions. */
let asked = 0

startSearch()
startMenu()
startLook()
addCopyButtons()
makeScrollersReachable()

function startSearch(): void {
  element('.search').hidden = false
  field.addEventListener('focus', () => void loadIndex().catch(() => undefined))
  field.addEventListener('input', () => void answer())
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault()
      field.focus()
    } else if (event.key === 'Escape' && !results.hidden) {
      close()
      field.focus()
    } else if (!results.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) move(event)
    else if (event.key === 'Enter' && event.target === field) list.querySelector('a')?.click()
  })
  document.addEventListener('click', (event) => {
    if (event.target instanceof Node && !element('.search').contains(event.target)) close()
  })
  list.addEventListener('click', close)
  const question = new URLSearchParams(location.search).get('q')
  if (question === null) return
  field.value = question
  void answer()
}

/** The index of all pages, and of the operations of the API, which the service adds. */
async function loadIndex(): Promise<SearchIndex> {
  index ??= Promise.all([document.body.dataset['search'] ?? '', '/api/docs/search.json'].map(readIndex)).then((parts) =>
    parts.flat(),
  )
  try {
    return await index
  } catch (error) {
    index = undefined
    throw error
  }
}

async function readIndex(address: string): Promise<SearchIndex> {
  const response = await fetch(address)
  if (!response.ok) throw new Error(`${address}: ${response.status}`)
  return (await response.json()) as SearchIndex
}

async function answer(): Promise<void> {
  asked += 1
  const mine = asked
  const question = field.value.trim()
  if (question === '') {
    close()
    return
  }
  try {
    const hits = search(await loadIndex(), question)
    if (mine === asked) show(hits)
  } catch {
    if (mine === asked) tell('The search could not be loaded. Is the service running? Type again to try again.')
  }
}

function show(hits: readonly Hit[]): void {
  list.replaceChildren(...hits.map(resultOf))
  tell(
    hits.length === 0 ? 'Nothing has all of these words.' : `${hits.length} ${hits.length === 1 ? 'place' : 'places'}`,
  )
}

function tell(text: string): void {
  found.textContent = text
  results.hidden = false
}

function resultOf({ address, page, heading, excerpt }: Hit): HTMLLIElement {
  const link = document.createElement('a')
  link.href = address
  const head = document.createElement('strong')
  head.textContent = heading
  const where = document.createElement('span')
  where.textContent = page
  const text = document.createElement('p')
  text.append(...excerpt.map((piece, position) => (position % 2 === 1 ? marked(piece) : piece)))
  link.append(head, ' ', where, text)
  const item = document.createElement('li')
  item.append(link)
  return item
}

function marked(text: string): HTMLElement {
  const mark = document.createElement('mark')
  mark.textContent = text
  return mark
}

function close(): void {
  asked += 1
  results.hidden = true
  list.replaceChildren()
  found.textContent = ''
}

function move(event: KeyboardEvent): void {
  const links = [...list.querySelectorAll('a')]
  const at = links.findIndex((link) => link === document.activeElement)
  const next = event.key === 'ArrowDown' ? at + 1 : at - 1
  if (at === -1 && document.activeElement !== field) return
  event.preventDefault()
  if (next < 0) field.focus()
  else links[next]?.focus()
}

/** On a phone a button opens the list of pages. */
function startMenu(): void {
  const button = element('#menu')
  button.hidden = false
  button.addEventListener('click', () => {
    const isOpen = document.documentElement.classList.toggle('menu-open')
    button.setAttribute('aria-expanded', String(isOpen))
  })
}

function startLook(): void {
  const button = element('#look')
  const name = (): void => {
    button.textContent = isDark() ? 'Light' : 'Dark'
  }
  button.hidden = false
  button.addEventListener('click', () => {
    const look = isDark() ? 'light' : 'dark'
    document.documentElement.dataset['look'] = look
    localStorage.setItem(LOOK_KEY, look)
    name()
  })
  name()
}

function isDark(): boolean {
  const chosen = document.documentElement.dataset['look']
  return chosen === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : chosen === 'dark'
}

function addCopyButtons(): void {
  if (!('clipboard' in navigator)) return
  for (const block of document.querySelectorAll('main pre')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', () => {
      void navigator.clipboard.writeText(block.textContent.trimEnd()).then(() => {
        button.textContent = 'Copied'
      })
    })
    const frame = document.createElement('div')
    frame.className = 'block'
    block.replaceWith(frame)
    frame.append(block, button)
  }
}

/**
 * An element that scrolls sideways must be reachable by the keyboard. Other elements must not stop
 * the Tab key.
 */
function makeScrollersReachable(): void {
  const scrollers = document.querySelectorAll<HTMLElement>('main pre, main .table')
  const settle = (): void => {
    for (const scroller of scrollers) {
      if (scroller.scrollWidth > scroller.clientWidth) scroller.tabIndex = 0
      else scroller.removeAttribute('tabindex')
    }
  }
  settle()
  addEventListener('resize', settle)
}

function element(selector: string): HTMLElement
function element<Kind extends HTMLElement>(selector: string, kind: new () => Kind): Kind
function element(selector: string, kind = HTMLElement): HTMLElement {
  const one = document.querySelector(selector)
  if (!(one instanceof kind)) throw new Error(`the page has no ${selector}`)
  return one
}
