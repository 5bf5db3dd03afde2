/**
 * Four connections that flood behind a refused CONNECT: the service reads one buffer of each,
 * closes it, and its memory stays bounded.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { EventEmitter } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { WebSocket } from 'ws'
import { within } from '../support/bounded-wait.ts'
import { FLOOD_PIECE, REFUSED_CONNECT, floodOverTls } from '../support/flood.ts'
import { makeFolder, startAsProcess } from '../support/running-service.ts'

type Service = Awaited<ReturnType<typeof startAsProcess>>

const FLOODS = 4
/**
 * The bytes taken from each connection: the service's buffer, and the buffers of the two kernels. A
 * flood sends hundreds of times as many within a second.
 */
const MAXIMUM_TAKEN_BYTES = 33_554_432
const MAXIMUM_GROWTH_BYTES = 67_108_864

let folder: string
let service: Service

before(async () => {
  folder = await makeFolder()
  service = await startAsProcess(folder)
})

after(async () => {
  await service.stop()
  await rm(folder, { recursive: true, force: true })
})

async function memoryBytes(): Promise<number> {
  const status = await readFile(`/proc/${service.program.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024
}

/** Resolves when the socket has ended, in whichever way. */
function endOf(socket: EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    socket.on('error', () => {})
    socket.once('close', () => resolve())
  })
}

/**
 * Floods a connection. Returns the bytes that the service's end took until it closed the
 * connection.
 */
async function floodTls(): Promise<number> {
  const socket = await floodOverTls(service)
  await within(endOf(socket), 'the end of the flood')
  return socket.bytesWritten - socket.writableLength
}

async function floodWebSocket(): Promise<number> {
  const socket = new WebSocket(`${service.https.replace('https', 'wss')}/mqtt`, 'mqtt', { ca: service.ca })
  await once(socket, 'open')
  const closed = endOf(socket)
  let taken = 0
  const send = (): void => {
    if (socket.readyState === socket.CLOSED) return
    socket.send(FLOOD_PIECE, { binary: true }, (error) => {
      if (error !== undefined && error !== null) return
      taken += FLOOD_PIECE.length
      send()
    })
  }
  socket.send(REFUSED_CONNECT)
  for (let lanes = 0; lanes < 8; lanes += 1) send()
  await within(closed, 'the end of the flood')
  return taken
}

for (const [name, flood] of [
  ['MQTT over TLS', floodTls],
  ['MQTT over WebSocket', floodWebSocket],
] as const) {
  test(`${name}: a flood behind a refused CONNECT is not read, and ends`, async () => {
    const bytes = await memoryBytes()
    const taken = await Promise.all(Array.from({ length: FLOODS }, flood))
    for (const read of taken) assert.ok(read < MAXIMUM_TAKEN_BYTES, `${read} bytes were taken`)
    const growth = (await memoryBytes()) - bytes
    assert.ok(growth < MAXIMUM_GROWTH_BYTES, `${growth} bytes more`)
  })
}
