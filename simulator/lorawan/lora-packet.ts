/**
 * The library `lora-packet`, with the type that it really has: its own names a default export that
 * isn't there.
 */
import loraPacketModule from 'lora-packet'

export const loraPacket = loraPacketModule as unknown as typeof loraPacketModule.default
