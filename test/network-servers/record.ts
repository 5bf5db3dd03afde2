/**
 * Records the events and answers of real ChirpStacks anew: `node test/network-servers/record.ts`,
 * as this folder's README says.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { recordingUrl } from '../recordings/recordings.ts'
import { findPrograms } from './programs.ts'
import { openV3Recorder, openV4Recorder, recordAnswers, recordForm } from './recorder.ts'
import { startServers } from './servers.ts'

const { programs, missing } = await findPrograms()
if (programs === undefined) throw new Error(missing)
const servers = await startServers(programs)
try {
  const v4 = await openV4Recorder(servers)
  await v4.recorder.run()
  await write(recordingUrl('v4', 'forms'), await recordForm(servers, 'v4', 'protobuf'))
  const v3Forms = [...(await recordForm(servers, 'v3', 'protobuf')), ...(await recordForm(servers, 'v3', 'base64-ids'))]
  await write(recordingUrl('v3', 'forms'), v3Forms)
  await write(recordingUrl('v4', 'events'), v4.recorder.events)
  await write(recordingUrl('v4', 'grpc'), await recordAnswers(v4))
  const v3 = await openV3Recorder(servers)
  await v3.recorder.run()
  await write(recordingUrl('v3', 'events'), v3.recorder.events)
} finally {
  await servers.close()
}

async function write(url: URL, content: object): Promise<void> {
  await mkdir(new URL('.', url), { recursive: true })
  await writeFile(url, `${JSON.stringify(content, undefined, 2)}\n`)
  console.log(`written: ${url.pathname}`)
}
