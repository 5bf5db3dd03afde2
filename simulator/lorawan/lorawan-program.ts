/** The simulator with `--lorawan`: from the arguments to the exit code. */
import type { Timers } from '../fleet.ts'
import { generatedLorawanDevices, lorawanDeviceRows, parseLorawanDevices } from './device-list.ts'
import type { LorawanRecord } from './device-list.ts'
import { LORAWAN_HELP, parseLorawanCommandLine } from './lorawan-command-line.ts'
import type { LorawanDeviceSource, LorawanOptions } from './lorawan-command-line.ts'
import { startLorawanSimulation } from './lorawan-simulation.ts'
import { provision } from './provision.ts'

export interface LorawanProgramSettings {
  /** The arguments without `--lorawan`. */
  readonly args: readonly string[]
  readonly environment: NodeJS.ProcessEnv
  readonly timers: Timers
  /** Writes a line about the progress, for people. */
  readonly say: (line: string) => void
  /** Writes the requested output: help, or a list. */
  readonly print: (text: string) => void
  /**
   * The file's content, or a sentence that says why there is none; undefined: no file was asked
   * for.
   */
  readonly readFile: (path: string | undefined) => Buffer | string | undefined
  /** Resolves when the simulator has to end. */
  readonly stopSignal: () => Promise<void>
}

const EXIT_CODES = { usage: 2, credentials: 3, certificate: 4, provisioning: 6 } as const

/** Runs the simulator. Resolves with the exit code. */
export async function runLorawan(settings: LorawanProgramSettings): Promise<number> {
  const { say, print } = settings
  const commandLine = parseLorawanCommandLine(settings.args, settings.environment)
  switch (commandLine.action) {
    case 'help':
      print(LORAWAN_HELP)
      return 0
    case 'refuse':
      for (const fault of commandLine.faults) say(fault)
      say('--lorawan --help shows the options')
      return EXIT_CODES.usage
    case 'print-devices': {
      const records = readDevices(commandLine.devices, settings)
      if (typeof records === 'string') return refuse(say, records)
      print(`${lorawanDeviceRows(records).join('\n')}\n`)
      return 0
    }
    case 'run': {
      const records = readDevices(commandLine.options.devices, settings)
      const certificateAuthority = settings.readFile(commandLine.options.certificateAuthorityFile)
      if (typeof records === 'string') return refuse(say, records)
      if (typeof certificateAuthority === 'string') return refuse(say, certificateAuthority)
      return await simulate(commandLine.options, records, certificateAuthority, settings)
    }
    default:
      return commandLine satisfies never
  }
}

async function simulate(
  options: LorawanOptions,
  records: readonly LorawanRecord[],
  certificateAuthority: Buffer | undefined,
  { say, timers, stopSignal }: LorawanProgramSettings,
): Promise<number> {
  if (options.provisioning !== undefined) {
    const fault = await provision({ ...options, ...options.provisioning, records, say })
    if (fault !== undefined) {
      say(`ChirpStack's API at ${options.provisioning.target}: ${fault}`)
      return EXIT_CODES.provisioning
    }
  }
  const ended = Promise.withResolvers<number>()
  const onFailed = (because: 'credentials' | 'certificate'): void => ended.resolve(EXIT_CODES[because])
  const simulation = startLorawanSimulation({ options, certificateAuthority, records, timers, say, onFailed })
  const exitCode = await Promise.race([ended.promise, stopSignal().then(() => 0)])
  await simulation.close()
  return exitCode
}

function refuse(say: (line: string) => void, fault: string): number {
  say(fault)
  return EXIT_CODES.usage
}

/** The devices, or sentences that say why there are none. */
function readDevices(
  source: LorawanDeviceSource,
  { readFile }: LorawanProgramSettings,
): readonly LorawanRecord[] | string {
  if (source.from === 'generated') return generatedLorawanDevices(source)
  const file = readFile(source.path)
  if (typeof file === 'string' || file === undefined) return file ?? source.path
  const parsed = parseLorawanDevices(file.toString('utf8'))
  return parsed.ok ? parsed.devices : parsed.faults.map((fault) => `${source.path}: ${fault}`).join('\n')
}
