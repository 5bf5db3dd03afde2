/** Runs one job against one fresh broker, by one fresh load generator. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { startBroker } from './broker-process.ts'
import type { BrokerKind, Workspace } from './brokers/broker.ts'
import type { Answer, Job } from './load/job.ts'

const generatorProgram = fileURLToPath(new URL('load/generator.ts', import.meta.url))
/**
 * The longest job, a million subscriptions or ten thousand connections, takes a quarter of this
 * time on two slow cores.
 */
const JOB_TIMEOUT_MS = 180_000

/** The broker's figures, or the fault. Both processes have ended when this resolves. */
export async function runJob(kind: BrokerKind, workspace: Workspace, job: Job): Promise<Answer> {
  const broker = await startBroker((port) => kind.command(workspace, port))
  try {
    const { port, pid } = broker
    const answer = await generate({ target: { port, pid, certificate: workspace.certificate.pem }, job })
    const left = broker.left()
    return left === undefined ? answer : { kind: 'fault', text: left }
  } finally {
    await broker.stop()
  }
}

function generate(message: { readonly target: object; readonly job: Job }): Promise<Answer> {
  return new Promise((resolve) => {
    const child = fork(generatorProgram, { serialization: 'advanced' })
    const late = setTimeout(() => child.kill('SIGKILL'), JOB_TIMEOUT_MS)
    let answer: Answer | undefined
    child.once('message', (said) => {
      answer = said as Answer
    })
    child.once('exit', (code, signal) => {
      clearTimeout(late)
      resolve(answer ?? { kind: 'fault', text: `the load generator ended with ${code ?? signal}` })
    })
    child.send(message)
  })
}
