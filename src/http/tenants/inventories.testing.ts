/** Inventories for tests of routes: one network server that has one device. */
import type { ImportReport } from '../../lorawan/inventory/import-settings.ts'
import type { Inventories } from './inventories.ts'

const SAID = { reason: '', message: '' }
const REPORT: ImportReport = {
  isDryRun: true,
  created: 1,
  updated: 0,
  unchanged: 0,
  refused: 0,
  missing: 0,
  removed: 0,
  applications: [
    { id: '7d1f6a52-6d2b-4b4e-9a5e-0e6a1f8f2c11', name: 'Water', applicationId: '1', outcome: 'unchanged', ...SAID },
  ],
  profiles: [
    {
      id: '3c4c7f6e-36c1-4a8a-8a4b-5f8d1f4f2f0a',
      name: 'Water meter',
      deviceProfileId: '',
      outcome: 'created',
      members: [],
      ...SAID,
    },
  ],
  devices: [
    {
      devEui: '0101010101010101',
      joinEui: '0202020202020202',
      name: 'meter 1',
      applicationId: '1',
      outcome: 'created',
      members: [],
      ...SAID,
    },
  ],
  missingDevEuis: [],
}

/** Makes inventories that keep nothing. */
export function testInventories(): Inventories {
  return {
    list: async (organizationId) => [
      {
        networkServer: 'main',
        kind: 'chirpstack-grpc',
        isOfDeployment: false,
        step: {
          networkServer: 'main',
          organizationId,
          isOfDeployment: false,
          settings: {
            organizationId,
            applications: undefined,
            createsApplications: true,
            givesIds: false,
            profiles: 'IMPORT',
            tags: {},
          },
          intervalSeconds: 3600,
          removesMissing: false,
          last: { ranAtMs: Date.UTC(2026, 0, 15, 12), code: '', message: '', report: { ...REPORT, isDryRun: false } },
        },
      },
    ],
    run: async (_asked, { isDryRun }) => ({ ok: true, value: { ...REPORT, isDryRun } }),
    keepInStep: async () => ({ ok: true, value: undefined }),
    endStep: async () => ({ ok: true, value: undefined }),
  }
}
