/**
 * Commands by gRPC whose answers get lost: ChirpStack sends each command once, and each has its
 * fate.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { after, before, it } from 'node:test'
import { within } from '../support/bounded-wait.ts'
import { openPlaces } from './places.ts'
import type { Places } from './places.ts'
import { describeWithNetworkServers } from './programs.ts'
import { bytesOf } from './radio-pump.ts'
import { startServers } from './servers.ts'
import type { Servers } from './servers.ts'

const ROUNDS = 5
/** The longest time in which ChirpStack sends a command to a device of class C. */
const SENT_MS = 30_000

/** Ends the connection whose answer was lost. */
type EndConnection = () => void

/** Passes all bytes on but lost answers. */
class ForgetfulPath {
  readonly #server = createServer((near) => this.#join(near))
  readonly #target: number
  readonly #sockets = new Set<Socket>()
  #losing: PromiseWithResolvers<EndConnection> | undefined
  /** The number of lost answers. */
  lost = 0

  constructor(target: number) {
    this.#target = target
  }

  async open(): Promise<number> {
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as AddressInfo).port
  }

  /**
   * Drops the server's next bytes, and all that follow on their connection; the client's requests
   * still pass. The first bytes of a connection are not dropped: without the server's SETTINGS
   * (RFC 9113 §3.4) the client would send no request. Resolves when the first bytes are dropped;
   * from then on the caller may end the connection.
   */
  loseNext(): Promise<EndConnection> {
    this.#losing = Promise.withResolvers<EndConnection>()
    return this.#losing.promise
  }

  async close(): Promise<void> {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    await once(this.#server, 'close')
  }

  #join(near: Socket): void {
    const far = connect(this.#target, '127.0.0.1')
    let isLost = false
    let hasSpoken = false
    this.#sockets.add(near)
    near.on('error', () => {})
    far.on('error', () => {})
    near.on('close', () => {
      this.#sockets.delete(near)
      far.destroy()
    })
    far.on('close', () => near.destroy())
    near.on('data', (bytes) => void far.write(bytes))
    far.on('data', (bytes) => {
      if (this.#losing !== undefined && hasSpoken) {
        isLost = true
        this.lost += 1
        this.#losing.resolve(() => near.destroy())
        this.#losing = undefined
      }
      hasSpoken = true
      if (!isLost) near.write(bytes)
    })
  }
}

await describeWithNetworkServers('an answer of ChirpStack that gets lost', { timeout: 300_000 }, (programs) => {
  let servers: Servers
  let opened: Places
  let path: ForgetfulPath

  before(async () => {
    servers = await startServers(programs)
    opened = await openPlaces(servers, ['v4-grpc'])
    const { v4, grpcPath } = opened
    assert.ok(v4 !== undefined && grpcPath !== undefined)
    path = new ForgetfulPath(v4.apiPort)
    servers.closing(() => path.close())
    grpcPath.leadTo(await path.open())
    grpcPath.mend()
  })

  after(() => servers.close())

  it('of a device of class C: the command was sent meanwhile, is not sent again, and is known to be sent', async () => {
    const place = opened.of('v4-grpc')
    const device = await place.joinedDevice({ deviceClass: 'C' })
    for (let round = 0; round < ROUNDS; round += 1) {
      const lost = path.loseNext()
      const sent = device.nextFrame(({ payload }) => payload[0] === round, SENT_MS)
      const data = Buffer.from([round]).toString('base64')
      await place.integrator.command(device.devEui, { id: `c${round}`, data })
      const [end] = await Promise.all([within(lost, 'an answer to lose'), sent])
      end()
      await place.fieldgate.untilCommand(
        device.devEui,
        `c${round}`,
        ({ transmittedAt }) => transmittedAt !== null,
        60_000,
      )
    }
    assert.equal(path.lost, ROUNDS)
    // A command that is known to be sent is never enqueued again, so a doubled command would be
    // there by now.
    assert.deepEqual(await place.networkServer.queue(device.devEui), [])
    assert.deepEqual(bytesOf(device), [0, 1, 2, 3, 4])
    assert.equal(place.integrator.eventsOf(device.devEui, 'txack').length, ROUNDS)
  })

  it('of a device of class A: the command waits there, and is found', async () => {
    const place = opened.of('v4-grpc')
    const device = await place.joinedDevice()
    for (let round = 0; round < ROUNDS; round += 1) {
      const lost = path.loseNext()
      await place.integrator.command(device.devEui, { id: `a${round}`, data: 'AQID' })
      const [end] = await Promise.all([within(lost, 'an answer to lose'), place.untilQueued(device.devEui, round + 1)])
      end()
      await place.fieldgate.untilCommand(device.devEui, `a${round}`, ({ state }) => state === 'sent', 60_000)
    }
    assert.equal((await place.networkServer.queue(device.devEui)).length, ROUNDS)
  })
})
