import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { definitions } from '../src/settings/settings.ts'
import { search } from './browser/search.ts'
import { readDocumentation } from './documentation.ts'
import { renderMarkdown } from './markdown.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const nowhere = (): undefined => undefined
/** Throws where a link of a page leads nowhere. */
const documentation = readDocumentation(root)

test('every Markdown file of docs/ is a page', () => {
  const files = documentation.pages.map(({ source }) => source.file)
  assert.deepEqual(
    files.toSorted(),
    globSync(['docs/**/*.md', '{README,CHANGELOG,CONTRIBUTING,SECURITY}.md'], { cwd: root }).toSorted(),
  )
  assert.equal(new Set(documentation.pages.map(({ source }) => source.path)).size, files.length)
})

const first = (question: string): string => search(documentation.index, question)[0]?.address ?? ''

test('people find what they were told', () => {
  assert.match(first('subscribe_not_granted'), /^\/docs\/errors#mqtt-subscribe_not_granted$/)
  assert.match(first('token_expired'), /^\/docs\/errors#(mqtt|http)-token_expired$/)
  assert.match(first('FIELDGATE_PUBLIC_HOST'), /^\/docs\/(settings|readme)#FIELDGATE_PUBLIC_HOST$/)
  assert.equal(first('0x87'), '/docs/mqtt#0x87')
  for (const question of ['"Keep Alive"', 'Receive Maximum', 'lost password', 'backup', 'wss://']) {
    assert.ok(search(documentation.index, question).length > 0, question)
  }
})

test('the page of the settings has each setting with an anchor', () => {
  const page = documentation.pages.find(({ source }) => source.file === 'docs/settings.md')
  for (const { name } of Object.values(definitions)) assert.ok(page?.rendered.anchors.has(name), name)
})

test('a link that leads nowhere, an anchor that is none and HTML are faults', () => {
  const options = { resolve: nowhere, isCodes: false }
  assert.throws(() => renderMarkdown('<img src="https://elsewhere.example/x.png">', options), /HTML in a page/)
  const page = renderMarkdown('# One\n\nSee [it](#two).\n\n## Two\n\n## Two\n', options)
  assert.deepEqual([...page.anchors], ['one', 'two', 'two-1'])
  assert.deepEqual(page.links, [{ path: '#', anchor: 'two', written: '[it](#two)' }])
})

test('a code at the head of an item has an anchor of its own, by the part of the page', () => {
  const source =
    '# Errors\n\n## MQTT\n\n- `one_code`, `other` (0x87): text with `one_code`.\n- no code\n\n## Else\n\n- `third`: x\n'
  const page = renderMarkdown(source, { resolve: nowhere, isCodes: true })
  assert.deepEqual([...page.anchors], ['errors', 'mqtt', 'mqtt-one_code', 'mqtt-other', 'else'])
  assert.match(page.html, /<a class="code" id="mqtt-other" href="#mqtt-other"><code>other<\/code><\/a>/)
})

test('text of a page is text, whatever it looks like', () => {
  const { html } = renderMarkdown('# A `<b>` & "c"\n\n```sh x\n<script>\n```\n', {
    resolve: nowhere,
    isCodes: false,
  })
  assert.doesNotMatch(html, /<script|<b>/)
  assert.match(html, /&lt;script&gt;/)
})

test('the pages and buttons that the first steps name are those of the console', () => {
  const steps = readFileSync(join(root, 'docs/first-device.md'), 'utf8')
  const named = Array.from(steps.matchAll(/\*\*([^*]+)\*\*/g), ([, name = '']) => name)
  assert.ok(named.length > 12)
  const files = globSync('console/src/**/*.{ts,tsx}', { cwd: root })
  const console = files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
  assert.deepEqual(
    named.filter((name) => !new RegExp(String.raw`(?:^\s+|[>'"])${name}(?:[<'"]|$)`, 'm').test(console)),
    [],
  )
})
