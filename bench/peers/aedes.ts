/** The peer aedes, in its own process: `node aedes.ts <port> <certificate file> <key file>`. */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:tls'
import { Aedes } from 'aedes'

const [port, certFile, keyFile] = process.argv.slice(2)
if (port === undefined || certFile === undefined || keyFile === undefined) throw new Error('port, certificate, key')
const aedes = await Aedes.createBroker()
const options = { cert: readFileSync(certFile), key: readFileSync(keyFile), noDelay: true }
createServer(options, aedes.handle).listen(Number(port), '127.0.0.1')
