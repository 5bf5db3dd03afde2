/** A TCP or TLS socket as the broker's duplex of bytes. */
import type { Socket } from 'node:net'
import type { Transport, TransportHandlers } from '../broker/transport.ts'

/** Time for what was written to reach a client that we close on; one that does not read is cut off then. */
const LINGER_MS = 5_000

export function socketTransport(socket: Socket): Transport {
  let handlers: TransportHandlers | undefined
  let closed = false
  socket.setNoDelay(true)
  const close = (error: Error | undefined): void => {
    if (closed) return
    closed = true
    handlers?.closed(error)
  }
  socket.on('data', (chunk: Buffer) => handlers?.data(chunk))
  socket.on('drain', () => handlers?.drained())
  socket.on('error', (error) => close(error))
  socket.on('end', () => socket.end())
  socket.on('close', () => close(undefined))
  return {
    attach(next) {
      handlers = next
    },
    write(bytes) {
      if (!socket.destroyed) socket.write(bytes)
    },
    get bufferedBytes() {
      return socket.writableLength
    },
    pause() {
      socket.pause()
    },
    resume() {
      socket.resume()
    },
    end() {
      closed = true
      socket.end()
      // Reads on, so that a reset does not overtake our last packet; what comes is nobody's.
      handlers = undefined
      socket.resume()
      const timer = setTimeout(() => socket.destroy(), LINGER_MS)
      timer.unref()
      socket.once('close', () => clearTimeout(timer))
    },
    destroy() {
      closed = true
      socket.destroy()
    },
  }
}
