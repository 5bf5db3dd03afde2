/**
 * Renders a page of Markdown as HTML. Each heading and each code gets an anchor. Each link is
 * resolved, so that its target can be checked.
 */
import { Marked } from 'marked'
import type { RendererObject, Token, Tokens } from 'marked'

/** A part of a page that the search finds: a heading, or an item with an anchor of its own. */
export interface Section {
  /** Empty for the text above the first anchor. */
  readonly anchor: string
  readonly heading: string
  readonly text: string
}

/** A heading for the list beside the page. */
export interface Heading {
  readonly anchor: string
  readonly text: string
  readonly depth: number
}

/** A page, ready to be framed. */
export interface RenderedPage {
  readonly title: string
  readonly html: string
  readonly headings: readonly Heading[]
  readonly sections: readonly Section[]
  /** All anchors of the page. */
  readonly anchors: ReadonlySet<string>
  /** Links to other places of this documentation, for the check of their targets. */
  readonly links: readonly { readonly path: string; readonly anchor: string; readonly written: string }[]
}

/** Resolves the target of a link or an image. Undefined: the page shows the text without a link. */
export type Resolve = (href: string) => { readonly address: string; readonly page?: string } | undefined

/**
 * Renders one page. `isCodes` gives an anchor to each code at the head of an item:
 * `http-token_expired` below the heading HTTP.
 */
export function renderMarkdown(
  source: string,
  options: { readonly resolve: Resolve; readonly isCodes: boolean },
): RenderedPage {
  const page = new PageBuilder(options.resolve)
  const marked = new Marked({ gfm: true, renderer: page.renderer() })
  const tokens = marked.lexer(source)
  page.read(tokens, options.isCodes)
  return { ...page.rendered(), html: marked.parser(tokens) }
}

/** The word that begins the anchors of a part of the errors page. */
const PARTS: Readonly<Record<string, string>> = { HTTP: 'http', MQTT: 'mqtt', Codecs: 'codec', 'The log': 'log' }

/** A setting or a Reason Code at the head of a row of a table. */
const ROW_CODE = /^(?:`(FIELDGATE_[A-Z0-9_]+)`|(0x[0-9A-F]{2}))$/

interface CodeAnchor {
  readonly anchor: string
  readonly code: string
  /** True for the second anchor of a code: the page shows the first alone. */
  readonly isSecond: boolean
}

class PageBuilder {
  readonly #resolve: Resolve
  readonly #headings: Heading[] = []
  readonly #sections: { anchor: string; heading: string; texts: string[] }[] = [{ anchor: '', heading: '', texts: [] }]
  readonly #anchors = new Set<string>()
  readonly #links: { path: string; anchor: string; written: string }[] = []
  /** Filled while the page is read, and used while it is rendered. */
  readonly #anchorOf = new Map<Token | Tokens.TableCell, string>()
  readonly #codesOf = new Map<Tokens.ListItem, readonly CodeAnchor[]>()

  constructor(resolve: Resolve) {
    this.#resolve = resolve
  }

  rendered(): Omit<RenderedPage, 'html'> {
    const [title] = this.#headings
    return {
      title: title?.text ?? '',
      headings: this.#headings,
      sections: this.#sections
        .map(({ anchor, heading, texts }) => ({
          anchor,
          heading,
          text: texts.join(' ').replaceAll(/\s+/g, ' ').trim(),
        }))
        .filter(({ heading, text }) => heading !== '' || text !== ''),
      anchors: this.#anchors,
      links: this.#links,
    }
  }

  /**
   * Goes through the page in reading order, gives out the anchors, and gathers the texts for the
   * search.
   */
  read(tokens: readonly Token[], isCodes: boolean): void {
    let part = ''
    for (const token of tokens) {
      if (token.type === 'heading') {
        const { text, depth } = this.#readHeading(token as Tokens.Heading)
        if (depth === 2) part = PARTS[text] ?? ''
      } else if (token.type === 'list' && isCodes && part !== '') {
        for (const item of (token as Tokens.List).items) this.#readItem(item, part)
      } else if (token.type === 'table') this.#readTable(token as Tokens.Table)
      else this.#text(plainText([token]))
    }
  }

  #readHeading(token: Tokens.Heading): { readonly text: string; readonly depth: number } {
    const text = plainText(token.tokens)
    const anchor = this.#newAnchor(slugOf(text))
    this.#anchorOf.set(token, anchor)
    this.#headings.push({ anchor, text, depth: token.depth })
    this.#sections.push({ anchor: token.depth === 1 ? '' : anchor, heading: text, texts: [] })
    return { text, depth: token.depth }
  }

  #readItem(item: Tokens.ListItem, part: string): void {
    const text = plainText(item.tokens)
    const [head = ''] = /^(?:`[a-z0-9_]+`(?: \([^)]*\))?(?:,\s+|(?=[:(\s])))+/.exec(item.text) ?? []
    const named = Array.from(head.matchAll(/`([a-z0-9_]+)`/g), ([, code = '']) => code)
    const codes = named.flatMap((code) => this.#codeAnchors(code, part))
    const [first] = codes
    if (first === undefined) {
      this.#text(text)
      return
    }
    this.#codesOf.set(item, codes)
    const heading = named.join(', ')
    this.#sections.push({ anchor: first.anchor, heading, texts: [text] })
  }

  #codeAnchors(code: string, part: string): CodeAnchor[] {
    const shown = { code, anchor: this.#newAnchor(`${part}-${code}`), isSecond: false }
    // The codes of commands come by HTTP as well, and their paragraphs stand among those of MQTT.
    const byHttp = `http-${code}`
    if (part !== 'mqtt' || !code.startsWith('command_') || this.#anchors.has(byHttp)) return [shown]
    return [shown, { code, anchor: this.#newAnchor(byHttp), isSecond: true }]
  }

  #readTable(token: Tokens.Table): void {
    this.#text(token.header.map(({ text }) => text).join(' '))
    for (const row of token.rows) {
      const [head] = row
      const [, setting, reasonCode] = ROW_CODE.exec(head?.text ?? '') ?? []
      const code = setting ?? reasonCode
      const text = row.map((cell) => plainText(cell.tokens)).join(' · ')
      if (code === undefined || head === undefined) this.#text(text)
      else {
        const anchor = this.#newAnchor(code)
        this.#anchorOf.set(head, anchor)
        this.#sections.push({ anchor, heading: code, texts: [text] })
      }
    }
  }

  #text(text: string): void {
    this.#sections.at(-1)?.texts.push(text)
  }

  /** The same heading a second time gets a number, as on the sites that show Markdown. */
  #newAnchor(wanted: string): string {
    let anchor = wanted
    for (let number = 1; this.#anchors.has(anchor); number += 1) anchor = `${wanted}-${number}`
    this.#anchors.add(anchor)
    return anchor
  }

  renderer(): RendererObject {
    const anchorOf = (token: Token | Tokens.TableCell): string | undefined => this.#anchorOf.get(token)
    const codesOf = (item: Tokens.ListItem) => this.#codesOf.get(item)
    const resolve = (href: string, written: string): string | undefined => this.#address(href, written)
    return {
      heading(token) {
        const anchor = anchorOf(token) ?? ''
        const inner = this.parser.parseInline(token.tokens)
        const link = `<a class="anchor" href="#${anchor}" aria-label="Link to: ${escaped(plainText(token.tokens))}">#</a>`
        return `<h${token.depth} id="${anchor}">${inner} ${link}</h${token.depth}>\n`
      },
      link(token) {
        const address = resolve(token.href, token.raw)
        const inner = this.parser.parseInline(token.tokens)
        return address === undefined ? inner : `<a href="${escaped(address)}">${inner}</a>`
      },
      image(token) {
        const address = resolve(token.href, token.raw) ?? ''
        return `<a href="${escaped(address)}"><img src="${escaped(address)}" alt="${escaped(token.text)}" loading="lazy"></a>`
      },
      code({ text, lang }) {
        const [language = ''] = (lang ?? '').split(/\s/)
        return `<pre data-language="${escaped(language)}"><code>${escaped(text)}\n</code></pre>\n`
      },
      table(token) {
        const cell = (of: Tokens.TableCell, name: 'td' | 'th'): string => {
          const anchor = anchorOf(of)
          const id = anchor === undefined ? '' : ` id="${anchor}"`
          return `<${name}${id}>${this.parser.parseInline(of.tokens)}</${name}>`
        }
        const rows = token.rows.map((row) => `<tr>${row.map((of) => cell(of, 'td')).join('')}</tr>`)
        // A head without words is left out: many tables are lists with two columns.
        const isHeaded = token.header.some(({ text }) => text !== '')
        const head = isHeaded
          ? `<thead><tr>${token.header.map((of) => cell(of, of.text === '' ? 'td' : 'th')).join('')}</tr></thead>`
          : ''
        return `<div class="table"><table>${head}<tbody>${rows.join('\n')}</tbody></table></div>\n`
      },
      listitem(item) {
        let inner = this.parser.parse(item.tokens)
        for (const { anchor, code, isSecond } of codesOf(item) ?? []) {
          const name = `<code>${code}</code>`
          const marked = isSecond
            ? `<span id="${anchor}"></span>${name}`
            : `<a class="code" id="${anchor}" href="#${anchor}">${name}</a>`
          inner = inner.replace(name, marked)
        }
        return `<li>${inner}</li>\n`
      },
      html({ text }) {
        if (/^\s*<!--[^]*?-->\s*$/.test(text)) return ''
        throw new Error(`HTML in a page is not taken: ${text}`)
      },
    }
  }

  #address(href: string, written: string): string | undefined {
    if (href.startsWith('#')) {
      this.#links.push({ path: '#', anchor: href.slice(1), written })
      return href
    }
    const found = this.#resolve(href)
    if (found?.page !== undefined) {
      this.#links.push({ path: found.page, anchor: href.split('#')[1] ?? '', written })
    }
    return found?.address
  }
}

/** The anchor of a heading, as the sites that show Markdown make it. */
function slugOf(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

/** The text that a reader sees, without marks. */
function plainText(tokens: readonly Token[] | undefined): string {
  return (tokens ?? []).map(textOf).join('')
}

function textOf(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table
    return [header, ...rows].map((row) => row.map((cell) => plainText(cell.tokens)).join(' · ')).join(' ')
  }
  if (token.type === 'list') return (token as Tokens.List).items.map((item) => `${plainText(item.tokens)} `).join('')
  if (token.type === 'html') return ''
  if (token.type === 'br' || token.type === 'space') return ' '
  if ('tokens' in token && token.tokens !== undefined)
    return `${plainText(token.tokens)}${token.type === 'paragraph' ? ' ' : ''}`
  return unescaped('text' in token ? String(token.text) : '')
}

/** A text as HTML. */
export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
}
