import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { describe, it } from 'node:test'
import { checkSettings, definitions, describeFaults, readEnvironment, settingsHelp, settingsTable } from './settings.ts'

const check = (environment: Record<string, string>, defaults?: Record<string, string>) =>
  checkSettings(readEnvironment(environment), defaults)

const warningsOf = (name: string) => check({ [name]: '1' }).warnings

function settingsOf(environment: Record<string, string>, defaults?: Record<string, string>) {
  const result = check(environment, defaults)
  assert.ok(result.ok, JSON.stringify(result))
  return result.settings
}

function faultsOf(environment: Record<string, string>) {
  const result = check(environment)
  assert.ok(!result.ok)
  return result.faults
}

describe('the settings', () => {
  it('have a default each, so that an empty environment is enough', () => {
    const settings = settingsOf({})
    assert.equal(settings.httpsPort, 8443)
    assert.equal(settings.mqttsPort, 8883)
    assert.equal(settings.dataDirectory, resolve('.fieldgate'))
    assert.equal(settings.publicHost, hostname())
    assert.equal(settings.brokerTokenDefaultTtlSeconds, 86_400)
    assert.equal(settings.adminPassword, undefined)
  })

  it('come from FIELDGATE_* variables; others and empty ones are not read', () => {
    const raw = readEnvironment({ FIELDGATE_HTTPS_PORT: '1', FIELDGATE_HOST: '', PATH: '/bin', FIELDGATE_X: undefined })
    assert.deepEqual([...raw], [['FIELDGATE_HTTPS_PORT', '1']])
  })

  it('are reported all at once when wrong, with name, given value and reason', () => {
    const faults = faultsOf({
      FIELDGATE_HTTPS_PORT: 'http',
      FIELDGATE_MQTTS_PORT: '70000',
      FIELDGATE_LOG_LEVEL: 'loud',
    })
    assert.deepEqual(describeFaults(faults), [
      'FIELDGATE_HTTPS_PORT="http": must be an integer from 0 to 65535',
      'FIELDGATE_MQTTS_PORT="70000": must be an integer from 0 to 65535',
      'FIELDGATE_LOG_LEVEL="loud": must be one of trace, debug, info, warn, error, fatal, silent',
    ])
  })

  it('never show a secret, not even a wrong one', () => {
    const control = faultsOf({ FIELDGATE_ADMIN_PASSWORD: 'correct\u0001horse' })
    assert.deepEqual(
      control.map(({ reason }) => reason),
      ['must have no control characters'],
    )
    const faults = faultsOf({ FIELDGATE_ADMIN_PASSWORD: 'hunter2' })
    assert.equal(faults.length, 1)
    assert.doesNotMatch(JSON.stringify(faults) + describeFaults(faults).join(), /hunter2/)
  })

  for (const given of ['-1', '+1', '1.5', '1e3', '0x10', ' 8443', '８', '99999999999999999999', 'NaN']) {
    it(`refuse ${JSON.stringify(given)} as a port`, () => {
      assert.equal(faultsOf({ FIELDGATE_HTTPS_PORT: given })[0]?.name, 'FIELDGATE_HTTPS_PORT')
    })
  }

  it('take the bounds themselves', () => {
    assert.equal(settingsOf({ FIELDGATE_HTTPS_PORT: '0' }).httpsPort, 0)
    assert.equal(settingsOf({ FIELDGATE_HTTPS_PORT: '65535' }).httpsPort, 65_535)
  })

  it('name everything that the engine over NATS lacks at once', () => {
    const lacking = { FIELDGATE_ENGINE: 'nats' }
    const names = ['FIELDGATE_NATS_URL', 'FIELDGATE_NODE_NAME', 'FIELDGATE_NATS_MONITORING_URL']
    assert.deepEqual(
      faultsOf(lacking).map(({ name }) => name),
      names,
    )
    const given = { ...lacking, FIELDGATE_NATS_URL: 'nats://a:4222, tls://b:4222', FIELDGATE_NODE_NAME: 'node_1' }
    assert.deepEqual(
      faultsOf(given).map(({ name }) => name),
      [names[2]],
    )
    const { natsUrl } = settingsOf({ ...given, FIELDGATE_NATS_DEVELOPMENT: 'true' })
    assert.deepEqual(natsUrl, ['nats://a:4222', 'tls://b:4222'])
  })

  for (const [name, value] of [
    ['FIELDGATE_NATS_URL', 'http://a:4222'],
    ['FIELDGATE_NATS_URL', 'nats://user:secret@a:4222'],
    ['FIELDGATE_NATS_MONITORING_URL', 'http://a:8222/varz'],
    ['FIELDGATE_NODE_NAME', 'node.1'],
  ] as const) {
    it(`refuse ${name}=${value}`, () => {
      assert.equal(faultsOf({ [name]: value })[0]?.name, name)
    })
  }

  it('refuse a certificate without its key, and the other way round', () => {
    assert.equal(faultsOf({ FIELDGATE_TLS_CERT_FILE: 'a.pem' })[0]?.name, 'FIELDGATE_TLS_KEY_FILE')
    assert.equal(faultsOf({ FIELDGATE_TLS_KEY_FILE: 'a.pem' })[0]?.name, 'FIELDGATE_TLS_CERT_FILE')
  })

  for (const given of ['0.0.0.0', '::']) {
    it(`refuse ${given} as the public host, which nobody can open`, () => {
      assert.equal(faultsOf({ FIELDGATE_PUBLIC_HOST: given })[0]?.name, 'FIELDGATE_PUBLIC_HOST')
      assert.equal(settingsOf({ FIELDGATE_HOST: given }).host, given)
    })
  }

  it('refuse one port for two listeners, except 0', () => {
    assert.equal(faultsOf({ FIELDGATE_HTTPS_PORT: '8883' })[0]?.name, 'FIELDGATE_MQTTS_PORT')
    settingsOf({ FIELDGATE_HTTPS_PORT: '0', FIELDGATE_MQTTS_PORT: '0' })
  })

  it('refuse a default lifetime above the maximum', () => {
    const faults = faultsOf({ FIELDGATE_BROKER_TOKEN_MAXIMUM_TTL_SECONDS: '3600' })
    assert.equal(faults[0]?.name, 'FIELDGATE_BROKER_TOKEN_DEFAULT_TTL_SECONDS')
  })

  for (const given of ['https://a', 'a:b c', 'a/b', 'a\n']) {
    it(`refuse ${JSON.stringify(given)} as a host`, () => {
      assert.match(faultsOf({ FIELDGATE_PUBLIC_HOST: given })[0]?.reason ?? '', /host name/)
    })
  }

  for (const [given, value] of [
    ['https://app.example.org', ['https://app.example.org']],
    ['https://App.example.org:8443, http://localhost:5173', ['https://app.example.org:8443', 'http://localhost:5173']],
    ['capacitor://localhost', ['capacitor://localhost']],
  ] as const) {
    it(`take ${given} as origins`, () => {
      assert.deepEqual(settingsOf({ FIELDGATE_ALLOWED_ORIGINS: given }).allowedOrigins, value)
    })
  }

  const manyOrigins = Array.from({ length: 101 }, (_, index) => `https://a${index}.example.org`).join()
  for (const given of [
    '*',
    'null',
    'app.example.org',
    'https://a.example.org/',
    'https://a.example.org/app',
    'https://a.example.org:443',
    'https://a.example.org,',
    'https://u@a.example.org',
    'https://*.example.org',
    'javascript:alert(1)',
    manyOrigins,
  ]) {
    it(`refuse ${given.slice(0, 30)} as origins`, () => {
      assert.match(faultsOf({ FIELDGATE_ALLOWED_ORIGINS: given })[0]?.reason ?? '', /origins/)
    })
  }

  it('take addresses and ranges of trusted proxies; there are none by default', () => {
    assert.deepEqual(settingsOf({}).trustedProxies, [])
    const given = '10.0.0.7, 10.1.0.0/16,2001:db8::/32,::1'
    assert.deepEqual(settingsOf({ FIELDGATE_TRUSTED_PROXIES: given }).trustedProxies, [
      '10.0.0.7',
      '10.1.0.0/16',
      '2001:db8::/32',
      '::1',
    ])
  })

  const manyNetworks = Array.from({ length: 101 }, (_, index) => `10.0.0.${index}`).join()
  for (const given of [
    'proxy',
    '10.0.0.1:80',
    '10.0.0.0/33',
    '0.0.0.0/0',
    '::/0',
    '::/129',
    '10/8',
    '10.0.0.1,',
    'fe80::1%eth0',
    '10.0.0.0/8/8',
    '10.0.0.0/',
    manyNetworks,
  ]) {
    it(`refuse ${given.slice(0, 30)} as trusted proxies`, () => {
      assert.match(faultsOf({ FIELDGATE_TRUSTED_PROXIES: given })[0]?.reason ?? '', /addresses/)
    })
  }

  it('have the bounds by address, which 0 lifts', () => {
    assert.equal(settingsOf({}).maximumSilentHttpsConnectionsPerAddress, 1000)
    const lifted = settingsOf({ FIELDGATE_MAXIMUM_MQTT_CONNECTS_PER_ADDRESS: '0' })
    assert.equal(lifted.maximumMqttConnectsPerAddress, 0)
  })

  it('turn HSTS on only when told so', () => {
    assert.equal(settingsOf({}).strictTransportSecurity, 'false')
    assert.equal(settingsOf({ FIELDGATE_HSTS: 'true' }).strictTransportSecurity, 'true')
    assert.equal(faultsOf({ FIELDGATE_HSTS: 'yes' })[0]?.name, 'FIELDGATE_HSTS')
  })

  it('take other defaults, which the environment overrides', () => {
    const defaults = { FIELDGATE_HOST: '127.0.0.1', FIELDGATE_HTTPS_PORT: '1443' }
    const settings = settingsOf({ FIELDGATE_HTTPS_PORT: '2443' }, defaults)
    assert.equal(settings.host, '127.0.0.1')
    assert.equal(settings.httpsPort, 2443)
  })

  it('warn of a variable that nobody reads and name the nearest one', () => {
    assert.match(warningsOf('FIELDGATE_HTTP_PORT')[0] ?? '', /did you mean FIELDGATE_HTTPS_PORT\?/)
    assert.match(warningsOf('FIELDGATE_DATADIR')[0] ?? '', /did you mean FIELDGATE_DATA_DIR\?/)
    assert.match(warningsOf('FIELDGATE_QWXZVBKJ')[0] ?? '', /is ignored$/)
    assert.deepEqual(warningsOf('FIELDGATE_PASSWORD'), [])
    assert.deepEqual(warningsOf('FIELDGATE_RUNTIME'), [])
    assert.deepEqual(warningsOf('FIELDGATE_RUNTIME_MEMORY'), [])
    assert.deepEqual(warningsOf('FIELDGATE_LAUNCHERS'), [])
  })
})

describe('the settings table', () => {
  it('names every setting in the help and in the README, as the code has it', () => {
    const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8')
    assert.ok(readme.includes(settingsTable()), 'out of date: run `npm run -s fieldgate -- settings --markdown`')
    for (const { name } of Object.values(definitions)) assert.ok(settingsHelp().includes(`  ${name}  (`))
  })
})

function faultOf(url: string, more: Record<string, string> = {}): string {
  const result = checkSettings(readEnvironment({ FIELDGATE_DATABASE_URL: url, ...more }))
  return result.ok ? '' : describeFaults(result.faults).join('\n')
}

describe('the URL of the database', () => {
  it('may leave sslmode out on this machine alone', () => {
    for (const place of ['localhost', '127.0.0.1:5433', '[::1]']) assert.equal(faultOf(`postgres://f@${place}/f`), '')
    assert.match(faultOf('postgres://f@db.example.org/f'), /must say by sslmode/)
    assert.equal(faultOf('postgres://f@db.example.org/f?sslmode=verify-full'), '')
  })

  it('is never shown, and says what is wrong', () => {
    for (const [url, reason] of [
      ['http://f:geheim@localhost/f', /must be a URL like postgres/],
      ['postgres://localhost/f', /must name the user/],
      ['postgres://f:geheim@localhost', /must name the database/],
      ['postgres://f:geheim@localhost/f?sslmode=prefer', /must have an sslmode out of/],
      ['postgres://f:geheim@localhost/f?ssl=1', /no other parameter/],
    ] as const) {
      assert.match(faultOf(url), reason)
      assert.doesNotMatch(faultOf(url), /geheim/)
    }
  })

  it('goes with its password and its authority', () => {
    assert.match(faultOf('', { FIELDGATE_DATABASE_PASSWORD: 'x' }), /must not be set without FIELDGATE_DATABASE_URL/)
    assert.match(faultOf('postgres://f:y@localhost/f', { FIELDGATE_DATABASE_PASSWORD: 'x' }), /contains a password/)
    assert.match(faultOf('postgres://f@localhost/f', { FIELDGATE_DATABASE_CA_FILE: 'x' }), /needs an sslmode/)
  })
})
