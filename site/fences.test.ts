/** The table of docs/fences.md has the bounds of the source. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { BOUND_NAMES, NEAR_SHARE, ORGANIZATION_BOUNDS } from '../src/organization-bounds.ts'
import type { BoundName } from '../src/organization-bounds.ts'
import { definitions } from '../src/settings/settings.ts'

const page = readFileSync(new URL('../docs/fences.md', import.meta.url), 'utf8')
const byName: Readonly<Record<string, { readonly name: string }>> = definitions

function settingOf(bound: BoundName): string {
  const setting = byName[`maximum${bound.charAt(0).toUpperCase()}${bound.slice(1)}PerOrganization`]
  assert.ok(setting !== undefined, bound)
  return setting.name
}

test('the page of the fences has each bound with its setting and its default', () => {
  const rows = Array.from(page.matchAll(/^\| `(\w+)` \| `(\w+)` \| ([\d,]+) \| [^|]+ \| [^|]+ \|$/gm), (row) =>
    row.slice(1),
  )
  assert.deepEqual(
    rows,
    BOUND_NAMES.map((bound) => [bound, settingOf(bound), ORGANIZATION_BOUNDS[bound].default.toLocaleString('en')]),
  )
})

test('the page of the fences says from which share on a bound is near', () => {
  assert.ok(page.includes(`## At ${NEAR_SHARE * 100} % of a bound`))
})
