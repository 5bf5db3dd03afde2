/** The simulator: a network server with simulated devices. See `--help`. */
import { readFileSync } from 'node:fs'
import { createCommandJournal, journalFile } from './command-journal.ts'
import { HELP, parseCommandLine } from './command-line.ts'
import type { DeviceSource } from './command-line.ts'
import { parseDeviceFile } from './device-file.ts'
import type { DeviceRecord } from './device-file.ts'
import type { Timers } from './fleet.ts'
import { generatedDevices, importRows } from './generated-devices.ts'
import { createRandom } from './random.ts'
import { startSimulation } from './simulation.ts'
import type { SimulationSettings } from './simulation.ts'

/**
 * Only the argument decides: an environment variable would change the meaning of all other
 * arguments.
 */
const LORAWAN = '--lorawan'

const EXIT_CODES = { usage: 2, credentials: 3, certificate: 4, subscription: 5 } as const

const systemTimers: Timers = {
  nowMs: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

// If the parent is killed, the reader of this output is gone, too; the channel then reports the
// end.
process.stderr.on('error', () => {})

process.exitCode = await main(process.argv.slice(2))

/** Runs the simulator. Resolves with the exit code. */
async function main(args: readonly string[]): Promise<number> {
  if (args.includes(LORAWAN)) {
    // Loaded here, because its libraries are slow to load and only this mode needs them.
    const { runLorawan } = await import('./lorawan/lorawan-program.ts')
    const exitCode = await runLorawan({
      args: args.filter((argument) => argument !== LORAWAN),
      environment: process.env,
      timers: systemTimers,
      say,
      print: (text) => process.stdout.write(text),
      readFile,
      stopSignal,
    })
    if (process.connected) process.disconnect?.()
    return exitCode
  }
  const commandLine = parseCommandLine(args, process.env)
  switch (commandLine.action) {
    case 'help':
      process.stdout.write(HELP)
      return 0
    case 'refuse':
      for (const fault of commandLine.faults) say(fault)
      say('--help shows the options')
      return EXIT_CODES.usage
    case 'print-import': {
      const devices = readDevices(commandLine.devices, commandLine.seed)
      if (typeof devices !== 'string') process.stdout.write(`${importRows(devices).join('\n')}\n`)
      return 0
    }
    case 'run': {
      const { options } = commandLine
      const certificateAuthority = readFile(options.certificateAuthorityFile)
      const records = readDevices(options.devices, options.seed)
      if (typeof certificateAuthority === 'string' || typeof records === 'string') {
        for (const fault of [certificateAuthority, records]) if (typeof fault === 'string') say(fault)
        return EXIT_CODES.usage
      }
      const journal = options.stateFile === undefined ? undefined : createCommandJournal(journalFile(options.stateFile))
      return await simulate({ options, certificateAuthority, records, journal })
    }
    default:
      return commandLine satisfies never
  }
}

/**
 * Runs until a signal, the end of the parent process, or a fault that another attempt would not
 * heal.
 */
async function simulate(
  settings: Pick<SimulationSettings, 'options' | 'certificateAuthority' | 'records' | 'journal'>,
): Promise<number> {
  const ended = Promise.withResolvers<number>()
  const onFailed = (because: 'credentials' | 'certificate' | 'subscription'): void => ended.resolve(EXIT_CODES[because])
  const simulation = startSimulation({ ...settings, timers: systemTimers, say, onFailed })
  const exitCode = await Promise.race([ended.promise, stopSignal().then(() => 0)])
  await simulation.close()
  if (process.connected) process.disconnect?.()
  return exitCode
}

/** Resolves at a signal, or at the end of a parent that started the simulator with a channel. */
function stopSignal(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const event of ['SIGINT', 'SIGTERM', 'disconnect'] as const) process.once(event, () => resolve())
  return promise
}

/** The devices, or sentences that say why there are none. */
function readDevices(source: DeviceSource, seed: number): readonly DeviceRecord[] | string {
  if (source.from === 'generated') return generatedDevices({ ...source, random: createRandom(seed).fork('town') })
  const file = readFile(source.path)
  if (typeof file === 'string' || file === undefined) return file ?? source.path
  const parsed = parseDeviceFile(file.toString('utf8'))
  return parsed.ok ? parsed.devices : parsed.faults.map((fault) => `${source.path}: ${fault}`).join('\n')
}

/**
 * The file's content, or a sentence that says why there is none; undefined: no file was asked for.
 */
function readFile(path: string | undefined): Buffer | string | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    return `${path}: ${error instanceof Error && 'code' in error ? String(error.code) : String(error)}`
  }
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}
