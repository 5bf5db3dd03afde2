import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import { connect, createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { silentLog } from '../broker/log.ts'
import type { Log } from '../broker/log.ts'
import { addressBytes, encodeCertificate, isCertifiableName } from './certificate-encoding.ts'
import { CertificateError, loadCertificates } from './certificates.ts'
import type { CertificateOptions } from './certificates.ts'
import type { CertificatePair } from './local-authority.ts'

const scratch = await mkdtemp(join(tmpdir(), 'fieldgate-tls-'))
after(() => rm(scratch, { recursive: true }))
let count = 0
const freshFolder = async () => {
  const folder = join(scratch, String((count += 1)))
  await mkdir(folder)
  return folder
}

const DAY_MS = 86_400_000
const hostNames = ['localhost', '127.0.0.1', '::1', 'broker.example', '0.0.0.0', 'LOCALHOST']

const load = (dataDirectory: string, more: Partial<CertificateOptions> = {}) =>
  loadCertificates({
    dataDirectory,
    hostNames,
    clock: { now: () => Date.now() },
    log: silentLog,
    onChange: () => assert.fail('no change was expected'),
    ...more,
  })

/** A pair of its own, self-signed, as an operator would configure it. */
function makePair(notAfterMs = Date.now() + DAY_MS, notBeforeMs = Date.now() - DAY_MS): CertificatePair {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const cert = encodeCertificate({
    subject: 'configured',
    issuer: 'configured',
    notBeforeMs,
    notAfterMs,
    publicKey,
    issuerPublicKey: publicKey,
    issuerPrivateKey: privateKey,
    role: { authority: false, hostNames: ['localhost'] },
  })
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
}

async function writePair(folder: string, { cert, key }: CertificatePair) {
  await writeFile(join(folder, 'tls.crt'), cert)
  await writeFile(join(folder, 'tls.key'), key)
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
}

/** Resolves with the next pair that the watch hands over. */
function nextChange() {
  const { promise, resolve } = Promise.withResolvers<CertificatePair>()
  return { promise, onChange: resolve }
}

/** Resolves with the next error that is logged. */
function nextError() {
  const { promise, resolve } = Promise.withResolvers<string>()
  const log: Log = { ...silentLog, error: (fields) => resolve(String((fields as { error: unknown }).error)) }
  return { promise, log }
}

/** How long a certificate is valid, from the text that openssl prints. */
function days(text: string): number {
  const dates = [...text.matchAll(/Not (?:Before|After) ?: (.+)/g)].map((match) => Date.parse(match[1] ?? ''))
  return ((dates[1] ?? 0) - (dates[0] ?? 0)) / DAY_MS
}

describe('the local authority', () => {
  it('makes a chain that openssl verifies for every name, and for a server alone', async () => {
    const folder = await freshFolder()
    const { cert, certFile, caFile, close } = await load(folder)
    close()
    assert.equal(caFile, join(folder, 'tls', 'ca.pem'))
    const server = join(folder, 'tls', 'server.pem')
    assert.equal(certFile, server)
    assert.equal(await readFile(server, 'utf8'), cert)
    const verify = (...args: string[]) =>
      spawnSync('openssl', ['verify', '-x509_strict', '-CAfile', caFile, ...args, server], { encoding: 'utf8' })
    for (const name of ['localhost', 'broker.example']) assert.equal(verify('-verify_hostname', name).status, 0)
    for (const address of ['127.0.0.1', '::1']) assert.equal(verify('-verify_ip', address).status, 0)
    assert.equal(verify('-purpose', 'sslserver').status, 0)
    assert.notEqual(verify('-purpose', 'sslclient').status, 0)
    assert.notEqual(verify('-verify_hostname', 'other.example').status, 0)
    assert.notEqual(verify('-verify_ip', '0.0.0.0').status, 0)
  })

  it('writes the extensions that browsers and RFC 5280 ask for', async () => {
    const folder = await freshFolder()
    const { close } = await load(folder)
    close()
    const text = (file: string) =>
      execFileSync('openssl', ['x509', '-in', join(folder, 'tls', file), '-noout', '-text'], { encoding: 'utf8' })
    const authority = text('ca.pem')
    assert.match(authority, /Basic Constraints: critical\s+CA:TRUE, pathlen:0/)
    assert.match(authority, /Key Usage: critical\s+Certificate Sign, CRL Sign/)
    const server = text('server.pem')
    assert.match(server, /Basic Constraints: critical\s+CA:FALSE/)
    assert.match(server, /Key Usage: critical\s+Digital Signature\n/)
    assert.match(server, /Extended Key Usage:\s+TLS Web Server Authentication\n/)
    assert.match(server, /DNS:localhost, IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1, DNS:broker\.example\n/)
    const subjectKey = /Subject Key Identifier:\s+([0-9A-F:]+)/.exec(authority)?.[1]
    assert.match(server, new RegExp(`Authority Key Identifier:\\s+(?:keyid:)?${subjectKey}`))
    assert.ok(days(server) < 398)
    assert.ok(days(authority) > 3649)
  })

  it('keeps its keys to itself and shows its certificate', async () => {
    const folder = await freshFolder()
    const { close } = await load(folder)
    close()
    const mode = async (file: string) => (await stat(join(folder, 'tls', file))).mode & 0o777
    assert.deepEqual((await readdir(join(folder, 'tls'))).toSorted(), [
      'ca-key.pem',
      'ca.pem',
      'server-key.pem',
      'server.pem',
    ])
    assert.equal(await mode('ca.pem'), 0o644)
    assert.equal(await mode('ca-key.pem'), 0o600)
    assert.equal(await mode('server-key.pem'), 0o600)
  })

  for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
    it(`serves a ${version} handshake that trusts nothing but ca.pem`, async () => {
      const { cert, key, caFile, close } = await load(await freshFolder())
      const server = createServer({ cert, key }, (socket) => socket.end()).listen(0, '127.0.0.1')
      await once(server, 'listening')
      const { port } = server.address() as { port: number }
      for (const host of ['127.0.0.1', 'localhost']) {
        const ca = await readFile(caFile ?? '')
        const socket: TLSSocket = connect({
          port,
          host: '127.0.0.1',
          servername: host === 'localhost' ? host : '',
          ca,
          minVersion: version,
          maxVersion: version,
        })
        await once(socket, 'secureConnect')
        assert.equal(socket.authorized, true)
        socket.destroy()
      }
      server.close()
      close()
    })
  }

  it('goes on with what it has at the next start', async () => {
    const folder = await freshFolder()
    const first = await load(folder)
    const second = await load(folder)
    assert.deepEqual([second.cert, second.key], [first.cert, first.key])
    first.close()
    second.close()
  })

  it('signs a new certificate for a new host name, and remains itself', async () => {
    const folder = await freshFolder()
    const first = await load(folder)
    first.close()
    const ca = await readFile(join(folder, 'tls', 'ca.pem'), 'utf8')
    const second = await load(folder, { hostNames: ['localhost', 'new.example'] })
    second.close()
    assert.notEqual(second.cert, first.cert)
    assert.ok(new X509Certificate(second.cert).checkHost('new.example'))
    assert.ok(new X509Certificate(second.cert).verify(new X509Certificate(ca).publicKey))
    assert.equal(await readFile(join(folder, 'tls', 'ca.pem'), 'utf8'), ca)
  })

  it('heals a server certificate that is damaged or has lost its key', async () => {
    const folder = await freshFolder()
    for (const damage of [
      () => writeFile(join(folder, 'tls', 'server.pem'), 'x'),
      () => unlink(join(folder, 'tls', 'server-key.pem')),
      () => writeFile(join(folder, 'tls', 'server-key.pem'), makePair().key),
    ]) {
      const first = await load(folder)
      first.close()
      await damage()
      const second = await load(folder)
      second.close()
      assert.ok(new X509Certificate(second.cert).checkPrivateKey(createPrivateKey(second.key)))
    }
  })

  it('never replaces the authority that clients trust because its key is missing or another', async () => {
    const folder = await freshFolder()
    const first = await load(folder)
    first.close()
    await writeFile(join(folder, 'tls', 'ca-key.pem'), makePair().key)
    await assert.rejects(load(folder), /ca-key\.pem is not the key of .*ca\.pem/)
    await unlink(join(folder, 'tls', 'ca-key.pem'))
    await assert.rejects(load(folder), /without its key/)
  })

  it('renews the certificate 30 days before its end, while it serves', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setInterval'] })
    const folder = await freshFolder()
    let nowMs = Date.now()
    const change = nextChange()
    const first = await load(folder, { clock: { now: () => nowMs }, onChange: change.onChange })
    const validTo = Date.parse(new X509Certificate(first.cert).validTo)
    nowMs = validTo - 30 * DAY_MS
    context.mock.timers.tick(60_000)
    const next = await change.promise
    assert.ok(Date.parse(new X509Certificate(next.cert).validTo) > validTo)
    first.close()
  })
})

describe('a configured certificate', () => {
  const refusals: readonly [string, () => CertificatePair, RegExp][] = [
    [
      'of another key',
      () => ({ ...makePair(), key: makePair().key }),
      /tls\.key is not the key of the certificate .*tls\.crt/,
    ],
    ['that has expired', () => makePair(Date.now() - DAY_MS / 2), /tls\.crt has expired/],
    [
      'that is not valid yet',
      () => makePair(Date.now() + 2 * DAY_MS, Date.now() + DAY_MS),
      /tls\.crt is not valid yet/,
    ],
    ['that is no PEM', () => ({ ...makePair(), cert: 'x' }), /tls\.crt is no certificate in PEM/],
    ['whose key is no PEM', () => ({ ...makePair(), key: 'x' }), /tls\.key is no private key in PEM/],
    [
      'whose key is encrypted',
      () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
        const key = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
        return { ...makePair(), key }
      },
      /tls\.key is encrypted/,
    ],
  ]
  for (const [title, make, message] of refusals) {
    it(`${title} is refused with the file and the fault`, async () => {
      const folder = await freshFolder()
      const files = await writePair(folder, make())
      await assert.rejects(
        load(folder, files),
        (error) => error instanceof CertificateError && message.test(error.message),
      )
    })
  }

  it('that is missing is refused with its path', async () => {
    const folder = await freshFolder()
    const files = { certFile: join(folder, 'a.pem'), keyFile: join(folder, 'b.pem') }
    await assert.rejects(load(folder, files), /a\.pem can’t be read: ENOENT/)
  })

  it('is read again when its files are replaced', async () => {
    const folder = await freshFolder()
    const first = makePair()
    const files = await writePair(folder, first)
    const change = nextChange()
    const certificates = await load(folder, { ...files, onChange: change.onChange })
    assert.equal(certificates.caFile, undefined)
    const second = makePair()
    await writeFile(`${files.certFile}.new`, second.cert)
    await writeFile(`${files.keyFile}.new`, second.key)
    await rename(`${files.certFile}.new`, files.certFile)
    await rename(`${files.keyFile}.new`, files.keyFile)
    assert.deepEqual(await change.promise, second)
    certificates.close()
  })

  it('is read again when a symbolic link to its folder is turned, as Kubernetes does', async () => {
    const folder = await freshFolder()
    const second = makePair()
    for (const [name, pair] of [
      ['v1', makePair()],
      ['v2', second],
    ] as const) {
      await mkdir(join(folder, name))
      await writePair(join(folder, name), pair)
    }
    await symlink('v1', join(folder, 'data'))
    await symlink('data/tls.crt', join(folder, 'tls.crt'))
    await symlink('data/tls.key', join(folder, 'tls.key'))
    const change = nextChange()
    const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
    const certificates = await load(folder, { ...files, onChange: change.onChange })
    await symlink('v2', join(folder, 'data.new'))
    await rename(join(folder, 'data.new'), join(folder, 'data'))
    assert.deepEqual(await change.promise, second)
    certificates.close()
  })

  it('is read again within a minute where no notice of a change comes', async (context: TestContext) => {
    context.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
    const folder = await freshFolder()
    const files = await writePair(folder, makePair())
    const change = nextChange()
    const certificates = await load(folder, { ...files, onChange: change.onChange })
    const second = makePair()
    await writePair(folder, second)
    context.mock.timers.tick(60_000)
    assert.deepEqual(await change.promise, second)
    certificates.close()
  })

  it('stays in use when the new one is bad, which is logged, and yields to the next good one', async () => {
    const folder = await freshFolder()
    const files = await writePair(folder, makePair())
    const failure = nextError()
    const change = nextChange()
    const certificates = await load(folder, { ...files, log: failure.log, onChange: change.onChange })
    await writeFile(files.certFile, 'x')
    assert.match(await failure.promise, /tls\.crt is no certificate in PEM/)
    const good = makePair()
    await writePair(folder, good)
    assert.deepEqual(await change.promise, good)
    certificates.close()
  })
})

describe('the names of a certificate', () => {
  it('are bytes for addresses, however they are spelled', () => {
    assert.equal(addressBytes('192.0.2.7').toString('hex'), 'c0000207')
    assert.equal(addressBytes('::1').toString('hex'), '00000000000000000000000000000001')
    assert.equal(addressBytes('2001:DB8::a:0:1').toString('hex'), '20010db8000000000000000a00000001')
    assert.equal(addressBytes('::').toString('hex'), '0'.repeat(32))
    assert.equal(addressBytes('::ffff:192.0.2.7').toString('hex'), '00000000000000000000ffffc0000207')
    assert.equal(addressBytes('fe80::1%eth0').toString('hex'), 'fe800000000000000000000000000001')
    assert.equal(addressBytes('1:2:3:4:5:6:7:8').toString('hex'), '00010002000300040005000600070008')
  })

  it('are host names in ASCII', () => {
    for (const name of ['localhost', 'a.b-c.example', 'my_host', '10.0.0.1', '::1'])
      assert.ok(isCertifiableName(name), name)
    for (const name of ['', 'a b', 'a..b', '*.example', 'straße', '-a', 'a.', `${'a'.repeat(64)}.b`])
      assert.ok(!isCertifiableName(name), name)
  })

  it('say years from 2050 on in four digits (RFC 5280 §4.1.2.5)', () => {
    const { cert } = makePair(Date.UTC(2060, 0, 1))
    assert.equal(Date.parse(new X509Certificate(cert).validTo), Date.UTC(2060, 0, 1))
  })
})
