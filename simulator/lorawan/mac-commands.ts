/** MAC commands of a network server, and the answers of a device of LoRaWAN 1.0.3 (chapter 5). */
import type { Region } from '../region.ts'

/** The settings of the radio that MAC commands change, and the values that they ask for. */
export interface MacSettings {
  /** The data rate of the next uplink, as an index of the region's data rates. */
  dataRate: number
  txPower: number
  /** How often an unconfirmed uplink is sent. */
  transmissions: number
  rx1DataRateOffset: number
  rx2DataRate: number
  /** Hz; 0: the frequency of the region. */
  rx2Frequency: number
  rxDelaySeconds: number
  maximumDutyCycle: number
  /** Hz, by channel index: the channels that NewChannelReq has added. */
  readonly channels: Map<number, number>
  /** 0: external power; 1 to 254: a level; 255: not measurable. */
  battery: number
  /** dB of the last downlink, -32 to 31. */
  margin: number
}

/** A command that was read. */
export interface MacCommand {
  readonly name: string
  readonly bytes: Buffer
}

export interface MacAnswer {
  readonly bytes: Buffer
  /**
   * True for an answer that goes with each uplink until a downlink shows that the network server
   * has it.
   */
  readonly isRepeated: boolean
}

interface Command {
  readonly name: string
  /** The bytes behind the identifier. */
  readonly length: number
  readonly isAnswerRepeated?: true
  /** The bytes behind the identifier in the answer; undefined: there is no answer. */
  answer?(settings: MacSettings, request: Buffer, dataRates: readonly number[]): Buffer | undefined
}

/** A channel below this index belongs to the region and can't be changed. */
const FIRST_FREE_CHANNEL = 3
const LAST_CHANNEL = 15
/** The value that means "no change". */
const KEEP = 0xf

const COMMANDS: Readonly<Record<number, Command>> = {
  0x02: { name: 'LinkCheckAns', length: 2 },
  0x03: { name: 'LinkADRReq', length: 4, answer: answerLinkAdr },
  0x04: {
    name: 'DutyCycleReq',
    length: 1,
    answer(settings, request) {
      settings.maximumDutyCycle = request.readUInt8(0) & 0x0f
      return Buffer.alloc(0)
    },
  },
  0x05: { name: 'RXParamSetupReq', length: 4, isAnswerRepeated: true, answer: answerRxParamSetup },
  0x06: {
    name: 'DevStatusReq',
    length: 0,
    // The margin is a signed number of 6 bits.
    answer: ({ battery, margin }) => Buffer.from([battery, margin & 0x3f]),
  },
  0x07: { name: 'NewChannelReq', length: 5, answer: answerNewChannel },
  0x08: {
    name: 'RXTimingSetupReq',
    length: 1,
    isAnswerRepeated: true,
    answer(settings, request) {
      settings.rxDelaySeconds = Math.max(1, request.readUInt8(0) & 0x0f)
      return Buffer.alloc(0)
    },
  },
  0x09: { name: 'TxParamSetupReq', length: 1, answer: () => Buffer.alloc(0) },
  0x0a: { name: 'DlChannelReq', length: 4, isAnswerRepeated: true, answer: answerDlChannel },
  0x0d: { name: 'DeviceTimeAns', length: 5 },
}

/** The initial settings of a device: the fastest data rate, and the windows of the region. */
export function initialMacSettings({ dataRates, secondWindow }: Region): MacSettings {
  return {
    dataRate: dataRates.at(-1)?.dr ?? 0,
    txPower: 0,
    transmissions: 1,
    rx1DataRateOffset: 0,
    rx2DataRate: secondWindow.dataRate.dr,
    rx2Frequency: 0,
    rxDelaySeconds: 1,
    maximumDutyCycle: 0,
    channels: new Map(),
    battery: 200,
    margin: 10,
  }
}

/** The commands in order. An unknown identifier ends them, for its length is unknown as well. */
export function parseMacCommands(bytes: Buffer): MacCommand[] {
  const commands: MacCommand[] = []
  for (let at = 0; at < bytes.length;) {
    const command = COMMANDS[bytes.readUInt8(at)]
    const end = at + 1 + (command?.length ?? 0)
    if (command === undefined || end > bytes.length) break
    commands.push({ name: command.name, bytes: bytes.subarray(at, end) })
    at = end
  }
  return commands
}

/**
 * Executes the commands and returns the answers in the same order. `dataRates` are the region's
 * uplink data rates.
 */
export function answerMacCommands(
  commands: readonly MacCommand[],
  settings: MacSettings,
  dataRates: readonly number[],
): MacAnswer[] {
  const answers: MacAnswer[] = []
  for (const { bytes } of commands) {
    const identifier = bytes.readUInt8(0)
    const command = COMMANDS[identifier]
    const answer = command?.answer?.(settings, bytes.subarray(1), dataRates)
    if (answer === undefined) continue
    answers.push({
      bytes: Buffer.concat([Buffer.from([identifier]), answer]),
      isRepeated: command?.isAnswerRepeated === true,
    })
  }
  return answers
}

/**
 * The request has data rate and power in the first byte, then the channel mask, then its use and
 * the number of transmissions.
 */
function answerLinkAdr(settings: MacSettings, request: Buffer, dataRates: readonly number[]): Buffer {
  const first = request.readUInt8(0)
  const [dataRate, txPower] = [first >> 4, first & 0x0f]
  const redundancy = request.readUInt8(3)
  const isMaskEmpty = request.readUInt16LE(1) === 0 && ((redundancy >> 4) & 0x07) === 0
  const isDataRateKnown = dataRate === KEEP || dataRates.includes(dataRate)
  // All or nothing: a refused part leaves all settings as they were.
  if (isDataRateKnown && !isMaskEmpty) {
    if (dataRate !== KEEP) settings.dataRate = dataRate
    if (txPower !== KEEP) settings.txPower = txPower
    settings.transmissions = Math.max(1, redundancy & 0x0f)
  }
  return Buffer.from([0x04 | (isDataRateKnown ? 0x02 : 0) | (isMaskEmpty ? 0 : 0x01)])
}

/** The request has DLSettings, then the frequency of the second window in 100 Hz. */
function answerRxParamSetup(settings: MacSettings, request: Buffer): Buffer {
  const dlSettings = request.readUInt8(0)
  settings.rx1DataRateOffset = (dlSettings >> 4) & 0x07
  settings.rx2DataRate = dlSettings & 0x0f
  settings.rx2Frequency = frequencyAt(request, 1)
  return Buffer.from([0x07])
}

/**
 * The request has index, frequency in 100 Hz, highest and lowest data rate. A frequency of 0
 * removes the channel.
 */
function answerNewChannel({ channels }: MacSettings, request: Buffer): Buffer {
  const index = request.readUInt8(0)
  const frequency = frequencyAt(request, 1)
  if (index < FIRST_FREE_CHANNEL || index > LAST_CHANNEL) return Buffer.from([0x00])
  if (frequency === 0) channels.delete(index)
  else channels.set(index, frequency)
  return Buffer.from([0x03])
}

/**
 * The request has the index and frequency of a channel's first window; the gateways here are heard
 * on any frequency.
 */
function answerDlChannel(_settings: MacSettings, request: Buffer): Buffer {
  return Buffer.from([request.readUInt8(0) > LAST_CHANNEL ? 0x00 : 0x03])
}

function frequencyAt(request: Buffer, offset: number): number {
  return request.readUIntLE(offset, 3) * 100
}
