import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { X509Certificate, createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, readdir, rename, rm, stat, symlink, unlink, writeFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import type { TestContext } from 'node:test'
import { connect, createServer } from 'node:tls'
import type { TLSSocket } from 'node:tls'
import { silentLogger } from '../logger.ts'
import type { Logger } from '../logger.ts'
import { certifiableName } from './certifiable-name.ts'
import { CertificateError, loadCertificates } from './certificates.ts'
import type { CertificateOptions } from './certificates.ts'
import type { CertificatePair } from './local-authority.ts'
import { makeCertificate } from './make-certificate.ts'

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
    log: silentLogger,
    onChange: () => assert.fail('no change was expected'),
    ...more,
  })

/** A self-signed pair, as an operator would configure it. */
async function makePair(
  notAfterMs = Date.now() + DAY_MS,
  notBeforeMs = Date.now() - DAY_MS,
  names: readonly string[] = ['localhost'],
): Promise<CertificatePair> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const cert = await makeCertificate({
    subject: 'configured',
    notBeforeMs,
    notAfterMs,
    publicKey,
    issuer: { privateKey },
    role: { authority: false, hostNames: names },
  })
  return { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
}

async function writePair(folder: string, { cert, key }: CertificatePair) {
  await writeFile(join(folder, 'tls.crt'), cert)
  await writeFile(join(folder, 'tls.key'), key)
  return { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
}

/** Resolves with the next pair that the watch reports. */
function nextChange() {
  const { promise, resolve } = Promise.withResolvers<CertificatePair>()
  return { promise, onChange: resolve }
}

/** Resolves with the next error that is logged. */
function nextError() {
  const { promise, resolve } = Promise.withResolvers<string>()
  const log: Logger = { ...silentLogger, error: (fields) => resolve(String((fields as { error: unknown }).error)) }
  return { promise, log }
}

/** How many days a certificate is valid, from the text that openssl prints. */
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

  it('keeps its certificates at the next start', async () => {
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

  it('signs under an authority that another program made, whose name is encoded in another way', async () => {
    const folder = await freshFolder()
    const tls = join(folder, 'tls')
    await mkdir(tls)
    const request = 'req -x509 -nodes -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -utf8 -days 3650'.split(' ')
    const files = ['-keyout', join(tls, 'ca-key.pem'), '-out', join(tls, 'ca.pem')]
    execFileSync('openssl', [...request, ...files, '-subj', '/O=Fieldgate/CN=Fieldgate local CA'], { stdio: 'ignore' })
    const { cert, close } = await load(folder)
    close()
    const authority = new X509Certificate(await readFile(join(tls, 'ca.pem')))
    // The tag 0x0c is UTF8String. The library by itself would write 0x13, PrintableString.
    const name = Buffer.concat([Buffer.from([0x0c, 18]), Buffer.from('Fieldgate local CA')])
    assert.ok(authority.raw.includes(name))
    assert.ok(new X509Certificate(cert).raw.includes(name))
    assert.ok(new X509Certificate(cert).checkIssued(authority))
    execFileSync('openssl', ['verify', '-CAfile', join(tls, 'ca.pem'), join(tls, 'server.pem')])
  })

  it('heals a server certificate that is damaged or has lost its key', async () => {
    const folder = await freshFolder()
    for (const damage of [
      () => writeFile(join(folder, 'tls', 'server.pem'), 'x'),
      () => unlink(join(folder, 'tls', 'server-key.pem')),
      async () => writeFile(join(folder, 'tls', 'server-key.pem'), (await makePair()).key),
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
    await writeFile(join(folder, 'tls', 'ca-key.pem'), (await makePair()).key)
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
  const refusals: readonly [string, () => Promise<CertificatePair>, RegExp][] = [
    [
      'of another key',
      async () => ({ ...(await makePair()), key: (await makePair()).key }),
      /tls\.key is not the key of the certificate .*tls\.crt/,
    ],
    ['that has expired', () => makePair(Date.now() - DAY_MS / 2), /tls\.crt has expired/],
    [
      'that is not valid yet',
      () => makePair(Date.now() + 2 * DAY_MS, Date.now() + DAY_MS),
      /tls\.crt is not valid yet/,
    ],
    ['that is no PEM', async () => ({ ...(await makePair()), cert: 'x' }), /tls\.crt is no certificate in PEM/],
    ['whose key is no PEM', async () => ({ ...(await makePair()), key: 'x' }), /tls\.key is no private key in PEM/],
    [
      'whose key is encrypted',
      async () => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
        const key = privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'x' })
        return { ...(await makePair()), key }
      },
      /tls\.key is encrypted/,
    ],
  ]
  for (const [title, make, message] of refusals) {
    it(`${title} is refused with the file and the fault`, async () => {
      const folder = await freshFolder()
      const files = await writePair(folder, await make())
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
    const first = await makePair()
    const files = await writePair(folder, first)
    const change = nextChange()
    const certificates = await load(folder, { ...files, onChange: change.onChange })
    assert.equal(certificates.caFile, undefined)
    const second = await makePair()
    await writeFile(`${files.certFile}.new`, second.cert)
    await writeFile(`${files.keyFile}.new`, second.key)
    await rename(`${files.certFile}.new`, files.certFile)
    await rename(`${files.keyFile}.new`, files.keyFile)
    assert.deepEqual(await change.promise, second)
    certificates.close()
  })

  it('is read again when a symbolic link to its folder is turned, as Kubernetes does', async () => {
    const folder = await freshFolder()
    const second = await makePair()
    for (const [name, pair] of [
      ['v1', await makePair()],
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
    const files = await writePair(folder, await makePair())
    const change = nextChange()
    const certificates = await load(folder, { ...files, onChange: change.onChange })
    const second = await makePair()
    await writePair(folder, second)
    context.mock.timers.tick(60_000)
    assert.deepEqual(await change.promise, second)
    certificates.close()
  })

  it('stays in use when the new one is bad, which is logged, and yields to the next good one', async () => {
    const folder = await freshFolder()
    const files = await writePair(folder, await makePair())
    const failure = nextError()
    const change = nextChange()
    const certificates = await load(folder, { ...files, log: failure.log, onChange: change.onChange })
    await writeFile(files.certFile, 'x')
    assert.match(await failure.promise, /tls\.crt is no certificate in PEM/)
    const good = await makePair()
    await writePair(folder, good)
    assert.deepEqual(await change.promise, good)
    certificates.close()
  })
})

describe('the names of a certificate', () => {
  it('are addresses and hosts, however they are spelled', async () => {
    const spelled: readonly (readonly [string, string])[] = [
      ['192.0.2.7', '192.0.2.7'],
      ['::1', '::1'],
      ['2001:DB8::a:0:1', '2001:db8::a:0:1'],
      ['0:0:0::0', '::'],
      ['::ffff:192.0.2.7', '::ffff:c000:207'],
      ['fe80::1%eth0', 'fe80::1'],
      ['1:2:3:4:5:6:7:8', '1:2:3:4:5:6:7:8'],
      ['Broker_1.Example', 'broker_1.example'],
    ]
    for (const [given, name] of spelled) assert.equal(certifiableName(given), name)
    const names = spelled.map(([, name]) => name)
    const certificate = new X509Certificate((await makePair(undefined, undefined, names)).cert)
    for (const name of names) {
      const isNamed = isIP(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)
      assert.ok(isNamed, name)
    }
    assert.equal(certificate.checkIP('::ffff:192.0.2.7'), '::ffff:192.0.2.7')
    assert.equal(certificate.checkIP('192.0.2.8'), undefined)
  })

  it('of an address in another spelling do not call for a new certificate', async () => {
    const folder = await freshFolder()
    const first = await load(folder, { hostNames: ['fe80::1%eth0', '0:0:0:0:0:0:0:1', '::ffff:192.0.2.7'] })
    const second = await load(folder, { hostNames: ['FE80::1', '::1', '::ffff:c000:207', '::'] })
    assert.equal(second.cert, first.cert)
    first.close()
    second.close()
  })

  it('are host names in ASCII', () => {
    for (const name of ['localhost', 'a.b-c.example', 'my_host', '10.0.0.1', '::1'])
      assert.equal(certifiableName(name), name)
    const long = `${'a.'.repeat(126)}a`
    assert.equal(certifiableName(long), long)
    for (const name of ['', 'a b', 'a..b', '*.example', 'straße', '-a', 'a.', '#a', `${'a'.repeat(64)}.b`, `${long}a`])
      assert.equal(certifiableName(name), undefined, name)
  })

  it('say years from 2050 on in four digits, and no fraction of a second (RFC 5280 §4.1.2.5)', async () => {
    const { cert } = await makePair(Date.UTC(2060, 0, 1) + 999)
    assert.equal(Date.parse(new X509Certificate(cert).validTo), Date.UTC(2060, 0, 1))
    assert.ok(new X509Certificate(cert).raw.includes('20600101000000Z'))
  })

  it('come with a serial number of their own, positive and of at most 20 bytes (RFC 5280 §4.1.2.2)', async () => {
    const serials = await Promise.all(
      [1, 2, 3].map(async () => new X509Certificate((await makePair()).cert).serialNumber),
    )
    assert.equal(new Set(serials).size, 3)
    for (const serial of serials) assert.match(serial, /^[0-9A-F]{24,40}$/)
  })
})

describe('a start', () => {
  it('with a good certificate does without the library that makes them', async () => {
    const folder = await freshFolder()
    const first = await load(folder)
    first.close()
    const script = `
      const { issueServerCertificate } = await import(${JSON.stringify(new URL('local-authority.ts', import.meta.url).href)})
      const log = { info() {}, warn() {}, error() {}, debug() {} }
      const { renewed } = await issueServerCertificate({
        dataDirectory: ${JSON.stringify(folder)}, hostNames: ['localhost'], clock: { now: () => Date.now() }, log })
      console.log(JSON.stringify({ renewed, isLoaded: 'getMetadata' in Reflect }))`
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
    assert.deepEqual(JSON.parse(output), { renewed: false, isLoaded: false })
  })
})
