/** Runs the rows against the brokers, round by round, and keeps the results. */
import { join } from 'node:path'
import type { BrokerKind, BrokerName, Workspace } from './brokers/broker.ts'
import { besideProbe } from './disk-probe.ts'
import type { Answer, Job, JobQoS, JobResult } from './load/job.ts'
import type { Percentiles } from './load/latency-histogram.ts'
import { runJob } from './run-job.ts'
import type { Row, Timing } from './scenarios/scenario.ts'

/** A run of a row against a broker. */
export interface Run {
  readonly row: string
  readonly broker: BrokerName
  readonly round: number
  readonly outcome:
    | {
        readonly ok: true
        readonly figure: number
        readonly result: JobResult
        /** The disk's own syncs meanwhile; undefined where the broker waits for no disk. */
        readonly sync: Percentiles | undefined
      }
    | { readonly ok: false; readonly fault: string }
}

/**
 * Runs each row in turn. In each round of a row every participant has its turn, so that a machine
 * that is slow for a while is slow for all of them. `report` gets each run when it ends.
 */
export async function compare(
  rows: readonly Row[],
  participants: (row: Row) => readonly BrokerKind[],
  workspace: Workspace,
  options: { readonly runs: number; readonly timing: Timing },
  report: (run: Run) => void,
): Promise<readonly Run[]> {
  const runs: Run[] = []
  for (const row of rows) {
    for (let round = 0; round < Math.min(options.runs, row.maximumRuns ?? Infinity); round += 1) {
      for (const broker of participants(row)) {
        const job = row.job(broker.prepare(workspace), options.timing)
        const { answer, sync } = await measure(broker, workspace, job)
        const run: Run = {
          row: row.title,
          broker: broker.name,
          round,
          outcome:
            answer.kind === 'result'
              ? { ok: true, figure: row.figure(answer.result), result: answer.result, sync }
              : { ok: false, fault: answer.text },
        }
        runs.push(run)
        report(run)
      }
    }
  }
  return runs
}

async function measure(
  broker: BrokerKind,
  workspace: Workspace,
  job: Job,
): Promise<{ readonly answer: Answer; readonly sync: Percentiles | undefined }> {
  if (!broker.isDurable) return { answer: await runJob(broker, workspace, job), sync: undefined }
  const directory = join(workspace.directory, 'service')
  const { result: answer, sync } = await besideProbe(directory, () => runJob(broker, workspace, job))
  return { answer, sync }
}

/** The rows of these scenarios and QoS; a row without its own QoS is always included. */
export function chooseRows(
  rows: readonly Row[],
  chosen: { readonly scenarios: readonly string[]; readonly qos: readonly JobQoS[] },
): readonly Row[] {
  return rows.filter(
    ({ scenario, qos }) => chosen.scenarios.includes(scenario) && (qos === undefined || chosen.qos.includes(qos)),
  )
}
