/** The brokers that are compared. */
import type { BrokerKind, BrokerName } from './brokers/broker.ts'
import { fieldgateKinds } from './brokers/fieldgate.ts'
import { mosquittoKinds } from './brokers/mosquitto.ts'
import { optionalKinds } from './brokers/optional.ts'
import { programKinds } from './brokers/programs.ts'
import type { Row } from './scenarios/scenario.ts'

/** The brokers, in the order of the tables. */
export const BROKERS: readonly BrokerKind[] = [...fieldgateKinds, ...mosquittoKinds, ...optionalKinds, ...programKinds]

/** The brokers of the command line. */
export interface Choice {
  /** These take part in every row. */
  readonly named: readonly BrokerName[]
  /** True: beside them take part those that do so when the command line names none. */
  readonly withDefaults: boolean
}

/** The brokers that take part in a row, in the order of the tables. */
export function participants(row: Row, { named, withDefaults }: Choice): readonly BrokerKind[] {
  return BROKERS.filter(({ name, byDefault }) => named.includes(name) || (withDefaults && byDefault(row)))
}
