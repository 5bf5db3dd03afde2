/** Registers devices that wait, as soon as a rule of their owner means them. */
import type { Logger } from '../../logger.ts'
import { isMeant, nameOf } from './registration.ts'
import type { UnknownDevice } from './shelves.ts'
import type { UnknownDevices } from './unknown-devices.ts'

/** A rule. A text that is empty lets all pass, or sets nothing. */
export interface Rule {
  readonly organizationId: string
  readonly applicationId: string
  readonly isOfDeployment: boolean
  readonly networkServer: string
  readonly networkServerApplicationId: string
  readonly networkServerApplicationName: string
  readonly networkServerProfileName: string
  readonly devEuiPrefix: string
  readonly nameTemplate: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
}

/** A device that a rule makes. */
export interface RuledDevice {
  readonly devEui: string
  readonly applicationId: string
  readonly name: string
  readonly deviceProfileId: string
  readonly deviceProfileName: string
  readonly tags: Readonly<Record<string, string>>
}

export interface RegistrationByRuleParts {
  readonly waiting: Pick<UnknownDevices, 'device' | 'devicesOf' | 'owners'>
  /** All rules, in the order in which they are tried. */
  readonly rules: () => Promise<readonly Rule[]>
  /** Answers for each device, in the same order, whether it was registered. */
  readonly register: (devices: readonly RuledDevice[]) => Promise<readonly { readonly ok: boolean }[]>
  readonly log: Logger
}

type Owner = string | null

/** Devices that are looked at in one turn of an owner. The owners take turns. */
const DEVICES_PER_TURN = 500
/** DevEUIs that are noted for an owner. Beyond it, all devices of the owner are looked at again. */
const MAXIMUM_NOTED = 10_000

export class RegistrationByRule {
  readonly #parts: RegistrationByRuleParts
  #rules: Promise<ReadonlyMap<Owner, readonly Rule[]>> | undefined
  /** DevEUIs to look at. */
  readonly #noted = new Map<Owner, Set<string>>()
  /** Owners with devices for which there was no room in `#noted`. */
  readonly #unnoted = new Set<Owner>()
  /** Devices that the registry has refused. They are tried again when the rules change. */
  #refused = new WeakSet<UnknownDevice>()
  #isAtWork = false
  #isClosed = false

  constructor(parts: RegistrationByRuleParts) {
    this.#parts = parts
  }

  /** An event of the device was kept for the owner. */
  kept(owner: Owner, devEui: string): void {
    const noted = this.#noted.get(owner) ?? new Set()
    this.#noted.set(owner, noted)
    if (noted.size < MAXIMUM_NOTED) noted.add(devEui)
    else this.#unnoted.add(owner)
    this.#begin()
  }

  /** The rules are other ones: all devices that wait are looked at. */
  rulesChanged(): void {
    this.#rules = undefined
    this.#refused = new WeakSet()
    for (const owner of this.#parts.waiting.owners()) this.#noteAll(owner)
    this.#begin()
  }

  #noteAll(owner: Owner): void {
    const noted = this.#noted.get(owner) ?? new Set()
    for (const { devEui } of this.#parts.waiting.devicesOf(owner)) noted.add(devEui)
    if (noted.size > 0) this.#noted.set(owner, noted)
  }

  close(): void {
    this.#isClosed = true
  }

  #begin(): void {
    if (this.#isAtWork) return
    this.#isAtWork = true
    void this.#work()
      .catch((error: unknown) => this.#parts.log.error({ error }, 'unknown_device.rules_not_applied'))
      .finally(() => {
        this.#isAtWork = false
        // After a fault the work goes on with the others.
        if (this.#noted.size > 0 && !this.#isClosed) this.#begin()
      })
  }

  async #work(): Promise<void> {
    while (this.#noted.size > 0) {
      for (const [owner, noted] of this.#noted) {
        if (this.#isClosed) return
        const turn = [...noted.values().take(DEVICES_PER_TURN)]
        for (const devEui of turn) noted.delete(devEui)
        if (noted.size === 0) this.#noted.delete(owner)
        if (noted.size === 0 && this.#unnoted.delete(owner)) this.#noteAll(owner)
        await this.#apply(owner, turn)
      }
    }
  }

  async #apply(owner: Owner, devEuis: readonly string[]): Promise<void> {
    this.#rules ??= this.#read()
    const rules = (await this.#rules).get(owner)
    if (rules === undefined) return
    const meant = devEuis.flatMap((devEui) => {
      const device = this.#parts.waiting.device(owner, devEui)
      if (device === undefined || this.#refused.has(device)) return []
      const rule = rules.find((candidate) => isRuled(device, candidate))
      return rule === undefined ? [] : [{ device, ruled: ruledOf(device, rule) }]
    })
    if (meant.length === 0) return
    const outcomes = await this.#parts.register(meant.map(({ ruled }) => ruled))
    for (const [index, { device }] of meant.entries()) if (outcomes[index]?.ok !== true) this.#refused.add(device)
  }

  async #read(): Promise<ReadonlyMap<Owner, readonly Rule[]>> {
    try {
      const rules = await this.#parts.rules()
      return Map.groupBy(rules, ({ isOfDeployment, organizationId }) => (isOfDeployment ? null : organizationId))
    } catch (error) {
      this.#rules = undefined
      throw error
    }
  }
}

function isRuled(device: UnknownDevice, rule: Rule): boolean {
  return isMeant(device, {
    networkServer: rule.networkServer,
    applicationId: rule.networkServerApplicationId,
    applicationName: rule.networkServerApplicationName,
    deviceProfileName: rule.networkServerProfileName,
    devEuiPrefix: rule.devEuiPrefix,
  })
}

function ruledOf(device: UnknownDevice, rule: Rule): RuledDevice {
  const { applicationId, deviceProfileId, tags } = rule
  const name = nameOf(device, rule.nameTemplate === '' ? '{deviceName}' : rule.nameTemplate)
  const deviceProfileName = rule.deviceProfileName === '' ? device.names.deviceProfileName : rule.deviceProfileName
  return { devEui: device.devEui, applicationId, name, deviceProfileId, deviceProfileName, tags }
}
