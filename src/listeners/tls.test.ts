import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { connect } from 'node:tls'
import { createHarness } from '../../test/support/broker-harness.ts'
import { AddressLimiter } from './address-limiter.ts'
import { makeCertificate } from './make-certificate.ts'
import { listenTls } from './tls.ts'

const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
const cert = await makeCertificate({
  subject: 'test',
  notBeforeMs: Date.now() - 60_000,
  notAfterMs: Date.now() + 3_600_000,
  publicKey,
  issuer: { privateKey },
  role: { authority: false, hostNames: ['localhost'] },
})
const { broker } = await createHarness()
const key = privateKey.export({ type: 'pkcs8', format: 'pem' })
const limiter = new AddressLimiter({ attemptsPerSecond: 0, openPerAddress: 0, pendingPerAddress: 0 })
const listener = await listenTls(broker, { cert, key }, limiter, { host: '127.0.0.1', port: 0 })
after(async () => {
  await broker.close()
  await listener.close()
})

/** The protocol on which the handshake agrees; rejects when the handshake fails. */
async function negotiate(protocols: string[] | undefined): Promise<string | false | null> {
  const socket = connect({
    host: '127.0.0.1',
    port: listener.port,
    ca: [cert],
    servername: 'localhost',
    ...(protocols === undefined ? {} : { ALPNProtocols: protocols }),
  })
  await once(socket, 'secureConnect')
  socket.destroy()
  return socket.alpnProtocol
}

test('a client that names no protocol is welcome, and one that names mqtt among others gets it (RFC 7301)', async () => {
  assert.equal(await negotiate(undefined), false)
  assert.equal(await negotiate(['http/1.1', 'mqtt']), 'mqtt')
})

test('a client that names other protocols alone gets no connection: a browser is not led here (RFC 7301 §3.2)', async () => {
  await assert.rejects(negotiate(['h2', 'http/1.1']), { code: 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL' })
})
