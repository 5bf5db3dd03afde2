/** The inventories of network servers: looked at, imported, kept in step. */
import { useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import type { Listed } from './list.ts'
import { request } from './request.ts'

/** The path of the inventories. The key of their list in the cache begins with it. */
export const INVENTORIES_PATH = '/api/inventories'

/** The ways of the network server's device profiles. */
export type ProfileMode = 'IMPORT' | 'BY_NAME' | 'NONE'

/** The fate of a thing in an import. An application is `missing` that the network server lacks. */
export interface ImportedThing {
  readonly name: string
  readonly outcome: 'created' | 'updated' | 'unchanged' | 'refused' | 'leftOut' | 'missing'
  readonly message: string
}

/** An application of the network server. */
export interface ImportedApplication extends ImportedThing {
  readonly networkServerApplicationID: string
  /** The application here; "" for none. */
  readonly applicationID: string
}

/** A device that is created, updated or refused. */
export interface ImportedDevice extends ImportedThing {
  readonly devEUI: string
  readonly members: readonly string[]
}

/** The report of an import, or of a look. */
export interface InventoryReport {
  readonly dryRun: boolean
  readonly createdCount: number
  readonly updatedCount: number
  readonly unchangedCount: number
  readonly refusedCount: number
  readonly missingCount: number
  readonly removedCount: number
  readonly applications: readonly ImportedApplication[]
  readonly deviceProfiles: readonly (ImportedThing & { readonly networkServerProfileID: string })[]
  readonly devices: readonly ImportedDevice[]
}

/** How an organization is kept in step. */
export interface InventoryStep {
  readonly intervalSeconds: number
  readonly removeMissing: boolean
  /** By the network server's own ids; empty where they go by ids and names. */
  readonly applications: Readonly<Record<string, string>>
  readonly createApplications: boolean
  readonly profiles: ProfileMode
  readonly tags: Readonly<Record<string, string>>
  readonly lastRunAt: string | null
  /** "" for a run without a fault. */
  readonly lastCode: string
  readonly lastMessage: string
  readonly lastReport: InventoryReport | null
}

/** A network server whose inventory may be imported. */
export interface Inventory {
  readonly networkServer: string
  readonly kind: string
  readonly ofDeployment: boolean
  readonly step: InventoryStep | null
}

/** The settings of an import. */
export interface InventoryImport {
  /** Applications of the network server to those here; no others are imported. */
  readonly applications?: Readonly<Record<string, string>>
  readonly createApplications: boolean
  readonly profiles: ProfileMode
  /** Tags of all devices. */
  readonly tags: Readonly<Record<string, string>>
  readonly ofDeployment: boolean
}

/** An application as the network server lists it. */
export interface TheirApplication {
  /** The network server's own id. */
  readonly id: string
  readonly name: string
}

/** The inventories of an organization; a step that runs changes them. */
export function useInventories(organizationID: string): UseQueryResult<Listed<Inventory>> {
  return useQuery({
    queryKey: [INVENTORIES_PATH, organizationID],
    queryFn: () => request<Listed<Inventory>>('GET', INVENTORIES_PATH, { query: { organizationID } }),
    refetchInterval: 15_000,
  })
}

/** A look at no application. It lists all of them, and reads no device. */
const NO_APPLICATION = { applications: {}, createApplications: false, profiles: 'NONE', tags: {} } as const

/** The applications that the network server lists; asked for while `isWanted`. */
export function useTheirApplications(
  { networkServer, ofDeployment }: Pick<Inventory, 'networkServer' | 'ofDeployment'>,
  organizationID: string,
  isWanted: boolean,
): UseQueryResult<readonly TheirApplication[]> {
  return useQuery({
    // Its key does not begin with the path: an import changes nothing at the network server.
    queryKey: ['applications of a network server', organizationID, networkServer],
    enabled: isWanted,
    queryFn: async () => {
      const settings = { ...NO_APPLICATION, ofDeployment }
      const { applications } = await importInventory(networkServer, organizationID, { dryRun: true, settings })
      return applications.map(({ networkServerApplicationID: id, name }) => ({ id, name }))
    },
  })
}

/** Imports, or with `dryRun` only looks. */
export function importInventory(
  networkServer: string,
  organizationID: string,
  { dryRun, settings }: { readonly dryRun: boolean; readonly settings: InventoryImport },
): Promise<InventoryReport> {
  const body = { organizationID, dryRun, inventoryImport: settings }
  return request<InventoryReport>('POST', `${INVENTORIES_PATH}/${encodeURIComponent(networkServer)}/import`, { body })
}

/** Imports again and again, at the interval. */
export function keepInStep(
  networkServer: string,
  organizationID: string,
  inventoryStep: InventoryImport & Pick<InventoryStep, 'intervalSeconds' | 'removeMissing'>,
): Promise<unknown> {
  const body = { organizationID, inventoryStep }
  return request('PUT', `${INVENTORIES_PATH}/${encodeURIComponent(networkServer)}/step`, { body })
}
