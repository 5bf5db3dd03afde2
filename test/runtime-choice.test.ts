/** The choice between Bun and Node, and the start on the chosen one. */
import assert from 'node:assert/strict'
import { cp, mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, before, beforeEach, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { chooseRuntime, memoryVariables, nodePackage } from '../bin/runtime.mjs'
import { runProgram } from './support/program.ts'
import type { ProgramEnd } from './support/program.ts'
import { makeFolder } from './support/running-service.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const BUN_PLATFORM = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`
/** The launcher runs on Node: npm brought it. */
const LAUNCHING_NODE = join(root, 'node_modules', nodePackage(), 'bin', 'node')
/** A checkout like ours: a folder with packages. */
let checkout: string
let folder: string
before(async () => {
  checkout = await makeFolder()
})
beforeEach(async () => {
  await rm(checkout, { recursive: true, force: true })
  folder = join(checkout, 'lib', 'node_modules', 'fieldgate')
  await mkdir(folder, { recursive: true })
})
after(() => rm(checkout, { recursive: true, force: true }))

/** Puts a binary into the packages of the folder. Returns its path. */
async function install(at: string, packageName: string, program: 'bun' | 'node'): Promise<string> {
  const file = join(at, 'node_modules', packageName, 'bin', program)
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, '')
  return file
}

const WRONG_WORD = 'fieldgate: FIELDGATE_RUNTIME is "deno"; it must be "bun" or "node".\n'

const skip = hasBun() ? false : 'Bun does not run on this machine'

function hasBun(): boolean {
  try {
    return chooseRuntime(root, 'bun').program !== ''
  } catch {
    return false
  }
}

describe('the runtime', () => {
  it('is Bun by default, and where FIELDGATE_RUNTIME asks for it', { skip }, async () => {
    const bun = await install(folder, BUN_PLATFORM, 'bun')
    await install(folder, nodePackage(), 'node')
    assert.equal(chooseRuntime(folder, '').program, bun)
    assert.equal(chooseRuntime(folder, 'bun').program, bun)
  })

  it('is found in the folders above, and in the package of another C library', { skip }, async () => {
    const bun = await install(checkout, `${BUN_PLATFORM}-musl`, 'bun')
    assert.equal(chooseRuntime(folder, '').program, bun)
  })

  it('is Node where FIELDGATE_RUNTIME asks for it, and where Bun is not installed', async () => {
    const packaged = await install(folder, nodePackage(), 'node')
    // A launcher on a new Node needs no other Node.
    const node = process.versions.bun === undefined ? process.execPath : packaged
    assert.equal(chooseRuntime(folder, '').program, node)
    await install(folder, BUN_PLATFORM, 'bun')
    const chosen = chooseRuntime(folder, 'node')
    assert.equal(chosen.program, node)
    assert.ok(chosen.flags.some((flag) => flag.startsWith('--max-semi-space-size=')))
  })

  it('is not guessed from a word that names none', () => {
    assert.throws(() => chooseRuntime(folder, 'deno'), {
      message: 'FIELDGATE_RUNTIME is "deno"; it must be "bun" or "node".',
    })
  })

  it('is not replaced where FIELDGATE_RUNTIME asks for Bun and Bun is missing', { skip }, async () => {
    await install(folder, nodePackage(), 'node')
    assert.throws(() => chooseRuntime(folder, 'bun'), {
      message: `FIELDGATE_RUNTIME is "bun", and Bun is not installed for this machine (${process.platform}-${process.arch}). Leave FIELDGATE_RUNTIME out, or run \`npm ci --ignore-scripts\` in the checkout.`,
    })
  })
})

const GIB = 2 ** 30

function isKept(settings: Readonly<Record<string, string>>, availableBytes: number): boolean {
  return 'MIMALLOC_PURGE_DELAY' in memoryVariables(settings, availableBytes)
}

describe('free memory', () => {
  it('is kept where the service may hold 2 GiB, by the machine and by its setting', () => {
    assert.equal(isKept({}, 2 * GIB), true)
    assert.equal(isKept({}, 2 * GIB - 1), false)
    assert.equal(isKept({ FIELDGATE_MAXIMUM_MEMORY_BYTES: String(GIB) }, 16 * GIB), false)
    assert.equal(isKept({ FIELDGATE_MAXIMUM_MEMORY_BYTES: String(4 * GIB) }, 16 * GIB), true)
    assert.equal(isKept({ FIELDGATE_MAXIMUM_MEMORY_BYTES: '' }, 16 * GIB), true)
  })

  it('is kept or given back as FIELDGATE_RUNTIME_MEMORY says', () => {
    assert.equal(isKept({ FIELDGATE_RUNTIME_MEMORY: 'fast' }, GIB), true)
    assert.equal(isKept({ FIELDGATE_RUNTIME_MEMORY: 'small' }, 16 * GIB), false)
    assert.throws(() => memoryVariables({ FIELDGATE_RUNTIME_MEMORY: 'large' }, GIB), {
      message: 'FIELDGATE_RUNTIME_MEMORY is "large"; it must be "fast" or "small".',
    })
  })
})

/** Fills and frees some 600 MB. Prints the resident memory before and after giving it back. */
const FILLER = `
import { giveBackFreeMemory } from ${JSON.stringify(join(root, 'src', 'free-memory.ts'))}
let filled = Array.from({ length: 3_000_000 }, (_, index) => ({ index, list: [index] }))
const before = process.memoryUsage.rss()
filled = undefined
giveBackFreeMemory()
console.log(before, process.memoryUsage.rss())
`

it('free memory goes back to the system when the service asks, also where Bun keeps it', { skip }, async () => {
  const { program, environment } = chooseRuntime(root, 'bun')
  const kept = memoryVariables({ FIELDGATE_RUNTIME_MEMORY: 'fast' })
  const { code, stdout, stderr } = await runProgram(program, ['-e', FILLER], {
    environment: { ...environment, ...kept },
    ms: 60_000,
  })
  assert.equal(code, 0, stderr)
  const [fullBytes, freedBytes] = stdout.split(' ').map(Number)
  assert.ok(Number(freedBytes) < Number(fullBytes) / 2, stdout)
})

/**
 * A program in the place of the service: it tells its runtime and its arguments. Bun would cache a
 * file of this size.
 */
const REPORTER = `// ${'-'.repeat(100_000)}
const { versions, execArgv, argv, env } = process
const { FROM_FILE: fromFile, MIMALLOC_PURGE_DELAY: purgeDelay } = env
const [, file, ...args] = argv
console.log(JSON.stringify({ isBun: versions.bun !== undefined, execArgv, file, args, fromFile, purgeDelay }))
`

/** Starts the launcher of the folder, whose packages are ours, with `folder/home` as its home. */
async function start(
  environment: Readonly<Record<string, string>> = {},
  programs: readonly string[] = ['program/main.js'],
): Promise<ProgramEnd> {
  await cp(join(root, 'bin'), join(folder, 'bin'), { recursive: true })
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  for (const program of programs) {
    await mkdir(join(folder, 'dist', dirname(program)), { recursive: true })
    await writeFile(join(folder, 'dist', program), REPORTER)
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
  const home = join(folder, 'home')
  await mkdir(home, { recursive: true })
  await writeFile(join(home, '.env'), 'FROM_FILE=yes')
  await writeFile(join(home, 'bunfig.toml'), 'preload = ["./missing.ts"]')
  return runProgram(LAUNCHING_NODE, [join(folder, 'bin', 'fieldgate.mjs'), 'serve', 'x'], {
    environment: { HOME: home, ...environment },
    folder: home,
    ms: 30_000,
  })
}

describe('the launcher', () => {
  it('starts Bun, which reads and writes nothing in its home and in the current folder', { skip }, async () => {
    const { code, stdout, stderr } = await start()
    assert.equal(code, 0, stderr)
    const told = JSON.parse(stdout) as Record<string, unknown>
    assert.deepEqual([told['isBun'], told['args'], told['fromFile']], [true, ['serve', 'x'], undefined])
    assert.deepEqual((await readdir(join(folder, 'home'))).toSorted(), ['.env', 'bunfig.toml'])
  })

  it('gives Bun the variables of FIELDGATE_RUNTIME_MEMORY, which Bun knows', { skip }, async () => {
    const { stdout, stderr } = await start({ FIELDGATE_RUNTIME_MEMORY: 'fast' })
    const told = JSON.parse(stdout) as Record<string, unknown>
    // Bun writes a line for a variable that it does not know.
    assert.deepEqual([told['purgeDelay'], stderr], ['10000', ''])
  })

  it('starts Node with its flags where FIELDGATE_RUNTIME says so', async () => {
    const { code, stdout, stderr } = await start({ FIELDGATE_RUNTIME: 'node' })
    assert.equal(code, 0, stderr)
    const told = JSON.parse(stdout) as Record<string, unknown>
    assert.deepEqual([told['isBun'], told['args']], [false, ['serve', 'x']])
    assert.match(String(told['execArgv']), /--max-semi-space-size=/)
  })

  it('takes the program that is compiled for Bun, and on Node the other one', { skip }, async () => {
    const programs = ['bun/main.js', 'program/main.js']
    for (const [runtime, taken] of [
      ['bun', programs[0]],
      ['node', programs[1]],
    ] as const) {
      const { code, stdout, stderr } = await start({ FIELDGATE_RUNTIME: runtime }, programs)
      assert.equal(code, 0, stderr)
      const { file } = JSON.parse(stdout) as Record<string, unknown>
      assert.equal(file, join(folder, 'dist', String(taken)))
      await rm(folder, { recursive: true })
    }
  })

  it('says that nothing is built, and ends with 1', async () => {
    const { code, stdout, stderr } = await start({}, [])
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /^fieldgate: not built yet\. Run `npm ci --ignore-scripts` and `npm run build`/)
  })

  it('says what is wrong with FIELDGATE_RUNTIME, and ends with 1', async () => {
    const { code, stdout, stderr } = await start({ FIELDGATE_RUNTIME: 'deno' })
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, WRONG_WORD)
  })

  it('says the same where npm starts the demonstration', async () => {
    const { code, stderr } = await runProgram(LAUNCHING_NODE, [join(root, 'scripts', 'start.mjs')], {
      environment: { FIELDGATE_RUNTIME: 'deno' },
      ms: 100_000,
    })
    // The build tells its progress where dist/ is out of date.
    assert.equal(code, 1)
    assert.ok(stderr.endsWith(WRONG_WORD), stderr)
  })
})
