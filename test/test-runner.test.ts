/** The runner of `npm test` on files of its own: nothing that goes wrong counts as passed. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chooseRuntime } from '../bin/runtime.mjs'
import { runBunTests } from '../scripts/bun-tests.mjs'
import type { FileResult } from '../scripts/bun-tests.mjs'
import { MAXIMUM_SECOND_RUNS, runAgain } from '../scripts/second-run.mjs'
import { mostlyWaits, NODE_ALONE, runtimesOf } from '../scripts/test-runtimes.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'fieldgate-runner-'))
after(() => rmSync(folder, { recursive: true }))

/** Runs one file with this text. */
async function outcomeOf(text: string, fileMs?: number): Promise<FileResult> {
  const bun = chooseRuntime(root, 'bun')
  writeFileSync(join(folder, 'a.test.ts'), `import { after, before, describe, it, test } from 'node:test'\n${text}`)
  const results: FileResult[] = []
  const environment = { PATH: process.env['PATH'] }
  const onResult = (result: FileResult): void => void results.push(result)
  const limit = fileMs === undefined ? {} : { fileMs }
  await runBunTests(['a.test.ts'], { root: folder, bun, environment, onResult, ...limit })
  const [result] = results
  assert.ok(result !== undefined && results.length === 1)
  return result
}

test('passed, failed and skipped tests are counted, in groups too, and diagnostics are notes', async () => {
  const { file, passed, failed, skipped, output, notes } = await outcomeOf(`
    test('one', (t) => t.diagnostic('speed: 5/s'))
    test('two', { skip: true }, () => {})
    test('three', { todo: true }, () => {})
    describe('group', () => {
      it('four', () => {})
      describe('within', () => it('five & <six>', () => { throw new Error('the fault of five') }))
    })`)
  assert.deepEqual({ file, passed, failed, skipped }, { file: 'a.test.ts', passed: 2, failed: 1, skipped: 2 })
  assert.match(output, /the fault of five/)
  assert.doesNotMatch(output, /\(pass\)/)
  assert.deepEqual(notes, ['speed: 5/s'])
})

for (const [title, text, reason] of [
  ['crashes', "test('x', () => process.kill(process.pid, 'SIGKILL'))", /ended with signal SIGKILL/],
  ['exits within a test with 0', "test('x', () => process.exit(0))", /told no results/],
  ["can't be loaded", "throw new Error('at load')", /at load[^]*told no results/],
  ['has no test', 'void test', /told no results/],
  ['fails before its tests', "before(() => { throw new Error('no world') }); test('x', () => {})", /no world/],
  ['fails behind its tests', "after(() => { throw new Error('no end') }); test('x', () => {})", /no end/],
  [
    'has an error that no test waits for',
    "test('x', () => void Promise.reject(new Error('nobody waits')))",
    /nobody waits/,
  ],
] as const) {
  test(`a file that ${title} counts as failed, and the end of its output is told`, async () => {
    const { failed, output } = await outcomeOf(text)
    assert.equal(failed, 1)
    assert.match(output, reason)
  })
}

test('a file that never ends is killed, and counts as failed', async () => {
  const { failed, output } = await outcomeOf("test('x', () => { for (;;); })", 1_500)
  assert.equal(failed, 1)
  assert.match(output, /ended with signal SIGKILL/)
})

test('a process that a test leaves behind does not hold the runner up', async () => {
  const { passed, failed } = await outcomeOf(`
    import { spawn } from 'node:child_process'
    test('x', () => spawn('sleep', ['5'], { stdio: 'inherit' }).unref())`)
  assert.deepEqual({ passed, failed }, { passed: 1, failed: 0 })
})

/** A test that ends when the tests b1, b2, b3 and w1 have begun. */
function meeting(name: string): string {
  return `
    import { existsSync, watch, writeFileSync } from 'node:fs'
    import { test } from 'node:test'
    test('x', async () => {
      const all = () => ['b1', 'b2', 'b3', 'w1'].every((name) => existsSync(name))
      const { promise, resolve } = Promise.withResolvers()
      const watcher = watch('.', () => all() && resolve())
      writeFileSync('${name}', '')
      if (!all()) await promise
      watcher.close()
    })`
}

test('a file that mostly waits runs beside three others, and every file runs once', async () => {
  const bun = chooseRuntime(root, 'bun')
  const names = ['b1', 'b2', 'b3', 'b4', 'w1', 'w2']
  const files = names.map((name) => `${name}.test.ts`)
  for (const [index, file] of files.entries()) writeFileSync(join(folder, file), meeting(names[index] ?? ''))
  const environment = { PATH: process.env['PATH'] }
  const results = await runBunTests(files, {
    root: folder,
    bun,
    environment,
    mostlyWaits: (file) => file.startsWith('w'),
    fileMs: 30_000,
  })
  assert.deepEqual(results.map(({ file }) => file).toSorted(), files)
  assert.ok(results.every(({ passed, failed }) => passed === 1 && failed === 0))
})

test('files with real network servers wait, and others do not', () => {
  assert.equal(mostlyWaits('test/network-servers/core.test.ts'), true)
  assert.equal(mostlyWaits('test/e2e/half-open.test.ts'), true)
  assert.equal(mostlyWaits('test/e2e/import.test.ts'), false)
})

test('a failed file that passes alone is unsteady, and one that fails again counts as failed', async () => {
  const failed = [
    { file: 'unsteady.test.ts', passed: 1, failed: 2, skipped: 1 },
    { file: 'broken.test.ts', passed: 4, failed: 1, skipped: 0 },
  ]
  const { unsteady, ...change } = await runAgain(failed, async (file) =>
    file === 'unsteady.test.ts' ? { passed: 3, failed: 0, skipped: 1 } : { passed: 4, failed: 1, skipped: 0 },
  )
  assert.deepEqual(unsteady, ['unsteady.test.ts'])
  assert.deepEqual(change, { passed: 2, failed: -2, skipped: 0 })
})

test('no file runs again where many have failed', async () => {
  const failed = Array.from({ length: MAXIMUM_SECOND_RUNS + 1 }, (_, index) => ({
    file: `${index}.test.ts`,
    passed: 0,
    failed: 1,
    skipped: 0,
  }))
  const again: string[] = []
  const { unsteady, ...change } = await runAgain(failed, async (file) => {
    again.push(file)
    return { passed: 1, failed: 0, skipped: 0 }
  })
  assert.deepEqual(
    { again, unsteady, change },
    { again: [], unsteady: [], change: { passed: 0, failed: 0, skipped: 0 } },
  )
})

test('Bun runs every file but those with a reason against it; Node runs these and the core', () => {
  const reasons = Object.entries(NODE_ALONE)
  for (const [file, reason] of reasons) assert.ok(existsSync(join(root, file)) && reason !== '', file)
  const [alone = ''] = Object.keys(NODE_ALONE)
  const core = ['src/broker/broker.test.ts', 'src/http/server.test.ts', 'test/limits.test.ts']
  const others = ['src/http/administration.test.ts', 'test/e2e/backup.test.ts', 'src/bounded-cache.test.ts']
  for (const file of [...core, ...others]) assert.ok(existsSync(join(root, file)), file)
  const { bun, node } = runtimesOf([alone, ...core, ...others])
  assert.deepEqual(bun.toSorted(), [...core, ...others].toSorted())
  assert.equal(bun[0], 'test/e2e/backup.test.ts', 'the slow files come first')
  assert.deepEqual(node, [alone, ...core])
})
