/**
 * A network server under load: publishes numbered uplinks of several devices in order, at QoS 1 or
 * 0, and repeats at QoS 1 what a killed service did not acknowledge.
 */
import type { IPublishPacket, Packet } from 'mqtt-packet'
import { codeOf, WireClient } from '../../support/wire-client.ts'
import type { Login } from '../../support/wire-client.ts'
import type { RunningService } from '../../support/running-service.ts'

type Address = Pick<RunningService, 'mqttsPort' | 'ca'>

/** Uplinks that may be on their way without an acknowledgement. */
const WINDOW = 64

export interface LoadOptions {
  readonly login: Login
  readonly applicationId: string
  readonly devEuis: readonly string[]
}

export class LoadPublisher {
  readonly #options: LoadOptions
  /** By Packet Identifier, in the order of sending. */
  readonly #unacknowledged = new Map<number, IPublishPacket>()
  #client: WireClient | undefined = undefined
  #packetId = 0
  #allowed = 0
  #progress: () => void = () => {}
  published = 0

  constructor(options: LoadOptions) {
    this.#options = options
  }

  /** The number of uplinks that the service has acknowledged. */
  get acknowledged(): number {
    return this.published - this.#unacknowledged.size
  }

  /** Publishes until so many uplinks were published in all. */
  allow(total: number): void {
    this.#allowed = Math.max(this.#allowed, total)
    this.#publish()
  }

  /** Resolves when everything that is allowed is acknowledged. */
  async settled(): Promise<void> {
    while (this.acknowledged < this.#allowed) {
      await new Promise<void>((resolve) => (this.#progress = resolve))
    }
  }

  /** Connects, and publishes until the connection ends. */
  async run(address: Address): Promise<void> {
    let client: WireClient
    try {
      client = await WireClient.open(address, 5)
      const properties = { sessionExpiryInterval: 3600 }
      const code = await client.connect(this.#options.login, { clientId: 'network-server', clean: false, properties })
      if (code !== 0) return
    } catch {
      return
    }
    this.#client = client
    for (const packet of this.#unacknowledged.values()) client.send({ ...packet, dup: true })
    this.#publish()
    for (let packet = await nextOf(client); packet !== undefined; packet = await nextOf(client)) this.#took(packet)
    this.#client = undefined
  }

  stop(): void {
    this.#client?.destroy()
  }

  #publish(): void {
    const packets: Packet[] = []
    while (this.#client !== undefined && this.published < this.#allowed && this.#unacknowledged.size < WINDOW) {
      do this.#packetId = (this.#packetId % 65_535) + 1
      while (this.#unacknowledged.has(this.#packetId))
      const packet = { ...this.#uplink(this.published), messageId: this.#packetId }
      this.published += 1
      this.#unacknowledged.set(this.#packetId, packet)
      packets.push(packet)
    }
    if (packets.length > 0) this.#client?.send(...packets)
  }

  /** The uplink of one device, with all members that the contract of family A demands. */
  #uplink(sequence: number): IPublishPacket {
    const { applicationId, devEuis } = this.#options
    const devEui = devEuis[sequence % devEuis.length] as string
    const fCnt = Math.floor(sequence / devEuis.length)
    const payload = {
      applicationID: applicationId,
      applicationName: 'proof',
      deviceName: devEui,
      deviceProfileName: 'meter',
      deviceProfileID: '',
      devEUI: devEui,
      rxInfo: [],
      txInfo: { frequency: 868_100_000, dr: 5 },
      adr: true,
      fCnt,
      fPort: 2,
      data: Buffer.from(String(sequence)).toString('base64'),
      tags: {},
    }
    const topic = `application/${applicationId}/device/${devEui}/event/up`
    return { cmd: 'publish', topic, payload: JSON.stringify(payload), qos: 1, retain: false, dup: false }
  }

  #took(packet: Packet): void {
    if (packet.cmd !== 'puback') return
    if (codeOf(packet) >= 0x80) throw new Error(`refused: ${JSON.stringify(packet)}`)
    this.#unacknowledged.delete(packet.messageId as number)
    this.#progress()
    this.#publish()
  }
}

/** Undefined at the end of the connection, and when nothing came for a long time. */
async function nextOf(client: WireClient): Promise<Packet | undefined> {
  try {
    return await client.next()
  } catch {
    client.destroy()
    return undefined
  }
}
