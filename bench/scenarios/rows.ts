/** All rows of the comparison, in the order of its tables. */
import { connectionRows } from './connections.ts'
import { flowRows } from './flows.ts'
import { matchingRows } from './matching.ts'
import type { Row, ScenarioName } from './scenario.ts'
import { waitingRow } from './waiting.ts'

export const SCENARIOS: readonly ScenarioName[] = ['s1', 's2', 's3', 's4', 's5', 's6', 's7', 's8']

export const ROWS: readonly Row[] = [...flowRows, ...connectionRows, ...matchingRows, waitingRow].toSorted((a, b) =>
  a.scenario.localeCompare(b.scenario),
)
