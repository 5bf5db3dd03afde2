/** The simulator: a network server with simulated devices. See `--help`. */
import { readFileSync } from 'node:fs'
import { HELP, parseCommandLine } from './command-line.ts'
import type { SimulatorOptions } from './command-line.ts'
import { parseDeviceFile } from './device-file.ts'
import type { DeviceRecord } from './device-file.ts'
import { createFleet } from './fleet.ts'
import type { Timers } from './fleet.ts'
import { createGateways } from './gateways.ts'
import { createNetworkServer } from './network-server.ts'
import type { ConnectionStatus, PublishStatistics } from './network-server.ts'
import { createRandom } from './random.ts'
import { SimulatedDevice } from './simulated-device.ts'

const EXIT_CODES = { usage: 2, credentials: 3, certificate: 4, subscription: 5 } as const

/** The wait before the first attempt to connect again. */
const RECONNECT_DELAY_MS = 1000

/** Devices join within this time after the start, so that a demonstration has events at once. */
const JOIN_WINDOW_MS = 5000

const systemTimers: Timers = {
  nowMs: () => Date.now(),
  after(delayMs, run) {
    const timer = setTimeout(run, delayMs)
    return () => clearTimeout(timer)
  },
}

// A parent that was killed takes the reader of this output with it; the end is then told by its channel.
process.stderr.on('error', () => {})

process.exitCode = await main(process.argv.slice(2))

/** The exit code, once the simulator has ended. */
async function main(args: readonly string[]): Promise<number> {
  const commandLine = parseCommandLine(args, process.env)
  if (commandLine.action === 'help') {
    process.stdout.write(HELP)
    return 0
  }
  if (commandLine.action === 'refuse') {
    for (const fault of commandLine.faults) say(fault)
    say('--help shows the options')
    return EXIT_CODES.usage
  }
  const { options } = commandLine
  const certificateAuthority = readFile(options.certificateAuthorityFile)
  const file = readFile(options.devicesFile)
  if (typeof certificateAuthority === 'string' || typeof file === 'string' || file === undefined) {
    for (const fault of [certificateAuthority, file]) if (typeof fault === 'string') say(fault)
    return EXIT_CODES.usage
  }
  const devices = parseDeviceFile(file.toString('utf8'))
  if (!devices.ok) {
    for (const fault of devices.faults) say(`${options.devicesFile}: ${fault}`)
    return EXIT_CODES.usage
  }
  return await simulate(options, certificateAuthority, devices.devices)
}

/** Runs until a signal, the end of the parent process, or a fault that trying again would not help. */
async function simulate(
  options: SimulatorOptions,
  certificateAuthority: Buffer | undefined,
  records: readonly DeviceRecord[],
): Promise<number> {
  const ended = Promise.withResolvers<number>()
  let isStarted = false
  const fleet = createFleet({
    devices: createDevices(options, records),
    timers: systemTimers,
    publish(event) {
      if (options.isVerbose) say(`${event.kind.padEnd(8)} ${event.devEui} ${event.payload.deviceName}`)
      server.publish(event)
    },
  })
  const server = createNetworkServer({
    ...options,
    certificateAuthority,
    reconnectDelayMs: RECONNECT_DELAY_MS,
    onCommand(topicName, payload) {
      const isOurs = fleet.receive(topicName, payload)
      if (options.isVerbose) say(`command  ${topicName}${isOurs ? '' : ' (no such device here)'}`)
    },
    onStatus(status) {
      say(describe(status, options, records))
      if (status.state === 'failed') ended.resolve(EXIT_CODES[status.because])
      if (status.state !== 'connected' || isStarted) return
      isStarted = true
      fleet.start()
    },
    onRefused(event, reasonCode, reason) {
      say(`The broker refused ${event.kind} of ${event.devEui}: 0x${reasonCode.toString(16)} ${reason}`)
    },
  })
  process.once('SIGINT', () => ended.resolve(0))
  process.once('SIGTERM', () => ended.resolve(0))
  // Started with a channel to its parent, the simulator does not outlive it.
  process.once('disconnect', () => ended.resolve(0))
  const exitCode = await ended.promise
  fleet.stop()
  await server.close()
  if (process.connected) process.disconnect?.()
  for (const line of summary(server.statistics)) say(line)
  return exitCode
}

function createDevices(options: SimulatorOptions, records: readonly DeviceRecord[]): SimulatedDevice[] {
  const random = createRandom(options.seed)
  const locations = records.map((record) => record.location)
  const gateways = createGateways(locations, random.fork('gateways'))
  const intervalMs = options.intervalMs ?? (records.length * 1000) / (options.ratePerSecond ?? 1)
  const startMs = systemTimers.nowMs()
  return records.map((record) => {
    const own = random.fork(record.devEUI)
    const joinAtMs = startMs + own.between(0, JOIN_WINDOW_MS)
    return new SimulatedDevice({ record, gateways, random: own, intervalMs, joinAtMs })
  })
}

function describe(status: ConnectionStatus, options: SimulatorOptions, records: readonly DeviceRecord[]): string {
  switch (status.state) {
    case 'connected': {
      const applications = new Set(records.map((record) => record.applicationID)).size
      return (
        `Connected to ${options.url} as ${options.clientId}${status.sessionPresent ? ', Session resumed' : ''}: ` +
        `devices ${records.length}, applications ${applications}`
      )
    }
    case 'disconnected':
      return `Not connected to ${options.url}: ${status.reason}; trying again`
    case 'failed':
      return `Cannot work with ${options.url}: ${status.reason}`
    default:
      return status satisfies never
  }
}

function summary(statistics: PublishStatistics): string[] {
  const kinds = Object.entries(statistics.published).map(([kind, count]) => `${kind} ${count}`)
  return [
    `Published: ${kinds.join(', ')}`,
    `Commands received: ${statistics.commands}`,
    ...[...statistics.refused].map(([reason, count]) => `Refused: ${count} with ${reason}`),
    ...(statistics.dropped > 0 ? [`Dropped while the broker did not answer: ${statistics.dropped}`] : []),
  ]
}

/** The file's content, or a sentence why there is none; undefined where no file is asked for. */
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
