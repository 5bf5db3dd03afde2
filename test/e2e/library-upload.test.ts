/** An upload into the device library that breaks off in the middle, over a real connection. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, mock } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { ArchiveHelper } from '../../src/lorawan/library/archive-helper.ts'
import { chirpStackFiles } from '../../src/lorawan/library/collections.testing.ts'
import { zipOf } from '../../src/lorawan/library/zip.testing.ts'
import { within } from '../support/bounded-wait.ts'
import { startInProcess } from '../support/running-service.ts'
import type { RunningService } from '../support/running-service.ts'

const hasProc = existsSync('/proc/self/stat')
const SCRIPT = 'vendors/pond/codecs/frog.js'

let service: RunningService
let folder: string
const temporaryBefore = process.env['TMPDIR']

before(async () => {
  service = await startInProcess()
  folder = await mkdtemp(join(tmpdir(), 'fieldgate-library-upload-'))
  process.env['TMPDIR'] = folder
})

after(async () => {
  if (temporaryBefore === undefined) delete process.env['TMPDIR']
  else process.env['TMPDIR'] = temporaryBefore
  await service?.stop()
  await rm(folder, { recursive: true, force: true })
})

/** The collection as an archive; `later` is behind the script of its first model. */
function archive(later = ''): Buffer {
  const content = { ...chirpStackFiles, [SCRIPT]: `${chirpStackFiles[SCRIPT] ?? ''}${later}` }
  return zipOf(Object.entries(content).map(([path, text]) => ({ path, content: text })))
}

function upload(bytes: Buffer) {
  const headers = { 'content-type': 'application/zip' }
  const path = '/api/device-library/import?update=true&force=true'
  return service.http.ask('POST', path, { token: service.adminSession, headers, bytes })
}

/** Everything in the library that a profile has. */
async function library(): Promise<readonly unknown[]> {
  const token = service.adminSession
  const { result } = await service.http.must('GET', '/api/device-library/profiles?limit=100', { token })
  const ids = (result as readonly { readonly id: string }[]).map(({ id }) => id)
  return Promise.all(ids.map((id) => service.http.must('GET', `/api/device-library/profiles/${id}`, { token })))
}

/** Resolves when an import is under way, or with `false` when none is. */
async function importIs(underWay: boolean): Promise<void> {
  const json = { profiles: [], dryRun: true }
  for (;;) {
    const path = '/api/device-library/profiles'
    const { status, text } = await service.http.ask('POST', path, { token: service.adminSession, json })
    if ((status !== 200) === underWay) return
    if (status !== 200) assert.match(text, /library_import_busy/)
  }
}

/** Resolves when this process has so many readers, or at once where the system does not tell. */
async function readersAre(count: number): Promise<void> {
  if (!hasProc) return
  while (archiveReaders() !== count) await nextTurn()
}

function archiveReaders(): number {
  return readdirSync('/proc').filter((pid) => {
    try {
      const parent = / \S (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/^.*\)/s, ''))?.[1]
      const isOurs = parent === String(process.pid)
      return isOurs && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('archive-process')
    } catch {
      // It is no process, or the process has just ended.
      return false
    }
  }).length
}

function files(): readonly string[] {
  const data = readdirSync(service.dataDirectory, { recursive: true, encoding: 'utf8' })
  return [...data, ...readdirSync(folder, { encoding: 'utf8' })].toSorted()
}

/** Sends the head of an upload of so many bytes. */
async function beginUpload(length: number): Promise<TLSSocket> {
  const socket = connect({ host: 'localhost', port: Number(new URL(service.https).port), ca: service.ca })
  socket.on('error', () => {})
  socket.resume()
  await within(once(socket, 'secureConnect'), 'the connection')
  const head = [
    'POST /api/device-library/import?update=true&force=true HTTP/1.1',
    'Host: localhost',
    'Content-Type: application/zip',
    `Content-Length: ${length}`,
    `Grpc-Metadata-Authorization: Bearer ${service.adminSession}`,
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  return socket
}

/** Resolves when the reader of an archive has taken some of its bytes. */
async function bytesAreTaken(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  // oxlint-disable-next-line typescript/unbound-method -- It is called with its object.
  const { take } = ArchiveHelper.prototype
  const spy = mock.method(ArchiveHelper.prototype, 'take', async function (this: ArchiveHelper, bytes: Uint8Array) {
    await take.call(this, bytes)
    resolve()
  })
  await promise
  spy.mock.restore()
}

/** The moments at which an upload breaks off, by a wait that begins before its bytes are sent. */
const MOMENTS = [
  { moment: 'while the reader of the archive starts', comes: () => importIs(true) },
  { moment: 'while the reader takes its bytes', comes: bytesAreTaken },
] as const

const CUTS = [
  { way: 'is cut', cut: (socket: TLSSocket) => socket.destroy() },
  { way: 'ends', cut: (socket: TLSSocket) => socket.end() },
] as const

describe('an upload into the device library', () => {
  for (const { moment, comes } of MOMENTS) {
    for (const { way, cut } of CUTS) {
      it(`leaves the library, no file and no process when its connection ${way} ${moment}`, async () => {
        assert.equal((await upload(archive())).status, 200)
        const kept = await library()
        assert.equal(kept.length, 2)
        const filesBefore = files()
        const later = archive(`\n// when the connection ${way} ${moment}`)

        const logged = service.logText().length
        const socket = await beginUpload(later.length)
        const come = within(comes(), 'the import')
        socket.write(later.subarray(0, later.length - 100))
        await come
        cut(socket)
        await within(importIs(false), 'the end of the import')
        await within(readersAre(0), 'the end of the reader')

        assert.deepEqual(await library(), kept)
        assert.deepEqual(files(), filesBefore)
        const lines = service.logText().slice(logged).split('\n')
        assert.equal(lines.filter((line) => line.includes('"request.aborted"')).length, 1)
        assert.deepEqual(
          lines.filter((line) => line.includes('"level":"error"')),
          [],
        )

        const { status, text, body } = await upload(later)
        assert.equal(status, 200, text)
        assert.deepEqual([body['changedCount'], body['unchangedCount']], [1, 1])
        await within(readersAre(0), 'the end of the reader')
      })
    }
  }
})
