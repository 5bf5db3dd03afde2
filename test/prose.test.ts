/**
 * The rules of comments and pages that a program can check (CONTRIBUTING.md): width, the header of
 * a file, the words that may not open a sentence, and the spelling of constants.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sentencesOf } from './support/prose.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const MAXIMUM_COMMENT_COLUMNS = 100
/** A sentence that opens so makes its reader look for the thing that it is about. */
const OPENER = /^(?:What|Who|Whom|Whose|Whoever|Whatever|Which|Whichever|Such|Those|Of)\b(?!.*\?)/

const sources = globSync(
  '{src,simulator,console/src,site,bench,test,scripts,bin,sdk/typescript/src,examples/sdk}/**/*.{ts,tsx,mjs}',
  {
    cwd: root,
    // The texts of generated types are those of the schemas.
    exclude: ['test/openapi/clients/**', 'sdk/typescript/src/generated/**'],
  },
)
const pages = globSync(['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'docs/**/*.md'], {
  cwd: root,
  exclude: ['docs/conformance.md'],
})

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

describe('the prose', () => {
  test('has no comment that is wider than 100 columns', () => {
    const wide: string[] = []
    for (const file of sources) {
      for (const [index, line] of read(file).split('\n').entries()) {
        if (/^\s*(?:\/\/|\/\*\*|\*)\s/.test(line) && line.length > MAXIMUM_COMMENT_COLUMNS) {
          wide.push(`${file}:${index + 1}`)
        }
      }
    }
    assert.deepEqual(wide, [])
  })

  test('tells at the top of each source file what the file is for', () => {
    const without = sources.filter(
      (file) =>
        /^(?:src|simulator)\//.test(file) &&
        !/\.test(?:ing)?\.ts$/.test(file) &&
        !/^(?:#!.*\n)?\/(?:\*\*|\/ )/.test(read(file)),
    )
    assert.deepEqual(without, [])
  })

  test('has no sentence that opens with a bare relative word', () => {
    const wrong: string[] = []
    for (const file of [...sources, ...pages]) {
      for (const { line, text } of sentencesOf(file, read(file))) {
        if (OPENER.test(text)) wrong.push(`${file}:${line} ${text.slice(0, 60)}`)
      }
    }
    assert.deepEqual(wrong, [])
  })

  test('has no number with a name in lower case', () => {
    const wrong: string[] = []
    for (const file of sources.filter((one) => one.startsWith('src/') && !/\.test(?:ing)?\.ts$/.test(one))) {
      for (const [, name] of read(file).matchAll(/^(?:export )?const ([a-z]\w*)(?:: number)? = -?[\d_.]+(?:\s|$)/gm)) {
        wrong.push(`${file}: ${name}`)
      }
    }
    assert.deepEqual(wrong, [])
  })
})
