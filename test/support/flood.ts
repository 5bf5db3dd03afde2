/** A client that floods the service behind a CONNECT that is refused. */
import { once } from 'node:events'
import { connect as connectTcp } from 'node:net'
import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { generate } from 'mqtt-packet'
import type { RunningService } from './running-service.ts'

/** A CONNECT with a user name and password that nobody has. */
export const REFUSED_CONNECT = generate({
  cmd: 'connect',
  protocolId: 'MQTT',
  protocolVersion: 5,
  clean: true,
  keepalive: 0,
  clientId: 'flood',
  username: 'nobody',
  password: Buffer.from('nothing'),
})

/** A piece of the flood; its bytes are no packet. */
export const FLOOD_PIECE = Buffer.alloc(262_144, 0xff)

/**
 * Connects over TLS, sends the CONNECT, and then as much as the socket takes until it is closed.
 */
export async function floodOverTls({ mqttsPort: port, ca }: RunningService): Promise<TLSSocket> {
  // The client goes on, even though the service has ended its side.
  const tcp = connectTcp({ port, host: '127.0.0.1', allowHalfOpen: true })
  const socket = connect({ socket: tcp, servername: 'localhost', ca })
  socket.on('error', () => {})
  await once(socket, 'secureConnect')
  socket.resume()
  const fill = (): void => {
    while (!socket.destroyed && socket.writable && socket.write(FLOOD_PIECE));
  }
  socket.on('drain', fill)
  socket.write(REFUSED_CONNECT)
  fill()
  return socket
}
