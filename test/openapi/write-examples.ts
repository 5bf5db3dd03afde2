/**
 * `npm run examples`: records the examples of the OpenAPI document anew. To be run after a route
 * was added or its schema was changed.
 */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { recordedExamples } from './recorded-examples.ts'

const FILE = fileURLToPath(new URL('../../src/http/api/operation-examples.ts', import.meta.url))

/** The formatter's width. */
const MAXIMUM_LINE = 120

const HEAD = `/**
 * An example of each operation as JSON, by the operation's id. \`npm run examples\` has recorded
 * them by the requests of the access matrix.
 */
export const EXAMPLES: Readonly<Record<string, string>> = {
`

const examples = await recordedExamples()
const lines = [...examples].map(([operationId, example]) => lineOf(operationId, literal(JSON.stringify(example))))
writeFileSync(FILE, `${HEAD}${lines.join('')}}\n`)
console.log(`${examples.size} examples written to ${FILE}`)

/** As the formatter leaves it: a line that is too long goes on in the next one. */
function lineOf(operationId: string, text: string): string {
  const line = `  ${operationId}: ${text},`
  return line.length <= MAXIMUM_LINE ? `${line}\n` : `  ${operationId}:\n    ${text},\n`
}

/** The text in single quotes. The formatter chooses the quotes of which a text has fewer. */
function literal(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`
}
