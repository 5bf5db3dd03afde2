/** The thread of `FlowBeside`: runs a flow whose window ends with a message of the main thread. */
import { once } from 'node:events'
import { parentPort, workerData } from 'node:worker_threads'
import { BEGUN } from './flow-beside.ts'
import type { Work } from './flow-beside.ts'
import { runFlow } from './flow.ts'

if (parentPort === null) throw new Error('this program is a thread')
const port = parentPort
const { target, job } = workerData as Work
const result = await runFlow([target], job, async () => {
  port.postMessage(BEGUN)
  await once(port, 'message')
})
port.postMessage(result)
