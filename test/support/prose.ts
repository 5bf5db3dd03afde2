/** The sentences of comments and of pages, each with the line where it begins. */

export interface Sentence {
  /** From 1. */
  readonly line: number
  readonly text: string
}

/**
 * The sentences of a TypeScript file's comments, or of a Markdown page's paragraphs, lists and
 * cells.
 */
export function sentencesOf(file: string, text: string): readonly Sentence[] {
  const blocks = file.endsWith('.md') ? blocksOfPage(text) : blocksOfComments(text)
  return blocks.flatMap(sentencesOfBlock)
}

/** Lines of prose that belong together. */
interface Block {
  readonly line: number
  readonly lines: readonly string[]
}

/**
 * The block comments and the runs of line comments. Paragraphs and items of lists are blocks of
 * their own.
 */
function blocksOfComments(text: string): readonly Block[] {
  const blocks: Block[] = []
  let lines: string[] = []
  const end = (next: number): void => {
    if (lines.length > 0) blocks.push({ line: next - lines.length, lines })
    lines = []
  }
  let isInside = false
  for (const [index, line] of text.split('\n').entries()) {
    const number = index + 1
    const opens = /^\s*\/\*\*/.test(line)
    if (opens || (!isInside && !/^\s*\/\/ /.test(line))) end(number)
    if (opens) isInside = true
    if (isInside || /^\s*\/\/ /.test(line)) {
      const prose = line.replace(/^\s*(?:\/\*\*|\/\/|\*(?!\/))?\s?/, '').replace(/\s*\*\/.*$/, '')
      if (prose.trim() === '' || /^\s*(?:[-*]|\d+\.)\s/.test(prose)) end(number)
      if (prose.trim() !== '') lines.push(prose)
    }
    if (line.includes('*/')) {
      end(number + 1)
      isInside = false
    }
  }
  end(text.split('\n').length + 1)
  return blocks
}

/** The paragraphs, headings, items of lists and cells of tables, without blocks of code. */
function blocksOfPage(text: string): readonly Block[] {
  const blocks: Block[] = []
  let lines: string[] = []
  let isCode = false
  const end = (next: number): void => {
    if (lines.length > 0) blocks.push({ line: next - lines.length, lines })
    lines = []
  }
  for (const [index, line] of text.split('\n').entries()) {
    const number = index + 1
    if (/^\s*```/.test(line)) {
      end(number)
      isCode = !isCode
    } else if (isCode || /^(?: {4}|<!--)/.test(line)) {
      end(number)
    } else if (line.trimStart().startsWith('|')) {
      end(number)
      for (const cell of line.split('|')) blocks.push({ line: number, lines: [cell.trim()] })
    } else {
      if (line.trim() === '' || /^\s*(?:[-*>]|\d+\.|#+)\s/.test(line)) end(number)
      if (line.trim() !== '') lines.push(line)
    }
  }
  end(text.split('\n').length + 1)
  return blocks
}

function sentencesOfBlock({ line, lines }: Block): readonly Sentence[] {
  const sentences: Sentence[] = []
  let text = ''
  let start = line
  for (const [index, one] of lines.entries()) {
    for (const part of one.trim().split(/(?<=[.!?:]["”’)*_`]*)\s+(?=["“‘(*_`]*[A-Z])/)) {
      if (/[.!?:]["”’)*_`]*$/.test(text)) {
        sentences.push({ line: start, text: bare(text) })
        text = ''
      }
      if (text === '') start = line + index
      text = text === '' ? part : `${text} ${part}`
    }
  }
  if (text !== '') sentences.push({ line: start, text: bare(text) })
  return sentences.filter((sentence) => sentence.text !== '')
}

/** Without the marks of lists, headings and emphasis before its first word. */
function bare(text: string): string {
  return text.replace(/^(?:[-*>#\s]|\d+\.\s)*["“‘(*_]*/, '')
}
