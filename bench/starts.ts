/**
 * `node bench/starts.ts [rounds] [directory]`: how long the built service takes to be ready, and
 * the memory it has when idle. It starts a new deployment, and one with a million stored events, a
 * hundred thousand devices and ten thousand Sessions that was killed. The directory keeps this
 * deployment for the next run; without it, the deployment is made anew.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { freePort, startBroker } from './broker-process.ts'
import type { Workspace } from './brokers/broker.ts'
import { durableServiceCommand, prepareService } from './brokers/fieldgate.ts'
import { makeCertificate } from './certificate.ts'
import { DEVICES_OF_AN_APPLICATION, eventTopic, networkServer } from './deployment.ts'
import { fill, leaveSessions } from './load/absence.ts'
import { cpuNanoseconds, residentBytes } from './process-accounting.ts'
import { median } from './statistics.ts'

const FIELDGATE = fileURLToPath(new URL('../bin/fieldgate.mjs', import.meta.url))
const STORED = 1_000_000
const SESSIONS = 10_000
const LOOK_MS = 5
const GIVE_UP_MS = 60_000
/** After this time the start has left nothing to do, and memory is collected. */
const IDLE_MS = 10_000

const [roundsText = '5', kept] = process.argv.slice(2)
const rounds = Number(roundsText)
const scratch = mkdtempSync(join(tmpdir(), 'fieldgate-starts-'))
process.once('exit', () => rmSync(scratch, { recursive: true, force: true }))
for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
  process.once(signal, () => process.exit(status))
}
await measure('a new deployment', (round) => ({ FIELDGATE_DATA_DIR: join(scratch, `new-${round}`) }))
const large = await largeDeployment(kept ?? scratch)
await measure('after a kill, a large deployment', () => large)

interface Start {
  readonly readyMs: number
  readonly cpuMs: number
  readonly idleBytes: number
}

/** Starts and kills the service in each round. Prints the medians, and the longest start. */
async function measure(name: string, environment: (round: number) => Readonly<Record<string, string>>): Promise<void> {
  const starts: Start[] = []
  for (let round = 0; round < rounds; round += 1) starts.push(await start(environment(round)))
  const middle = (of: (one: Start) => number): number => Math.round(median(starts.map(of)))
  const longest = Math.round(Math.max(...starts.map(({ readyMs }) => readyMs)))
  console.log(
    `${name}: ready after ${middle(({ readyMs }) => readyMs)} ms (longest of ${rounds}: ${longest} ms), ` +
      `${middle(({ cpuMs }) => cpuMs)} ms of CPU, ${middle(({ idleBytes }) => idleBytes / 2 ** 20)} MB when idle`,
  )
}

async function start(environment: Readonly<Record<string, string>>): Promise<Start> {
  const httpsPort = await freePort()
  const beganAtMs = performance.now()
  const child = spawn(process.execPath, [FIELDGATE, 'serve'], {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      FIELDGATE_HOST: '127.0.0.1',
      FIELDGATE_PUBLIC_HOST: 'localhost',
      FIELDGATE_MQTTS_PORT: '0',
      FIELDGATE_LOG_LEVEL: 'warn',
      ...environment,
      FIELDGATE_HTTPS_PORT: String(httpsPort),
    },
  })
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  try {
    while (!(await isReady(httpsPort))) {
      if (child.exitCode !== null) throw new Error(`the service left with ${child.exitCode}`)
      if (performance.now() - beganAtMs > GIVE_UP_MS) throw new Error('the service was not ready in time')
      await sleep(LOOK_MS)
    }
    const readyMs = performance.now() - beganAtMs
    const pid = child.pid ?? 0
    const cpuMs = cpuNanoseconds(pid) / 1e6
    await sleep(IDLE_MS)
    return { readyMs, cpuMs, idleBytes: residentBytes(pid) }
  } finally {
    const left = child.exitCode === null ? once(child, 'exit') : undefined
    end()
    await left
    process.off('exit', end)
  }
}

function isReady(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const asked = request({ port, path: '/api/internal/health', rejectUnauthorized: false, agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    asked.once('error', () => resolve(false))
    asked.end()
  })
}

/** Makes the deployment, unless the directory has it; returns its environment. */
async function largeDeployment(directory: string): Promise<Readonly<Record<string, string>>> {
  mkdirSync(directory, { recursive: true })
  const workspace: Workspace = { directory, certificate: await makeCertificate(directory) }
  const made = join(directory, 'made')
  if (!existsSync(made)) {
    await fillDeployment(workspace)
    writeFileSync(made, '')
  }
  return durableServiceCommand(workspace, 0).environment ?? {}
}

async function fillDeployment(workspace: Workspace): Promise<void> {
  const deployment = prepareService(workspace, 'populate')
  const broker = await startBroker((port) => durableServiceCommand(workspace, port))
  try {
    const target = { port: broker.port, pid: broker.pid, certificate: workspace.certificate.pem }
    await leaveSessions(target, deployment, SESSIONS)
    const topicNames = Array.from({ length: DEVICES_OF_AN_APPLICATION }, (_, device) =>
      eventTopic(deployment, 1, device),
    )
    await fill(target, networkServer(deployment), topicNames, STORED)
  } finally {
    process.kill(broker.pid, 'SIGKILL')
    await broker.stop()
  }
}
