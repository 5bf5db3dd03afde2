/**
 * The library `lora-packet` with its real type: its own declarations name a default export that
 * does not exist.
 */
import loraPacketModule from 'lora-packet'

export const loraPacket = loraPacketModule as unknown as typeof loraPacketModule.default
