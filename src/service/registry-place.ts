/** Where the registry of a deployment is: in its data directory, or in a database. */
import { registryFileIn } from '../data/data-directory.ts'
import type { PostgresAddress } from '../identity/postgres/postgres-pool.ts'
import type { Settings } from '../settings/settings.ts'

/** The place, as `openRegistry` takes it. */
export type RegistryPlace = { readonly file: string } | { readonly postgres: PostgresAddress }

/** The settings that say where the registry is. */
export type PlaceSettings = Pick<Settings, 'dataDirectory' | 'databaseUrl' | 'databasePassword' | 'databaseCaFile'>

/** The place that the settings name. */
export function registryPlaceOf(settings: PlaceSettings): RegistryPlace {
  const { databaseUrl: url, databasePassword: password, databaseCaFile: caFile } = settings
  if (url === undefined) return { file: registryFileIn(settings.dataDirectory) }
  return { postgres: { url, password, caFile } }
}
