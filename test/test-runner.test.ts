/** The runner of `npm test` on files of its own: nothing that goes wrong counts as passed. */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chooseRuntime } from '../bin/runtime.mjs'
import { runInLanes } from '../scripts/lanes.mjs'
import { MAXIMUM_SECOND_RUNS, runAgain } from '../scripts/second-run.mjs'
import { pinnedNode } from '../scripts/setup.mjs'
import { runTestFile } from '../scripts/test-file.mjs'
import type { FileResult } from '../scripts/test-file.mjs'
import { mostlyWaits, NODE_ALONE, testFiles } from '../scripts/test-runtimes.mjs'
import { until } from './cluster/until.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'fieldgate-runner-'))
after(() => rmSync(folder, { recursive: true }))

const RUNTIMES = ['bun', 'node'] as const

/** Runs one file with this text. */
async function outcomeOf(on: (typeof RUNTIMES)[number], text: string, fileMs?: number): Promise<FileResult> {
  writeFileSync(join(folder, 'a.test.ts'), `import { after, before, describe, it, test } from 'node:test'\n${text}`)
  return runTestFile({ file: 'a.test.ts', on }, { ...options(), ...(fileMs === undefined ? {} : { fileMs }) })
}

function options(): Parameters<typeof runTestFile>[1] {
  const environment = { PATH: process.env['PATH'] }
  return { root: folder, bun: chooseRuntime(root, 'bun'), node: pinnedNode, environment }
}

for (const on of RUNTIMES) {
  test(`on ${on}, passed, failed and skipped tests are counted, in groups too, and diagnostics are notes`, async () => {
    const { file, passed, failed, skipped, output, notes } = await outcomeOf(
      on,
      `
      test('one', (t) => t.diagnostic('speed: 5/s'))
      test('two', { skip: true }, () => {})
      test('three', { todo: true }, () => {})
      describe('group', () => {
        it('four', () => {})
        describe('within', () => it('five & <six>', () => { throw new Error('the fault of five') }))
      })`,
    )
    assert.deepEqual({ file, passed, failed, skipped }, { file: 'a.test.ts', passed: 2, failed: 1, skipped: 2 })
    assert.match(output, /the fault of five/)
    assert.doesNotMatch(output, /\(pass\)|✔/)
    assert.deepEqual(notes, ['speed: 5/s'])
  })
}

for (const [title, text, reason] of [
  ['crashes', "test('x', () => process.kill(process.pid, 'SIGKILL'))", /signal SIGKILL|✖ a\.test\.ts/],
  ["can't be loaded", "throw new Error('at load')", /at load/],
  ['fails before its tests', "before(() => { throw new Error('no world') }); test('x', () => {})", /no world/],
  ['fails behind its tests', "after(() => { throw new Error('no end') }); test('x', () => {})", /no end/],
  [
    'has an error that no test waits for',
    "test('x', () => void Promise.reject(new Error('nobody waits')))",
    /nobody waits/,
  ],
] as const) {
  for (const on of RUNTIMES) {
    test(`on ${on}, a file that ${title} counts as failed, and the end of its output is told`, async () => {
      const { failed, output } = await outcomeOf(on, text)
      assert.equal(failed, 1)
      assert.match(output, reason)
    })
  }
}

for (const [title, text] of [
  ['exits within a test with 0', "test('x', () => process.exit(0))"],
  ["can't be loaded", "throw new Error('at load')"],
  ['has no test', 'void test'],
] as const) {
  test(`on bun, a file that ${title} tells no results, and counts as failed`, async () => {
    const { failed, output } = await outcomeOf('bun', text)
    assert.equal(failed, 1)
    assert.match(output, /told no results/)
  })
}

test('on bun, a file that never ends is killed, and counts as failed', async () => {
  const { failed, output } = await outcomeOf('bun', "test('x', () => { for (;;); })", 1_500)
  assert.equal(failed, 1)
  assert.match(output, /ended with signal SIGKILL/)
})

test('on node, a file that never ends is ended with its process, and counts as failed', async () => {
  const pidFile = join(folder, 'pid')
  const text = `
    import { writeFileSync } from 'node:fs'
    test('x', () => { writeFileSync(${JSON.stringify(pidFile)}, String(process.pid)); for (;;); })`
  const { failed, output } = await outcomeOf('node', text, 1_500)
  assert.equal(failed, 1)
  assert.match(output, /told no results/)
  const pid = Number(readFileSync(pidFile, 'utf8'))
  assert.ok(pid > 0)
  assert.ok((await until(() => !isAlive(pid), 10_000)) < Infinity)
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a process that a test leaves behind does not hold the runner up', async () => {
  const { passed, failed } = await outcomeOf(
    'bun',
    `
    import { spawn } from 'node:child_process'
    test('x', () => spawn('sleep', ['5'], { stdio: 'inherit' }).unref())`,
  )
  assert.deepEqual({ passed, failed }, { passed: 1, failed: 0 })
})

test('jobs that mostly wait run beside three others, and every job runs once', { timeout: 10_000 }, async () => {
  const names = ['b1', 'b2', 'b3', 'b4', 'w1', 'w2', 'w3']
  const begun: string[] = []
  const together = Promise.withResolvers<void>()
  await runInLanes(
    names.map((name) => ({
      mostlyWaits: name.startsWith('w'),
      run: async () => {
        begun.push(name)
        if (begun.length === 4) {
          assert.deepEqual(begun.toSorted(), ['b1', 'b2', 'b3', 'w1'])
          together.resolve()
        }
        await together.promise
      },
    })),
  )
  assert.deepEqual(begun.toSorted(), names)
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
  const { unsteady, ...change } = await runAgain(failed, async ({ file }) =>
    file === 'unsteady.test.ts' ? { passed: 3, failed: 0, skipped: 1 } : { passed: 4, failed: 1, skipped: 0 },
  )
  assert.deepEqual(unsteady, failed.slice(0, 1))
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
  const { unsteady, ...change } = await runAgain(failed, async ({ file }) => {
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
  const divided = testFiles([alone, ...core, ...others])
  const on = (runtime: string): readonly string[] => divided.filter((one) => one.on === runtime).map(({ file }) => file)
  assert.deepEqual(on('bun').toSorted(), [...core, ...others].toSorted())
  assert.deepEqual(on('node').toSorted(), [alone, ...core].toSorted())
  assert.equal(on('bun')[0], 'test/e2e/backup.test.ts', 'the slow files come first')
})
