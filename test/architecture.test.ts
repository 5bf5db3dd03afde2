import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Who may import whom (docs/architecture.md). Files directly in src/ are the composition root and import all rooms. */
const ARROWS: Readonly<Record<string, readonly string[]>> = {
  mqtt: [],
  identity: [],
  broker: ['mqtt'],
  listeners: ['broker'],
  engine: ['broker', 'mqtt'],
  lorawan: ['broker', 'mqtt'],
  access: ['broker', 'mqtt', 'identity', 'lorawan'],
  http: ['identity', 'lorawan'],
  // The command line composes a deployment, or the core alone, like the root does.
  cli: ['root', 'broker', 'mqtt', 'engine', 'listeners', 'http', 'identity', 'lorawan', 'simulator'],
  root: ['broker', 'mqtt', 'engine', 'listeners', 'http', 'identity', 'lorawan', 'access', 'cli'],
  simulator: ['lorawan'],
}

/** `src/a/b.ts` is of room a, `src/b.ts` of the root, `simulator/b.ts` of the simulator. */
function roomOf(file: string): string {
  const [top, room, ...rest] = file.split('/')
  if (top !== 'src') return top as string
  return rest.length === 0 ? 'root' : (room as string)
}

test('imports go only where the rooms of the design allow it', () => {
  const wrong: string[] = []
  const files = globSync('{src,simulator}/**/*.ts', { cwd: root }).filter((file) => !file.endsWith('.test.ts'))
  assert.ok(files.length > 50, 'the sources are found')
  for (const file of files) {
    for (const [, specifier] of readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\()\s*'(\.[^']+)'/g)) {
      const target = roomOf(relative(root, join(root, dirname(file), specifier as string)))
      const room = roomOf(file)
      if (target !== room && !(ARROWS[room] ?? []).includes(target)) wrong.push(`${file} imports ${specifier}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('the wire and the semantics know no library, and nothing of Node but buffers, randomness and timers', () => {
  const wrong: string[] = []
  for (const file of globSync('src/{mqtt,broker,engine}/**/*.ts', { cwd: root })) {
    // The one file that knows the machine's file system; the log has checksums.
    if (/\.test(ing)?\.ts$/.test(file) || file === 'src/engine/ports/node-disk.ts') continue
    const known = new Set(['node:assert', 'node:buffer', 'node:crypto'])
    if (roomOf(file) === 'engine') known.add('node:zlib')
    for (const [, specifier] of readFileSync(join(root, file), 'utf8').matchAll(
      /^(?:import|export|\}).*\bfrom\s+'([^.\n'][^'\n]*)'/gm,
    )) {
      if (!known.has(specifier as string)) wrong.push(`${file} imports ${specifier}`)
    }
  }
  assert.deepEqual(wrong, [])
})
