/**
 * `npm run generators`: a client of each generator runs the main flow against a service. Generators
 * for which the machine lacks a program are skipped and reported.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { expectedOutcome, GENERATORS } from './generators.ts'
import { ran } from './parts.ts'
import { openWorld } from './world.ts'
import type { World } from './world.ts'

await using world = await openWorld()
let passed = 0
let failed = 0
let skipped = 0
for (const generator of GENERATORS) {
  const missing = await missingOf(generator.needs, world)
  if (missing.length > 0) {
    skipped += 1
    console.log(`SKIPPED ${generator.name}: install ${missing.join(' and ')} to run it`)
    continue
  }
  const folder = join(world.folder, `generator-${generator.name.replaceAll(/\W+/g, '-')}`)
  await mkdir(folder)
  const startedAtMs = performance.now()
  try {
    const outcome = await generator.run(world, folder)
    if (!isDeepStrictEqual(outcome, expectedOutcome(world))) throw new Error(`told ${JSON.stringify(outcome)}`)
    passed += 1
    console.log(`✔ ${generator.name} (${((performance.now() - startedAtMs) / 1000).toFixed(1)} s)`)
  } catch (error) {
    failed += 1
    console.log(`✖ ${generator.name}: ${String(error)}`)
  }
}
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`)
process.exitCode = failed === 0 ? 0 : 1

async function missingOf(programs: readonly string[], { folder }: World): Promise<string[]> {
  const missing: string[] = []
  for (const program of programs) {
    await ran('which', [program], { folder }).catch(() => missing.push(program))
  }
  return missing
}
