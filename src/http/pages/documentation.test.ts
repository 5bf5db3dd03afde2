import assert from 'node:assert/strict'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { openTestDeployment } from '../broker-access/deployment.testing.ts'
import type { TestDeployment } from '../broker-access/deployment.testing.ts'

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }

let directory: string
let deployment: TestDeployment

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'fieldgate-documentation-'))
  await mkdir(join(directory, 'assets'))
  await mkdir(join(directory, 'network-servers'))
  await writeFile(join(directory, 'index.html'), '<h1>Welcome</h1>')
  await writeFile(join(directory, 'errors.html'), '<h1>Errors</h1>')
  await writeFile(join(directory, 'errors.html.br'), 'brotli')
  await writeFile(join(directory, 'network-servers.html'), '<h1>Network servers</h1>')
  await writeFile(join(directory, 'network-servers', 'mqtt.html'), '<h1>By MQTT</h1>')
  await writeFile(join(directory, 'unknown.html'), '<h1>There is no such page</h1>')
  await writeFile(join(directory, 'frame.html'), '<nav></nav><!--content--><!--contents-->')
  await writeFile(join(directory, 'assets', 'search-1a2b3c.json'), '[]')
  deployment = await openTestDeployment({ documentationDirectory: directory })
})

after(async () => {
  await deployment.close()
  await rm(directory, { recursive: true, force: true })
})

const get = (url: string, headers: Record<string, string> = BROWSER) =>
  deployment.ask(undefined, { method: 'GET', url, headers })

test('everybody reads every page, by a browser or by a program', async () => {
  for (const [url, title] of [
    ['/docs', 'Welcome'],
    ['/docs/', 'Welcome'],
    ['/docs?q=token_expired', 'Welcome'],
    ['/docs/errors', 'Errors'],
    ['/docs/network-servers', 'Network servers'],
    ['/docs/network-servers/mqtt', 'By MQTT'],
  ] as const) {
    for (const headers of [BROWSER, { accept: '*/*' }]) {
      const page = await get(url, headers)
      assert.equal(page.statusCode, 200, url)
      assert.equal(page.body, `<h1>${title}</h1>`)
      assert.equal(page.headers['content-type'], 'text/html; charset=utf-8')
    }
  }
})

test('a page that the browser has is not sent again, in any encoding', async () => {
  for (const encoding of ['identity', 'br']) {
    const headers = { ...BROWSER, 'accept-encoding': encoding }
    const page = await get('/docs/errors', headers)
    assert.equal(page.body, encoding === 'br' ? 'brotli' : '<h1>Errors</h1>')
    assert.equal(page.headers['cache-control'], 'no-cache')
    const again = await get('/docs/errors', { ...headers, 'if-none-match': String(page.headers['etag']) })
    assert.equal(again.statusCode, 304)
    assert.equal(again.body, '')
  }
  const other = await get('/docs/errors', { ...BROWSER, 'if-none-match': '"of-yesterday"' })
  assert.equal(other.statusCode, 200)
})

test('files with a hash in their names are kept for ever', async () => {
  const file = await get('/docs/assets/search-1a2b3c.json')
  assert.match(String(file.headers['cache-control']), /immutable/)
  assert.equal(file.headers['content-type'], 'application/json; charset=utf-8')
})

test('nothing runs or loads in a page that is not a file of this origin', async () => {
  for (const url of ['/docs', '/docs/nothing']) {
    const policy = String((await get(url)).headers['content-security-policy']).split('; ')
    assert.ok(policy.includes("default-src 'none'") && policy.includes("script-src 'self'"), url)
    assert.ok(policy.includes("frame-ancestors 'none'") && policy.includes("style-src 'self'"), url)
    assert.ok(!policy.join().includes('unsafe'), url)
  }
})

test('the name of a source file leads to its page', async () => {
  for (const [url, location] of [
    ['/docs/errors.md', '/docs/errors'],
    ['/docs/index.md', '/docs'],
    ['/docs/network-servers/README.md', '/docs/network-servers'],
    ['/docs//elsewhere.example/x.md', '/docs//elsewhere.example/x'],
  ] as const) {
    const answer = await get(url)
    assert.equal(answer.statusCode, 308, url)
    assert.equal(answer.headers['location'], location)
  }
})

test('an unknown page says so and leads on, and what is no page is not sent', async () => {
  for (const url of ['/docs/nothing', '/docs/frame.html', '/docs/unknown.html', '/docs/..%2fpackage.json']) {
    const page = await get(url)
    assert.equal(page.statusCode, 404, url)
    assert.match(page.body, /There is no such page/)
  }
  const posted = await deployment.ask(undefined, { method: 'POST', url: '/docs/errors' })
  assert.equal(posted.statusCode, 404)
  assert.equal(posted.json().details[0].reason, 'route_not_found')
  assert.equal((await get('/docsx', {})).statusCode, 404)
})

test('a service without the built documentation says how to build it', async () => {
  const bare = await openTestDeployment({ documentationDirectory: join(directory, 'missing') })
  try {
    const page = await bare.ask(undefined, { method: 'GET', url: '/docs', headers: BROWSER })
    assert.equal(page.statusCode, 503)
    assert.match(page.body, /npm run build/)
  } finally {
    await bare.close()
  }
})
