/**
 * `node bare-node.ts <port> <certificate file> <key file>`: the cost of Node's TLS by itself. No
 * broker that uses Node's sockets and streams can cost much less for single packets.
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { BareClient } from './bare-client.ts'

const [port, certFile, keyFile] = process.argv.slice(2)
if (port === undefined || certFile === undefined || keyFile === undefined) throw new Error('port, certificate, key')

const options = { cert: readFileSync(certFile), key: readFileSync(keyFile), noDelay: true }
createServer(options, serve).listen(Number(port), '127.0.0.1')

function serve(socket: TLSSocket): void {
  const client = new BareClient((bytes) => void socket.write(bytes))
  socket.on('data', (chunk: Buffer) => client.received(chunk))
  // The load may end its connections in any way.
  socket.on('error', () => {})
}
