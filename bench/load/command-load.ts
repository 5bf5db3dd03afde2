/**
 * Sends commands as fast as their window allows, then at a fixed rate, and follows each to its
 * PUBACK and to the network server.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { encodePublish } from '../../src/mqtt/publish.ts'
import { startBrokerCpu } from './broker-cpu.ts'
import type { CommandFigures, CommandJob, CommandResult, CommandSender } from './codec-job.ts'
import { Connector, openMany } from './connection.ts'
import type { Connection } from './connection.ts'
import { Faults } from './faults.ts'
import type { Target } from './job.ts'
import { keepRate } from './keep-rate.ts'
import { LatencyHistogram } from './latency-histogram.ts'

const CONNECTING_AT_ONCE = 32
/** The time for commands on their way to arrive after the last one was sent. */
const DRAIN_TIMEOUT_MS = 20_000
/** The number of last commands that are remembered: far more than all windows together hold. */
const REMEMBERED = 65_536
const LAST_PACKET_ID = 65_535
/**
 * The number of each command stands in it as a time. The time has ten digits if the numbers begin
 * here.
 */
const FIRST_NUMBER = 1_000_000_000
const NUMBER_DIGITS = 10
const PAYLOAD = `{"confirmed":false,"fPort":10,"object":{"temperatureSensor":{"1":25.5},"unixTime":{"2":${FIRST_NUMBER}}}}`
/** The first bytes that Cayenne LPP makes of the object; the last four bytes are the number. */
const ENCODED_START = Buffer.from('016700ff0285', 'hex')
const DATA_MEMBER = '"data":"'
/** The characters of ten bytes in base64. */
const DATA_CHARACTERS = 16

/**
 * Runs the job. Throws if a command was lost, doubled, out of order within its device, or wrongly
 * encoded.
 */
export async function runCommands(target: Target, job: CommandJob): Promise<CommandResult> {
  const load = new CommandLoad(target, job)
  try {
    return await load.measure()
  } finally {
    load.close()
  }
}

class CommandLoad {
  readonly #target: Target
  readonly #job: CommandJob
  readonly #faults = new Faults()
  readonly #connections: Connection[] = []
  readonly #senders: Sender[] = []
  /**
   * A ring by number: the command at each place, with its sender, its device and the time of
   * sending.
   */
  readonly #numbers = new Float64Array(REMEMBERED).fill(-1)
  readonly #senderOf = new Uint16Array(REMEMBERED)
  readonly #deviceOf = new Uint32Array(REMEMBERED)
  readonly #sentAtMs = new Float64Array(REMEMBERED)
  /** By device: the number of the command that arrived last. */
  readonly #lastOf: Float64Array
  #sent = 0
  #accepted = 0
  #outOfOrder = 0
  #acknowledgement = new LatencyHistogram()
  #delivery = new LatencyHistogram()
  #isFlatOut = false
  #turn = 0

  constructor(target: Target, job: CommandJob) {
    this.#target = target
    this.#job = job
    const devices = job.senders.reduce((sum, { topicNames }) => sum + topicNames.length, 0)
    this.#lastOf = new Float64Array(devices).fill(-1)
  }

  async measure(): Promise<CommandResult> {
    const { warmUpMs, measureMs, perSecond } = this.#job
    await this.#connect()
    this.#isFlatOut = true
    for (const sender of this.#senders) this.#refill(sender)
    await sleep(warmUpMs)
    const flatOut = await this.#figures(measureMs)
    this.#isFlatOut = false
    await this.#drain()
    const stop = keepRate(Math.min(perSecond, flatOut.accepted / flatOut.seconds / 2), (due) => this.#sendDue(due))
    await sleep(warmUpMs / 2)
    const paced = await this.#figures(measureMs)
    stop()
    await this.#drain()
    this.#faults.add('not acknowledged or not delivered', this.#onTheirWay())
    this.#faults.judge()
    return { kind: 'commands', flatOut, paced, acknowledgedOutOfOrder: this.#outOfOrder }
  }

  close(): void {
    for (const connection of this.#connections) connection.close()
  }

  async #connect(): Promise<void> {
    const connector = new Connector(this.#target)
    const failed = (reason: string): void => this.#faults.add(reason)
    const { networkServer, senders, window } = this.#job
    const taker = await connector.open({
      clientId: 'network-server',
      credentials: networkServer.credentials,
      handlers: {
        publish: (_firstByte, bytes, start, end) => this.#taken(bytes, start, end),
        acknowledged: () => failed('PUBACK at the network server'),
        failed,
      },
    })
    this.#connections.push(taker)
    await taker.subscribe(['application/+/device/+/command/down'], 1)
    let firstDevice = 0
    const firstDevices = senders.map(({ topicNames }) => (firstDevice += topicNames.length) - topicNames.length)
    await openMany(senders.length, CONNECTING_AT_ONCE, async (index) => {
      const sender = senders[index] as CommandSender
      const connection = await connector.open({
        clientId: `sender-${index}`,
        credentials: sender.credentials,
        handlers: {
          publish: () => failed('PUBLISH at a sender'),
          acknowledged: (packetId) => this.#acknowledged(index, packetId),
          failed,
        },
      })
      this.#connections.push(connection)
      this.#senders[index] = new Sender(connection, sender, {
        index,
        firstDevice: firstDevices[index] as number,
        window,
      })
      return connection
    })
  }

  async #figures(forMs: number): Promise<CommandFigures> {
    this.#acknowledgement = new LatencyHistogram()
    this.#delivery = new LatencyHistogram()
    const accepted = this.#accepted
    const cpu = startBrokerCpu(this.#target.pid)
    await sleep(forMs)
    return {
      ...cpu(),
      accepted: this.#accepted - accepted,
      acknowledgement: this.#acknowledgement.percentiles(),
      delivery: this.#delivery.percentiles(),
    }
  }

  /** Fills a sender's window at the end of this turn of the event loop. */
  #refill(sender: Sender): void {
    if (!this.#isFlatOut || sender.isListed) return
    sender.isListed = true
    setImmediate(() => {
      sender.isListed = false
      while (this.#isFlatOut && sender.hasRoom) this.#send(sender)
    })
  }

  #sendDue(due: number): void {
    for (let index = 0; index < due; index += 1) {
      this.#turn = (this.#turn + 1) % this.#senders.length
      const sender = this.#senders[this.#turn] as Sender
      if (sender.hasRoom) this.#send(sender)
    }
  }

  #send(sender: Sender): void {
    const number = this.#sent
    this.#sent += 1
    const place = number % REMEMBERED
    this.#numbers[place] = number
    const nowMs = performance.now()
    this.#senderOf[place] = sender.index
    this.#sentAtMs[place] = nowMs
    this.#deviceOf[place] = sender.send(number, nowMs)
  }

  #acknowledged(index: number, packetId: number): void {
    const sender = this.#senders[index] as Sender
    const { sentAtMs, isInOrder } = sender.acknowledged(packetId)
    if (!isInOrder) this.#outOfOrder += 1
    this.#accepted += 1
    this.#acknowledgement.record(performance.now() - sentAtMs)
    this.#refill(sender)
  }

  #taken(bytes: Buffer, start: number, end: number): void {
    const text = bytes.toString('latin1', start, end)
    const at = text.indexOf(DATA_MEMBER) + DATA_MEMBER.length
    const data = Buffer.from(text.slice(at, at + DATA_CHARACTERS), 'base64')
    if (data.length !== ENCODED_START.length + 4 || !data.subarray(0, ENCODED_START.length).equals(ENCODED_START)) {
      return this.#faults.add('wrongly encoded')
    }
    const number = data.readUInt32BE(ENCODED_START.length) - FIRST_NUMBER
    const place = number % REMEMBERED
    if (this.#numbers[place] !== number) return this.#faults.add('doubled or never sent')
    this.#numbers[place] = -1
    const device = this.#deviceOf[place] as number
    if ((this.#lastOf[device] as number) > number) this.#faults.add('out of order within its device')
    this.#lastOf[device] = number
    this.#delivery.record(performance.now() - (this.#sentAtMs[place] as number))
    const sender = this.#senders[this.#senderOf[place] as number] as Sender
    sender.taken += 1
    this.#refill(sender)
  }

  async #drain(): Promise<void> {
    const giveUpAtMs = performance.now() + DRAIN_TIMEOUT_MS
    while (this.#onTheirWay() > 0 && this.#faults.isEmpty && performance.now() < giveUpAtMs) await sleep(10)
    this.#faults.judge()
  }

  #onTheirWay(): number {
    return this.#senders.reduce((sum, { onTheirWay }) => sum + onTheirWay, 0)
  }
}

type EncodedCommand = ReturnType<typeof encodePublish>

/** One connection and its commands on their way. */
class Sender {
  /** Commands that the network server has got. */
  taken = 0
  /** True if it will send again at the end of this turn of the event loop. */
  isListed = false
  /** Its place among all senders. */
  readonly index: number
  readonly #connection: Connection
  readonly #packets: readonly EncodedCommand[]
  readonly #firstDevice: number
  readonly #window: number
  readonly #sentAtMs = new Float64Array(LAST_PACKET_ID + 1)
  #sent = 0
  #accepted = 0
  #packetId = 0
  #awaitedPacketId = 0

  constructor(
    connection: Connection,
    { topicNames }: CommandSender,
    { index, firstDevice, window }: { readonly index: number; readonly firstDevice: number; readonly window: number },
  ) {
    this.index = index
    this.#connection = connection
    this.#firstDevice = firstDevice
    this.#window = window
    const payload = Buffer.from(PAYLOAD)
    this.#packets = topicNames.map((topicName) =>
      encodePublish({ topicName, payload, qos: 1, retain: false, dup: false }, 4),
    )
  }

  get onTheirWay(): number {
    return this.#sent - Math.min(this.#accepted, this.taken)
  }

  get hasRoom(): boolean {
    return this.onTheirWay < this.#window
  }

  /**
   * Sends the command of this number to the next device. Returns the device's place among the
   * devices of all senders.
   */
  send(number: number, nowMs: number): number {
    const turn = this.#sent % this.#packets.length
    this.#sent += 1
    this.#packetId = next(this.#packetId)
    this.#sentAtMs[this.#packetId] = nowMs
    const { bytes: packet, packetIdOffset } = this.#packets[turn] as EncodedCommand
    const bytes = Buffer.from(packet)
    bytes.writeUInt16BE(this.#packetId, packetIdOffset)
    bytes.write(String(FIRST_NUMBER + number), bytes.length - NUMBER_DIGITS - '}}}'.length, NUMBER_DIGITS, 'latin1')
    this.#connection.write(bytes)
    return this.#firstDevice + turn
  }

  acknowledged(packetId: number): { readonly sentAtMs: number; readonly isInOrder: boolean } {
    this.#awaitedPacketId = next(this.#awaitedPacketId)
    this.#accepted += 1
    return { sentAtMs: this.#sentAtMs[packetId] as number, isInOrder: packetId === this.#awaitedPacketId }
  }
}

function next(packetId: number): number {
  return packetId === LAST_PACKET_ID ? 1 : packetId + 1
}
