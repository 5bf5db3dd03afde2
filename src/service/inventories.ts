/** The inventories of network servers, wired to the registry and to their APIs. */
import { systemClock } from '../clock.ts'
import { given } from '../given.ts'
import type { AskedImport, Inventories, InventoryView } from '../http/tenants/inventories.ts'
import type { ScriptChecks } from '../http/devices/script-check.ts'
import type { Registry } from '../identity/registry.ts'
import { notFound, refuse } from '../identity/store/result.ts'
import type { Actor, Result } from '../identity/store/result.ts'
import type { StoredInventoryStep } from '../identity/tenants/inventory-steps.ts'
import { importInventory } from '../lorawan/inventory/inventory-import.ts'
import { InventoryUnreadable, INVENTORY_BOUNDS } from '../lorawan/inventory/inventory.ts'
import type { InventorySource } from '../lorawan/inventory/inventory.ts'
import { InventorySteps } from '../lorawan/inventory/inventory-steps.ts'
import type { InventoryStep, StepOutcome } from '../lorawan/inventory/inventory-steps.ts'
import type { ImportReport, ImportSettings } from '../lorawan/inventory/import-settings.ts'
import { externalIdPrefix } from '../lorawan/network-servers/chirpstack/chirpstack-sync.ts'
import { TheThingsStackInventory } from '../lorawan/network-servers/http/the-things-stack-inventory.ts'
import type {
  ChirpStackGrpcEntry,
  NetworkServerEntry,
  TheThingsStackEntry,
} from '../lorawan/network-servers/settings.ts'
import { ImportTurns } from './import-turns.ts'
import { inventoryRegistry } from './inventory-registry.ts'
import { isHome } from './fleet.ts'
import { readEntriesOfRegistry } from './network-server-entries.ts'
import type { Parts, StartContext } from './parts.ts'

/** The one process that keeps in step, as a thing that has a home. */
const WATCH = 'inventory/steps'
/** Imports at the same time in this process, with the runs of steps. */
const MAXIMUM_IMPORTS = 4

/** The inventories, and the watch that keeps organizations in step. */
export interface OpenedInventories {
  readonly inventories: Inventories
  readonly steps: InventorySteps
}

const BUSY = 'inventory_busy'

type EntryWithInventory = ChirpStackGrpcEntry | TheThingsStackEntry

/** An inventory of one organization. */
interface Place {
  readonly entry: EntryWithInventory
  readonly isOfDeployment: boolean
  /** The tenants of a ChirpStack that are read; undefined for all. */
  readonly tenantIds: readonly string[] | undefined
}

type Needed = Pick<Parts, 'registry' | 'entriesOfFile'> & { readonly codecs: ScriptChecks }

type RunParts = Needed & { readonly turns: ImportTurns }

/** Opens them. `steps.tick` is for after the broker's start. */
export function openInventories(context: StartContext, parts: Needed): OpenedInventories {
  const { nodes, shutdown } = context
  const log = context.log.child({ room: 'lorawan' })
  const closing = new AbortController()
  const { registry } = parts
  const entries = async () => [...parts.entriesOfFile, ...(await readEntriesOfRegistry(context, parts))]
  const turns = new ImportTurns(nodes?.bus, MAXIMUM_IMPORTS)
  const runs = new ImportRuns({ ...parts, turns }, entries, closing.signal)
  const steps = new InventorySteps({
    steps: async () => (await registry.inventorySteps.list()).map(stepOf),
    run: async (step) => {
      const last = await runs.step(step)
      const { networkServer, organizationId } = step
      const { report, code } = last
      // It is due as before, and the next look begins it again.
      if (code === BUSY) return
      const counts = report === null ? {} : countsOf(report)
      if (code === '') log.info({ networkServer, organizationId, ...counts }, 'inventory.in_step')
      else log.warn({ networkServer, organizationId, code, reason: last.message }, 'inventory.not_read')
      const stored = { networkServer, organizationId, settings: storedSettings(step) }
      await registry.inventorySteps.ran({ ...stored, ranAtMs: last.ranAtMs, outcome: { ...last } })
    },
    isWatcher: nodes === undefined ? () => Promise.resolve(true) : () => isHome(nodes, WATCH),
    clock: systemClock,
    log,
  })
  shutdown.add('inventories', () => {
    closing.abort()
    return steps.close()
  })
  // Another node hears of a new step with its next look.
  const begin = (): void => void steps.look()
  return { inventories: createInventories(registry, runs, entries, begin), steps }
}

function createInventories(
  registry: Registry,
  runs: ImportRuns,
  entries: () => Promise<readonly NetworkServerEntry[]>,
  begin: () => void,
): Inventories {
  return {
    async list(organizationId, { ofDeployment }) {
      const steps = (await registry.inventorySteps.list(organizationId)).map(stepOf)
      const views: InventoryView[] = []
      for (const entry of await entries()) {
        const own = await placeIn(registry, entry, organizationId, false)
        const place = own ?? (ofDeployment ? await placeIn(registry, entry, organizationId, true) : undefined)
        if (place === undefined) continue
        const step = steps.find(({ networkServer }) => networkServer === entry.name) ?? null
        const { name: networkServer, kind } = entry
        views.push({ networkServer, kind, isOfDeployment: place.isOfDeployment, step })
      }
      // The network server of such a step was removed, or belongs to another organization now.
      const others = steps.filter(({ networkServer }) => !views.some((view) => view.networkServer === networkServer))
      for (const step of others) {
        const { networkServer, isOfDeployment } = step
        views.push({ networkServer, kind: '', isOfDeployment, step })
      }
      return views
    },

    run: (asked, options, actor) => runs.import(asked, options, actor),

    async keepInStep(step, actor) {
      const { networkServer, settings, isOfDeployment } = step
      const { organizationId } = settings
      const entry = (await entries()).find(({ name }) => name === networkServer)
      const place = entry && (await placeIn(registry, entry, organizationId, isOfDeployment))
      if (place === undefined) return notFound('inventory_not_found')
      const stored = { networkServer, organizationId, settings: storedSettings(step) }
      const put = await registry.inventorySteps.put(stored, actor)
      if (put.ok) begin()
      return put
    },

    endStep: (step, actor) => registry.inventorySteps.remove(step, actor),
  }
}

/** Runs imports: one of an organization at a time. */
class ImportRuns {
  readonly #parts: RunParts
  readonly #entries: () => Promise<readonly NetworkServerEntry[]>
  readonly #closing: AbortSignal

  constructor(parts: RunParts, entries: () => Promise<readonly NetworkServerEntry[]>, closing: AbortSignal) {
    this.#parts = parts
    this.#entries = entries
    this.#closing = closing
  }

  /** An import that a person asks for. */
  async import(
    asked: AskedImport,
    options: { readonly isDryRun: boolean; readonly removable?: ReadonlySet<string> | undefined },
    actor: Actor,
  ): Promise<Result<ImportReport>> {
    const { organizationId } = asked.settings
    const { registry, turns } = this.#parts
    if (!(await turns.begin(organizationId))) {
      return refuse('resource_exhausted', 'inventory_busy', 'another inventory is being imported: try again later')
    }
    try {
      const entry = (await this.#entries()).find(({ name }) => name === asked.networkServer)
      const place = entry && (await placeIn(registry, entry, organizationId, asked.isOfDeployment))
      if (place === undefined) return notFound('inventory_not_found')
      return { ok: true, value: await this.#read(place, asked.settings, options, actor) }
    } catch (error) {
      if (error instanceof InventoryUnreadable) return refuse('failed_precondition', error.code, error.message)
      throw error
    } finally {
      turns.end(organizationId)
    }
  }

  /** The run of a step. An outcome that says BUSY is none: nothing was read. */
  async step(step: InventoryStep): Promise<StepOutcome> {
    const { networkServer, isOfDeployment, settings, removesMissing, last } = step
    const removable = removesMissing ? new Set(last?.report?.missingDevEuis) : undefined
    const asked = { networkServer, isOfDeployment, settings }
    const result = await this.import(asked, { isDryRun: false, removable }, { userId: null })
    const ranAtMs = systemClock.now()
    if (result.ok) return { ranAtMs, code: '', message: '', report: result.value }
    return { ranAtMs, code: result.reason, message: result.message, report: last?.report ?? null }
  }

  async #read(
    place: Place,
    settings: ImportSettings,
    { isDryRun, removable }: { readonly isDryRun: boolean; readonly removable?: ReadonlySet<string> | undefined },
    actor: Actor,
  ): Promise<ImportReport> {
    const source = await sourceOf(place)
    const signal = AbortSignal.any([this.#closing, AbortSignal.timeout(INVENTORY_BOUNDS.readMs)])
    try {
      const registry = inventoryRegistry(this.#parts.registry, this.#parts.codecs, actor)
      const networkServer = { name: place.entry.name, url: urlOf(place.entry) }
      const parts = { source, registry, networkServer, signal, ...given({ removable }) }
      return await importInventory(parts, settings, { isDryRun })
    } finally {
      source.close()
    }
  }
}

/** The inventory as far as the organization owns it; undefined for none of it. */
async function placeIn(
  { organizations }: Pick<Registry, 'organizations'>,
  entry: NetworkServerEntry,
  organizationId: string,
  isOfDeployment: boolean,
): Promise<Place | undefined> {
  if (entry.kind === 'the-things-stack') {
    if (entry.organizationId !== organizationId) return undefined
    return { entry, isOfDeployment: false, tenantIds: undefined }
  }
  if (entry.kind !== 'chirpstack-grpc') return undefined
  const { tenants, name } = entry
  if (isOfDeployment) return { entry, isOfDeployment, tenantIds: tenants && [...tenants.keys()] }
  if (tenants !== undefined) {
    const own = Array.from(tenants).flatMap(([tenantId, owner]) => (owner === organizationId ? [tenantId] : []))
    return own.length === 0 ? undefined : { entry, isOfDeployment, tenantIds: own }
  }
  const externalId = await organizations.externalIdOf(organizationId)
  const prefix = externalIdPrefix(name)
  if (externalId === undefined || !externalId.startsWith(prefix)) return undefined
  return { entry, isOfDeployment, tenantIds: [externalId.slice(prefix.length)] }
}

/** Loads gRPC when the first inventory is read, not at the start of the service. */
async function sourceOf({ entry, tenantIds }: Place): Promise<InventorySource> {
  if (entry.kind === 'the-things-stack') return new TheThingsStackInventory(entry.target, entry.applicationId)
  const { ChirpStackInventory } = await import('../lorawan/network-servers/chirpstack/chirpstack-inventory.ts')
  return new ChirpStackInventory(entry.address, tenantIds)
}

function urlOf(entry: EntryWithInventory): string {
  if (entry.kind === 'the-things-stack') return entry.target.baseUrl.href
  return `${entry.address.tls === undefined ? 'http' : 'https'}://${entry.address.target}`
}

type StoredSettings = Omit<InventoryStep, 'networkServer' | 'organizationId' | 'last'>

function storedSettings(step: StoredSettings): Readonly<Record<string, unknown>> {
  const { isOfDeployment, settings, intervalSeconds, removesMissing } = step
  return { isOfDeployment, settings, intervalSeconds, removesMissing }
}

/** Exactly what `storedSettings` has made. */
function stepOf({ settings, outcome, ranAtMs, ...place }: StoredInventoryStep): InventoryStep {
  const last = ranAtMs === null || outcome === null ? null : (outcome as unknown as StepOutcome)
  return { ...place, ...(settings as unknown as StoredSettings), last }
}

function countsOf({ created, updated, unchanged, refused, missing, removed, applications }: ImportReport) {
  const missingApplications = applications.filter(({ outcome }) => outcome === 'missing').length
  return { created, updated, unchanged, refused, missing, removed, missingApplications }
}
