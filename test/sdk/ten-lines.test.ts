/** The page on clients shows the programs in ten lines as they are. Tests run these programs. */
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../scripts/setup.mjs'

const PAGE = join(root, 'docs', 'clients.md')
/** `| [name](path) | lines |` */
const ROW = /^\| \[([\w.-]+)\]\((\S+)\) \| (\d+) \|/gm

test('each program of the table has its lines, ten at most, and stands on the page as it is', async () => {
  const page = await readFile(PAGE, 'utf8')
  const rows = [...page.matchAll(ROW)]
  assert.equal(rows.length, 4)
  for (const [, name = '', path = '', count] of rows) {
    const program = await readFile(join(dirname(PAGE), path), 'utf8')
    const lines = program.split('\n').filter((line) => line.trim() !== '')
    assert.equal(lines.length, Number(count), name)
    assert.ok(lines.length <= 10, name)
    assert.ok(page.includes(`\n${program}\`\`\`\n`), `${name} stands on the page as it is`)
  }
})
