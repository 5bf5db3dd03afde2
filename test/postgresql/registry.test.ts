/** The tests of the registry, with the registry in PostgreSQL. */
import { after } from 'node:test'
import { useDatabases } from '../../src/identity/registry.testing.ts'
import { startTestServer } from './test-server.ts'

const server = await startTestServer('the tests of the registry, on PostgreSQL')
if (server !== undefined) {
  after(() => server.close())
  useDatabases(() => server.newDatabase())
  await import('../../src/identity/first-admin.test.ts')
  await import('../../src/identity/registry.test.ts')
  await import('../../src/identity/store/application-ids.test.ts')
  await import('../../src/identity/store/audit.test.ts')
  await import('../../src/identity/tenants/service-credentials.test.ts')
  await import('../../src/identity/tenants/organization-bounds.test.ts')
  await import('../../src/identity/tenants/organizations.test.ts')
  await import('../../src/identity/tenants/webhooks.test.ts')
  await import('../../src/identity/tokens/tokens.test.ts')
  await import('../../src/identity/tokens/metrics-tokens.test.ts')
  await import('../../src/identity/tokens/api-keys.test.ts')
  await import('../../src/identity/tokens/api-key-standing.test.ts')
  await import('../../src/identity/devices/device-profiles.test.ts')
  await import('../../src/identity/devices/devices.test.ts')
  await import('../../src/identity/devices/device-states.test.ts')
  await import('../../src/identity/devices/directory.test.ts')
  await import('../../src/identity/devices/library-profiles.test.ts')
  await import('../../src/identity/devices/registration-rules.test.ts')
  await import('../../src/identity/people/second-factor.test.ts')
  await import('../../src/identity/people/users.test.ts')
  await import('../../src/identity/people/passwords.test.ts')
}
