/**
 * Reads from the titles of the tests which tests prove which statement, and writes
 * docs/conformance.md.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Statement } from './statement.ts'
import { statements311 } from './statements-3.1.1.ts'
import { statements5 } from './statements-5.0.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The file of the table. */
export const reportFile = join(root, 'docs', 'conformance.md')

/** A tag within the title of a test, in brackets. */
const tagPattern = /\[(MQTT(?:311)?-[\d.]+-\d+)\]/g
const literalPattern = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/g

export interface TaggedTitle {
  readonly file: string
  readonly title: string
  readonly tags: readonly string[]
}

/**
 * All strings with a tag in files of tests, in the order of files and lines. A title never spans
 * lines, and a comment is no title.
 */
export function taggedTitles(): TaggedTitle[] {
  const found: TaggedTitle[] = []
  for (const file of globSync('{src,test}/**/*.test.ts', { cwd: root }).toSorted()) {
    for (const line of readFileSync(join(root, file), 'utf8').split('\n')) {
      if (!line.includes('[MQTT') || /^\s*(?:\/\/|\*|\/\*)/.test(line)) continue
      for (const { 0: literal, index } of line.matchAll(literalPattern)) {
        const tags = [...literal.matchAll(tagPattern)].map(([, tag]) => tag as string)
        if (tags.length > 0) found.push({ file, title: titleOf(literal) || rowOf(line.slice(0, index)), tags })
      }
    }
  }
  return found
}

function titleOf(literal: string): string {
  return literal
    .slice(1, -1)
    .replaceAll(tagPattern, '')
    .replaceAll(/\$\{[^}]*\}/g, '…')
    .replaceAll(/\\(.)/g, '$1')
    .replaceAll(/[\s,]+$/g, '')
    .replaceAll(/,\s*(?=,)/g, '')
}

/** The name of a table's row: the text before tags that stand in a column of their own. */
function rowOf(before: string): string {
  return `row ${before.replaceAll(/^[\s[]+|[\s,[]+$/g, '')}`
}

/** Statements about a server that have neither a test nor a reason. */
export function unproven(titles: readonly TaggedTitle[]): string[] {
  const proven = new Set(titles.flatMap(({ tags }) => tags))
  return [...statements5, ...statements311]
    .filter(({ concerns, leftOut, tag }) => concerns === 'server' && leftOut === undefined && !proven.has(tag))
    .map(({ tag }) => tag)
}

/** Tags of titles that no specification has. */
export function unknownTags(titles: readonly TaggedTitle[]): string[] {
  const known = new Set([...statements5, ...statements311].map(({ tag }) => tag))
  return titles.flatMap(({ file, tags }) => tags.filter((tag) => !known.has(tag)).map((tag) => `${tag} in ${file}`))
}

/** The whole of docs/conformance.md. */
export function renderReport(titles: readonly TaggedTitle[]): string {
  const byTag = Map.groupBy(
    titles.flatMap((title) => title.tags.map((tag) => ({ tag, title }))),
    ({ tag }) => tag,
  )
  const testsOf = (tag: string): readonly TaggedTitle[] => (byTag.get(tag) ?? []).map(({ title }) => title)
  const missing = unproven(titles)
  return [
    '# Conformance',
    '',
    'Every numbered normative statement of MQTT 5.0 and MQTT 3.1.1, in our own words, with the tests that prove it.',
    '`npm run conformance` writes this page from the titles of the tests; a test fails when it is out of date.',
    'Statements that bind clients alone need no test; where a breach of one has an answer, its test is named.',
    '',
    '## Without a test',
    '',
    ...(missing.length === 0 ? ['None.'] : missing.map((tag) => `- ${tag}`)),
    '',
    ...section('MQTT 5.0', statements5, testsOf),
    ...section('MQTT 3.1.1', statements311, testsOf),
  ].join('\n')
}

function section(
  name: string,
  statements: readonly Statement[],
  testsOf: (tag: string) => readonly TaggedTitle[],
): string[] {
  const clients = statements.filter(({ concerns }) => concerns === 'client').length
  const leftOut = statements.filter((statement) => statement.leftOut !== undefined)
  return [
    `## ${name}`,
    '',
    `${statements.length} statements: ${statements.length - clients} concern a server, of which ${leftOut.length} are left out with a reason; ${clients} concern clients alone.`,
    '',
    ...statements.flatMap((statement) => entry(statement, testsOf(statement.tag))),
  ]
}

function entry({ tag, words, concerns, leftOut }: Statement, tests: readonly TaggedTitle[]): string[] {
  const lines = [`- **${tag}** ${words}${concerns === 'client' ? ' (clients)' : ''}`]
  if (leftOut !== undefined) lines.push(`  - Left out: ${leftOut}`)
  const files = Map.groupBy(tests, ({ file }) => file)
  for (const [file, titles] of files) {
    const unique = [...new Set(titles.map(({ title }) => title.replaceAll(/([*_<>])/g, '\\$1')))]
    lines.push(`  - \`${file}\`: ${unique.join('; ')}`)
  }
  return [...lines, '']
}
