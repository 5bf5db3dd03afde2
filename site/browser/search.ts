/**
 * The search of the documentation. It finds the sections that have all words of a question, the
 * best first. It needs no browser.
 */

/** A page of the index. */
export interface SearchPage {
  readonly name: string
  readonly title: string
  /** The address, such as `/docs/errors`. */
  readonly address: string
  /** The weight of the page's hits, from 0 to 1. */
  readonly weight: number
  /** The sections: anchor ("" for the beginning of the page), heading and text. */
  readonly sections: readonly (readonly [anchor: string, heading: string, text: string])[]
}

export type SearchIndex = readonly SearchPage[]

/** A section that has all words. */
export interface Hit {
  readonly address: string
  readonly page: string
  readonly heading: string
  /**
   * The text around the first word, in pieces. The second piece and every second one after it is a
   * word of the question.
   */
  readonly excerpt: readonly string[]
}

const MAXIMUM_HITS = 30
/** The most words of a question. The rest is ignored, so a long question costs no more. */
const MAXIMUM_WORDS = 8
const EXCERPT_BEFORE = 60
const EXCERPT_LENGTH = 220

/**
 * The sections that have all words of the question, at most 30. Words in quotes stand beside each
 * other. Case does not matter.
 */
export function search(index: SearchIndex, question: string): readonly Hit[] {
  const words = wordsOf(question)
  if (words.length === 0) return []
  const whole = words.join(' ')
  const scored: { readonly score: number; readonly hit: () => Hit }[] = []
  for (const page of index) {
    for (const section of page.sections) {
      const score = page.weight * scoreOf(section, page, words, whole)
      if (score > 0) scored.push({ score, hit: () => hitOf(section, page, words) })
    }
  }
  return scored
    .toSorted((a, b) => b.score - a.score)
    .slice(0, MAXIMUM_HITS)
    .map(({ hit }) => hit())
}

function wordsOf(question: string): string[] {
  const found = question.toLowerCase().matchAll(/"([^"]+)"?|([^\s"]+)/g)
  return Array.from(found, ([, phrase, word]) => (phrase ?? word ?? '').trim())
    .filter((word) => word !== '')
    .slice(0, MAXIMUM_WORDS)
}

/** The score of a section; 0 where a word is missing. */
function scoreOf(
  [, heading, text]: SearchPage['sections'][number],
  page: SearchPage,
  words: readonly string[],
  whole: string,
): number {
  const headingBelow = heading.toLowerCase()
  const textBelow = text.toLowerCase()
  const title = page.title.toLowerCase()
  let score = 0
  for (const word of words) {
    const inHeading = headingBelow.includes(word)
    const times = occurrences(textBelow, word)
    if (!inHeading && times === 0 && !title.includes(word)) return 0
    score +=
      (inHeading ? 12 : 0) +
      (isWholeWord(textBelow, word) ? 3 : 0) +
      Math.min(times, 5) +
      (title.includes(word) ? 4 : 0)
  }
  if (headingBelow.split(/,? /).includes(whole)) score += 60
  else if (headingBelow === whole) score += 60
  else if (headingBelow.includes(whole)) score += 15
  if (textBelow.includes(whole)) score += 8
  return score
}

function occurrences(text: string, word: string): number {
  let count = 0
  for (let at = text.indexOf(word); at !== -1 && count < 5; at = text.indexOf(word, at + word.length)) count += 1
  return count
}

function isWholeWord(text: string, word: string): boolean {
  const at = text.indexOf(word)
  return at !== -1 && !/\w/.test(text[at - 1] ?? ' ') && !/\w/.test(text[at + word.length] ?? ' ')
}

function hitOf(
  [anchor, heading, text]: SearchPage['sections'][number],
  page: SearchPage,
  words: readonly string[],
): Hit {
  return {
    address: anchor === '' ? page.address : `${page.address}#${anchor}`,
    page: page.name,
    heading: heading === '' ? page.title : heading,
    excerpt: excerptOf(text, words),
  }
}

function excerptOf(text: string, words: readonly string[]): string[] {
  const below = text.toLowerCase()
  const first = Math.min(...words.map((word) => below.indexOf(word)).filter((at) => at !== -1), Infinity)
  const early = Number.isFinite(first) ? first - EXCERPT_BEFORE : 0
  // The excerpt begins at the beginning of a word.
  const from = early <= 0 ? 0 : Math.min(text.indexOf(' ', early) + 1, first)
  const shown = text.slice(from, from + EXCERPT_LENGTH)
  const pattern = words.map((word) => word.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)).join('|')
  const pieces = shown.split(new RegExp(`(${pattern})`, 'i'))
  pieces[0] = `${from > 0 ? '… ' : ''}${pieces[0] ?? ''}`
  if (from + EXCERPT_LENGTH < text.length) pieces[pieces.length - 1] = `${pieces.at(-1) ?? ''} …`
  return pieces
}
