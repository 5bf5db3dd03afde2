/** A network server for one device in a test, written without any code of the device. */
import assert from 'node:assert/strict'
import type { Radio } from './device.ts'
import type { DownlinkItem } from './gateway-messages.ts'
import { loraPacket } from './lora-packet.ts'

export interface Downlink {
  readonly fCnt: number
  readonly fPort?: number
  readonly payload?: string
  readonly fOpts?: string
  readonly isConfirmed?: boolean
}

const APP_KEY = '00112233445566778899aabbccddeeff'
const DEV_ADDR = Buffer.from('00f04a8e', 'hex')

/** Answers each join request, unless `isAnswering` is false; sends the frames that a test wants. */
export function createNetworkSide({ isAnswering = true } = {}) {
  const sent: { readonly phyPayload: Buffer; readonly spreadingFactor: number }[] = []
  const listeners = new Set<(item: DownlinkItem) => void>()
  const keys = { NwkSKey: Buffer.alloc(16), AppSKey: Buffer.alloc(16) }
  const answerers: ((item: DownlinkItem) => void)[] = []
  const radio: Radio = {
    async transmit(phyPayload, { spreadingFactor }, receiver) {
      sent.push({ phyPayload, spreadingFactor })
      answerers.push(receiver)
      const packet = loraPacket.fromWire(phyPayload)
      if (packet.isJoinRequestMessage() && isAnswering) receiver(item(acceptOf(packet.DevNonce), 5000))
    },
    listen(receiver) {
      listeners.add(receiver)
      return () => listeners.delete(receiver)
    },
  }

  function acceptOf(devNonce: Buffer | undefined): Buffer {
    const appKey = hex(APP_KEY)
    const [NetID, AppNonce] = [Buffer.from([0, 0, 0]), Buffer.from([1, 2, 3])]
    Object.assign(keys, loraPacket.generateSessionKeys10(appKey, NetID, AppNonce, devNonce ?? Buffer.alloc(2)))
    const fields = { MType: 'Join Accept', NetID, AppNonce, DevAddr: DEV_ADDR, DLSettings: 0, RxDelay: 1 }
    // The library puts the encrypted bytes here, and leaves its other members in the clear.
    const packet = loraPacket.fromFields(fields, undefined, undefined, appKey)
    return Buffer.concat([Buffer.from([0x20]), packet.MACPayloadWithMIC ?? Buffer.alloc(0)])
  }

  function dataFrame({ fCnt, fPort, payload = '', fOpts = '', isConfirmed = false }: Downlink): Buffer {
    const fields = {
      MType: isConfirmed ? 'Confirmed Data Down' : 'Unconfirmed Data Down',
      DevAddr: DEV_ADDR,
      FCnt: fCnt,
      FOpts: fOpts,
      payload: hex(payload),
      ...(fPort === undefined ? {} : { FPort: fPort }),
    }
    const packet = loraPacket.fromFields(fields, keys.AppSKey, keys.NwkSKey)
    loraPacket.recalculateMIC(packet, keys.NwkSKey)
    return packet.PHYPayload ?? Buffer.alloc(0)
  }

  return {
    radio,
    appKey: APP_KEY,
    answer: (downlink: Downlink) => answerers.at(-1)?.(item(dataFrame(downlink), 1000)),
    sendAtOnce: (downlink: Downlink) => {
      for (const listener of listeners) listener(item(dataFrame(downlink), undefined))
    },
    spreadingFactors: () => sent.map(({ spreadingFactor }) => spreadingFactor),
    /**
     * The data frames that the network server has read; a frame with a wrong integrity code fails
     * the test.
     */
    uplinks: () =>
      sent
        .map(({ phyPayload }) => loraPacket.fromWire(phyPayload))
        .filter((packet) => packet.isDataMessage())
        .map((packet) => {
          assert.ok(loraPacket.verifyMIC(packet, keys.NwkSKey))
          const fPort = packet.getFPort()
          const payload = fPort === null ? Buffer.alloc(0) : loraPacket.decrypt(packet, keys.AppSKey, keys.NwkSKey)
          return {
            fCnt: packet.getFCnt(),
            fPort,
            payload: payload.toString('hex'),
            isConfirmed: packet.isConfirmed(),
            isAcknowledgement: packet.getFCtrlACK(),
            fOpts: packet.FOpts?.toString('hex') ?? '',
          }
        }),
  }
}

function item(phyPayload: Buffer, delayMs: number | undefined): DownlinkItem {
  return { phyPayload, delayMs, frequency: 868_100_000, spreadingFactor: 7, context: Buffer.alloc(4) }
}

function hex(text: string): Buffer {
  return Buffer.from(text, 'hex')
}
