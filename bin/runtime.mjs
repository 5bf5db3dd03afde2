// Chooses the runtime of the service: Bun, or Node. Both are installed with the package. Runs on
// Node 18 and newer.
import { existsSync, readFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'

/**
 * @typedef {object} Runtime
 * @property {'bun' | 'node'} name
 * @property {string} program The runtime's binary.
 * @property {readonly string[]} flags Its own flags, which stand before the program that it runs.
 * @property {Readonly<Record<string, string>>} environment Variables that it reads itself.
 */

/**
 * The broker makes thousands of short-lived objects per second. With a large young generation, most
 * garbage collections of Node find nothing to copy.
 */
const NODE_FLAGS = ['--min-semi-space-size=16', '--max-semi-space-size=32']
/**
 * Bun reads `.env` and `bunfig.toml` of the folder in which it starts, and installs packages that
 * it does not find. The service does none of that.
 */
export const BUN_FLAGS = ['--no-env-file', '--no-install', '--config=/dev/null']
const BUN_ENVIRONMENT = {
  /**
   * Otherwise Bun writes each file that it has parsed to a cache below the home folder, which is
   * the data directory under systemd. The service itself is compiled before, and needs no cache.
   */
  BUN_RUNTIME_TRANSPILER_CACHE_PATH: '0',
  /**
   * Bun compiles a function for the last time, with its slowest compiler, after some 20,000 calls
   * instead of 7,000. For code that runs once a connection the compiler costs more than it saves.
   */
  BUN_JSC_thresholdForFTLOptimizeAfterWarmUp: '300000',
}
/**
 * Bun gives free memory back to the system many times a second, and gets it again under load by
 * pages of 4 KB. This takes a tenth of the processor's time of a message, and a third where other
 * programs use the memory of the machine. With these variables Bun keeps free memory for ten
 * seconds. An idle service then holds some 20 MB more. Bun can ask for pages of 2 MB as well. They
 * saved nothing more, and an idle service held another 75 MB.
 */
const FAST_MEMORY = {
  MIMALLOC_PURGE_DELAY: '10000',
  MIMALLOC_PURGE_HOLES: '0',
  BUN_JSC_decommitUnusedMarkedBlockPages: '0',
}
/** With less memory than this, the service gives its free memory back at once. */
const ENOUGH_MEMORY_BYTES = 2 ** 31
/** The oldest Node that runs the service. */
const OLDEST_NODE = 24

/** The package with the pinned Node of this platform, an optional dependency of package.json. */
export function nodePackage() {
  return `${process.platform === 'darwin' ? 'node-bin' : 'node'}-${process.platform}-${process.arch}`
}

/**
 * Chooses the runtime that `FIELDGATE_RUNTIME` names (`bun` or `node`), or else Bun where it runs,
 * and Node where it does not. Throws an error for the user when there is none.
 * @param {string} folder The folder of the package; its node_modules, or one above it, has the
 * runtimes.
 * @param {string} wanted `bun`, `node`, or "" for the better one.
 * @returns {Runtime}
 */
export function chooseRuntime(folder, wanted = process.env.FIELDGATE_RUNTIME ?? '') {
  if (!['', 'bun', 'node'].includes(wanted)) {
    throw new Error(`FIELDGATE_RUNTIME is "${wanted}"; it must be "bun" or "node".`)
  }
  const bun = wanted === 'node' ? undefined : findBun(folder)
  const memory = memoryVariables()
  if (bun !== undefined) {
    return { name: 'bun', program: bun, flags: BUN_FLAGS, environment: { ...BUN_ENVIRONMENT, ...memory } }
  }
  if (wanted === 'bun') {
    throw new Error(
      hasWantedInstructions()
        ? `FIELDGATE_RUNTIME is "bun", and Bun is not installed for this machine (${process.platform}-${process.arch}). Leave FIELDGATE_RUNTIME out, or run \`npm ci --ignore-scripts\` in the checkout.`
        : 'FIELDGATE_RUNTIME is "bun", and the processor of this machine has no AVX2, which Bun needs. Leave FIELDGATE_RUNTIME out.',
    )
  }
  const node = findNode(folder)
  if (node === undefined) {
    throw new Error(
      `needs Node ${OLDEST_NODE} or newer; this is ${process.version}. Run \`npm ci --ignore-scripts\` in the checkout.`,
    )
  }
  return { name: 'node', program: node, flags: NODE_FLAGS, environment: {} }
}

/**
 * The variables that make Bun keep free memory, where `FIELDGATE_RUNTIME_MEMORY` is `fast`. Without
 * the setting it is `fast` where the service may hold 2 GiB or more, and `small` elsewhere. Throws
 * an error for the user where the setting is another word.
 * @param {Readonly<Record<string, string | undefined>>} settings
 * @param {number} availableBytes The memory of the container, or of the machine.
 * @returns {Readonly<Record<string, string>>}
 */
export function memoryVariables(settings = process.env, availableBytes = memoryOfMachine()) {
  const { FIELDGATE_RUNTIME_MEMORY: wanted = '', FIELDGATE_MAXIMUM_MEMORY_BYTES: budget = '' } = settings
  if (!['', 'fast', 'small'].includes(wanted)) {
    throw new Error(`FIELDGATE_RUNTIME_MEMORY is "${wanted}"; it must be "fast" or "small".`)
  }
  const mayHoldBytes = Math.min(availableBytes, Number(budget) || Infinity)
  const isFast = wanted === '' ? mayHoldBytes >= ENOUGH_MEMORY_BYTES : wanted === 'fast'
  return isFast ? FAST_MEMORY : {}
}

/** The memory of the container, or of the machine where it has no lower bound. */
function memoryOfMachine() {
  // Node 18.14 and older can't tell the bound of a container.
  const constrained = process.constrainedMemory?.() ?? 0
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/**
 * The binary of Bun that runs here; undefined where there is none.
 * @param {string} folder The folder of the package.
 */
export function findBun(folder) {
  if (!hasWantedInstructions()) return undefined
  const arch = process.arch === 'arm64' ? 'aarch64' : process.arch
  const platform = `@oven/bun-${process.platform}-${arch}`
  return findInPackages(
    folder,
    [platform, `${platform}-musl`].map((name) => join(name, 'bin', 'bun')),
  )
}

/** This Node, if it is new enough; else the Node that was installed with the package. */
function findNode(/** @type {string} */ folder) {
  if (process.versions.bun === undefined && Number(process.versions.node.split('.')[0]) >= OLDEST_NODE) {
    return process.execPath
  }
  return findInPackages(folder, [join(nodePackage(), 'bin', 'node')])
}

/** Bun for Intel and AMD is compiled for processors with AVX2: those since 2013 have it. */
function hasWantedInstructions() {
  if (process.platform !== 'linux' || process.arch !== 'x64') return true
  try {
    return /^flags\s*:.*\bavx2\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'))
  } catch {
    return true
  }
}

/**
 * Looks in node_modules of the folder, and in node_modules of the folders above it, where npm puts
 * shared packages.
 */
function findInPackages(/** @type {string} */ folder, /** @type {readonly string[]} */ names) {
  for (let at = folder; ; at = dirname(at)) {
    const found = names.map((name) => join(at, 'node_modules', name)).find((path) => existsSync(path))
    if (found !== undefined || dirname(at) === at) return found
  }
}
