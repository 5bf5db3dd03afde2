import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

const PAGE = '<!doctype html><meta property="csp-nonce" nonce="{{nonce}}"><title>Console</title>'
const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

let directory: string
let deployment: TestDeployment

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fieldgate-console-'))
  await mkdir(join(directory, 'assets'))
  await writeFile(join(directory, 'index.html'), PAGE)
  await writeFile(join(directory, 'favicon.svg'), '<svg/>')
  await writeFile(join(directory, 'assets', 'main-1a2b3c.js'), 'plain')
  await writeFile(join(directory, 'assets', 'main-1a2b3c.js.gz'), 'gzipped')
  await writeFile(join(directory, 'assets', 'main-1a2b3c.js.br'), 'brotli')
  deployment = await openTestDeployment({ consoleDirectory: directory })
})

after(async () => {
  await deployment.close()
  await rm(directory, { recursive: true, force: true })
})

const get = (url: string, headers: Record<string, string> = {}) =>
  deployment.ask(undefined, { method: 'GET', url, headers })

test('every path that a browser opens is the page, and each answer has a nonce of its own', async () => {
  const nonces = new Set<string>()
  for (const url of ['/', '/live', '/devices/0101010101010101?tab=plots', '/sign-in']) {
    const page = await get(url, BROWSER)
    assert.equal(page.statusCode, 200, url)
    const nonce = /nonce="([^"]+)"/.exec(page.body)?.[1] ?? ''
    assert.match(nonce, /^[A-Za-z0-9+/]{22}==$/)
    assert.ok(String(page.headers['content-security-policy']).includes(`'nonce-${nonce}'`))
    assert.equal(page.headers['cache-control'], 'no-store')
    nonces.add(nonce)
  }
  assert.equal(nonces.size, 4)
})

for (const accept of [undefined, '*/*', 'application/json', 'image/png', 'text/plain;q=0.1', '']) {
  test(`the root answers 200 to Accept: ${accept ?? '(none)'}`, async () => {
    const headers = accept === undefined ? {} : { accept }
    const page = await get('/', headers)
    assert.equal(page.statusCode, 200)
    assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    assert.equal((await deployment.ask(undefined, { method: 'HEAD', url: '/', headers })).statusCode, 200)
  })
}

test('no script may run that is not a file of this origin, and nothing may frame the page', async () => {
  const policy = String((await get('/', BROWSER)).headers['content-security-policy']).split('; ')
  assert.ok(policy.includes("script-src 'self'"))
  assert.ok(policy.includes("frame-ancestors 'none'"))
  assert.ok(policy.includes("connect-src 'self'"))
  assert.ok(!policy.join().includes('unsafe'))
})

test('a file whose name has its hash is kept for ever, in the encoding that the browser takes', async () => {
  for (const [encodings, encoding, body] of [
    ['gzip, deflate, br', 'br', 'brotli'],
    ['gzip', 'gzip', 'gzipped'],
    ['identity', undefined, 'plain'],
  ] as const) {
    const file = await get('/assets/main-1a2b3c.js', { 'accept-encoding': encodings })
    assert.equal(file.headers['content-encoding'], encoding)
    assert.equal(file.body, body)
    assert.match(String(file.headers['cache-control']), /immutable/)
    assert.equal(file.headers['vary'], 'Accept-Encoding')
    assert.equal(file.headers['content-type'], 'text/javascript; charset=utf-8')
  }
  assert.equal((await get('/favicon.svg')).headers['cache-control'], 'no-cache')
})

test('paths of programs, unknown files and programs that ask for JSON hear the API’s own 404', async () => {
  for (const [url, headers] of [
    ['/api/nothing', BROWSER],
    ['/assets/gone-000000.js', BROWSER],
    ['/assets/main-1a2b3c.js.gz', BROWSER],
    ['/live', { accept: 'application/json' }],
    ['/live', {}],
  ] as const) {
    const answer = await get(url, headers)
    assert.equal(answer.statusCode, 404, url)
    assert.equal(answer.json().details[0].reason, 'route_not_found')
  }
  const posted = await deployment.ask(undefined, { method: 'POST', url: '/live', headers: BROWSER })
  assert.equal(posted.statusCode, 404)
})

test('a service without a built console says how to build it, and serves everything else', async () => {
  const bare = await openTestDeployment({ consoleDirectory: join(directory, 'missing') })
  try {
    const page = await bare.ask(undefined, { method: 'GET', url: '/', headers: BROWSER })
    assert.equal(page.statusCode, 503)
    assert.match(page.body, /npm run build/)
    assert.equal((await bare.ask(undefined, { method: 'GET', url: '/api/internal/health/live' })).statusCode, 200)
  } finally {
    await bare.close()
  }
})
