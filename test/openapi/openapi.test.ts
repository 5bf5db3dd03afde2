/**
 * Runs other people's programs on the OpenAPI document that a running service serves. `npm run
 * generators` runs more of them.
 */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { expectedOutcome, NPM_GENERATORS } from './generators.ts'
import { installParts, ranPart } from './parts.ts'
import { openWorld } from './world.ts'
import type { World } from './world.ts'

let world: World
let parts: string

before(async () => {
  parts = await installParts()
  world = await openWorld()
})

after(async () => {
  await world?.[Symbol.asyncDispose]()
})

test('spectral has nothing to say of the document', async () => {
  const { folder, documentFile } = world
  const ruleset = join(folder, 'spectral.json')
  await writeFile(ruleset, '{"extends": ["spectral:oas"]}')
  const arguments_ = ['lint', '--ruleset', ruleset, '--fail-severity', 'hint', documentFile]
  const said = await ranPart(parts, '@stoplight/spectral-cli/dist/index.js', arguments_, { folder })
  assert.match(said, /^No results with a severity of 'hint' or higher found!\s*$/)
})

test('redocly has nothing to say of the document', async () => {
  const { folder, documentFile } = world
  const environment = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const arguments_ = ['lint', '--extends', 'recommended', '--format', 'json', documentFile]
  const said = await ranPart(parts, '@redocly/cli/bin/cli.js', arguments_, { folder, environment })
  assert.match(said, /"totals": \{\s*"errors": 0,\s*"warnings": 0,\s*"ignored": 0\s*\}/)
})

for (const generator of NPM_GENERATORS) {
  test(`a client of ${generator.name} runs the main flow, by the names that the document gives`, async () => {
    const folder = join(world.folder, generator.name.replaceAll(/\W+/g, '-'))
    await mkdir(folder)
    assert.deepEqual(await generator.run(world, folder), expectedOutcome(world))
  })
}
