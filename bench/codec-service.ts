/**
 * Runs the figures of commands and codecs: a service with its durable engine, and a load generator,
 * each in its own process.
 */
import { fork } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startBroker } from './broker-process.ts'
import type { Workspace } from './brokers/broker.ts'
import { durableServiceCommand, prepareService } from './brokers/fieldgate.ts'
import { makeCertificate } from './certificate.ts'
import type { Deployment } from './deployment.ts'
import type { CodecAnswer, CodecJob, CodecRequest } from './load/codec-job.ts'

const generatorProgram = fileURLToPath(new URL('load/codec-generator.ts', import.meta.url))
const JOB_TIMEOUT_MS = 180_000

/** A service that is populated once; each run starts with a copy of its data. */
export interface CodecService {
  readonly deployment: Deployment
  /**
   * The load generator's result; throws the fault of the generator or the service. `settings`
   * override the defaults.
   */
  readonly run: <Kind extends CodecJob['kind']>(
    job: Extract<CodecJob, { readonly kind: Kind }>,
    settings?: Readonly<Record<string, string>>,
  ) => Promise<Extract<Extract<CodecAnswer, { readonly kind: 'result' }>['result'], { readonly kind: Kind }>>
}

/** Prepares the service in a directory that is removed when this process ends. */
export async function prepareCodecService(): Promise<CodecService> {
  const directory = mkdtempSync(join(tmpdir(), 'fieldgate-bench-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  for (const [signal, status] of Object.entries({ SIGINT: 130, SIGTERM: 143 })) {
    process.once(signal, () => process.exit(status))
  }
  const original = { directory, certificate: await makeCertificate(directory) }
  const deployment = prepareService(original, 'populate-codecs')
  let runs = 0
  const run: CodecService['run'] = async (job, settings = {}) => {
    runs += 1
    const workspace = { ...original, directory: join(directory, `run-${runs}`) }
    cpSync(join(directory, 'service'), join(workspace.directory, 'service'), { recursive: true })
    try {
      const answer = await runJob(workspace, job, settings)
      if (answer.kind === 'fault') throw new Error(answer.text)
      return answer.result as Awaited<ReturnType<typeof run<typeof job.kind>>>
    } finally {
      rmSync(workspace.directory, { recursive: true, force: true })
    }
  }
  return { deployment, run }
}

async function runJob(
  workspace: Workspace,
  job: CodecJob,
  settings: Readonly<Record<string, string>>,
): Promise<CodecAnswer> {
  const service = await startBroker((port) => {
    const command = durableServiceCommand(workspace, port)
    return { ...command, environment: { ...command.environment, ...settings } }
  })
  try {
    const { port, pid } = service
    const answer = await generate({ target: { port, pid, certificate: workspace.certificate.pem }, job })
    const left = service.left()
    return left === undefined ? answer : { kind: 'fault', text: left }
  } finally {
    await service.stop()
  }
}

function generate(request: CodecRequest): Promise<CodecAnswer> {
  return new Promise((resolve) => {
    const child = fork(generatorProgram, { serialization: 'advanced' })
    const late = setTimeout(() => child.kill('SIGKILL'), JOB_TIMEOUT_MS)
    let answer: CodecAnswer | undefined
    child.once('message', (said) => {
      answer = said as CodecAnswer
    })
    child.once('exit', (code, signal) => {
      clearTimeout(late)
      resolve(answer ?? { kind: 'fault', text: `the load generator ended with ${code ?? signal}` })
    })
    child.send(request)
  })
}
