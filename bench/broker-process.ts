/** A broker in its own process: started, awaited, stopped. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const START_TIMEOUT_MS = 30_000
const STOP_TIMEOUT_MS = 10_000
/**
 * The number of last characters of the program's standard error that are kept, to be shown when it
 * fails.
 */
const REMEMBERED_CHARACTERS = 2_000

export interface BrokerProcess {
  readonly port: number
  readonly pid: number
  /** How the program ended by itself, with its last words; undefined while it runs. */
  left(): string | undefined
  /** Asks the program to end; kills it if it has not ended after some time. */
  stop(): Promise<void>
}

/**
 * The command that starts a broker. The broker listens for MQTT over TLS at a port of 127.0.0.1.
 */
export interface BrokerCommand {
  readonly program: string
  readonly arguments: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

/**
 * Resolves when the port accepts connections. Throws, with the program's output, if the program
 * ends before that.
 */
export async function startBroker(commandAt: (port: number) => BrokerCommand): Promise<BrokerProcess> {
  const port = await freePort()
  const { program, arguments: args, environment } = commandAt(port)
  const child = spawn(program, args, {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...environment },
  })
  // If a comparison is interrupted, no broker stays behind.
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  child.once('exit', () => process.off('exit', kill))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-REMEMBERED_CHARACTERS)
  })
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  await Promise.race([listening(child, port, () => said), failed])
  const left = (): string | undefined =>
    isRunning(child) ? undefined : `the broker left with ${child.exitCode ?? child.signalCode}: ${said}`
  return { port, pid: child.pid ?? 0, left, stop: () => stop(child) }
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null
}

async function listening(child: ChildProcess, port: number, said: () => string): Promise<void> {
  const giveUpAtMs = performance.now() + START_TIMEOUT_MS
  while (!(await accepts(port))) {
    if (!isRunning(child)) throw new Error(`${child.spawnfile} left at its start: ${said()}`)
    if (performance.now() > giveUpAtMs) {
      await stop(child)
      throw new Error(`${child.spawnfile} did not listen within ${START_TIMEOUT_MS} ms: ${said()}`)
    }
    await sleep(20)
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

async function stop(child: ChildProcess): Promise<void> {
  if (!isRunning(child)) return
  const left = once(child, 'exit')
  const late = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  child.kill('SIGTERM')
  await left
  clearTimeout(late)
}

/** A port that was free a moment ago. Nobody else opens listeners while a comparison runs. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
