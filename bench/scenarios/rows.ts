/** All rows of the comparison, in the order of its tables. */
import { connectionRows } from './connections.ts'
import { flowRows } from './flows.ts'
import { matchingRows } from './matching.ts'
import { oneSubscriptionRows } from './one-subscription.ts'
import { returningRow } from './returning.ts'
import type { Row, ScenarioName } from './scenario.ts'
import { waitingRow } from './waiting.ts'

export const SCENARIOS: readonly ScenarioName[] = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8', 's9', 's10']

export const ROWS: readonly Row[] = [
  ...flowRows,
  ...connectionRows,
  ...matchingRows,
  waitingRow,
  returningRow,
  ...oneSubscriptionRows,
].toSorted((a, b) => a.scenario.localeCompare(b.scenario, 'en', { numeric: true }))
