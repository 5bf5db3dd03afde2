/** All scenarios of the acceptance run, and those that can't be run yet, each with its number. */
import type { Scenario } from '../scenario.ts'
import { BRIDGES } from './bridges.ts'
import { CHIRPSTACK } from './chirpstack.ts'
import { COMMANDS } from './commands.ts'
import { CROWDS } from './crowds.ts'
import { DELIVERY } from './delivery.ts'
import { DISKS } from './disks.ts'
import { KEPT } from './kept.ts'
import { NATS_SERVERS } from './nats-servers.ts'
import { NODES } from './nodes.ts'
import { PAST } from './past.ts'
import { PATHS } from './paths.ts'
import { REGISTRY } from './registry.ts'
import { RIGHTS } from './rights.ts'
import { SESSIONS } from './sessions.ts'
import { VIEWS } from './views.ts'

/** In the order of their numbers. */
export const SCENARIOS: readonly Scenario[] = [
  ...BRIDGES,
  ...CHIRPSTACK,
  ...COMMANDS,
  ...CROWDS,
  ...DELIVERY,
  ...DISKS,
  ...KEPT,
  ...NATS_SERVERS,
  ...NODES,
  ...PAST,
  ...PATHS,
  ...REGISTRY,
  ...RIGHTS,
  ...SESSIONS,
  ...VIEWS,
].toSorted((a, b) => a.number - b.number)

/** A scenario that nobody can run yet. */
export interface MissingScenario {
  readonly number: number
  readonly title: string
  readonly reason: string
}

export const MISSING: readonly MissingScenario[] = [
  { number: 38, title: '11,000/s on three nodes', reason: 'it needs a machine of its own for each part' },
]
