/** The configurations of the how-to pages, as the tests run them. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

/**
 * The block of a page of docs/how-to whose fence says `name="…"`, with the words of the example
 * replaced. Each word must be there.
 */
export async function documentedBlock(
  page: string,
  name: string,
  words: Readonly<Record<string, string>>,
): Promise<string> {
  const file = fileURLToPath(new URL(`../../docs/how-to/${page}`, import.meta.url))
  const text = await readFile(file, 'utf8')
  const fence = new RegExp(`^( *)\`\`\`\\w* name="${name}"\\n([^]*?)\\n *\`\`\`$`, 'm')
  const [, indent = '', block] = fence.exec(text) ?? []
  assert.ok(block !== undefined, `${page} has no block ${name}`)
  const lines = block.replaceAll(new RegExp(`^${indent}`, 'gm'), '')
  return Object.entries(words).reduce((content, [word, value]) => {
    assert.ok(content.includes(word), `${page} has no ${word} in the block ${name}`)
    return content.replaceAll(word, value)
  }, lines)
}
