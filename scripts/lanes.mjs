// Runs jobs at the same time, in lanes, so that both processors of a small machine are busy.

/**
 * @typedef {object} Job
 * @property {boolean} mostlyWaits True for a job that hardly uses the processor.
 * @property {() => Promise<void>} run Must not reject.
 */

/**
 * Jobs that run at the same time, beside those that mostly wait. Tests wait for half of their time,
 * so three of them keep two processors busy.
 */
const BUSY_LANES = 3
/**
 * Jobs that mostly wait and run beside the others. With two of them, receive windows of real
 * network servers were missed.
 */
const WAITING_LANES = 1

/**
 * Runs jobs in their order: three at a time, and beside them one that mostly waits. A lane without
 * other work takes jobs that mostly wait too. Resolves when all have ended.
 * @param {readonly Job[]} jobs
 */
export async function runInLanes(jobs) {
  const { busy = [], waiting = [] } = Object.groupBy(jobs, (job) => (job.mostlyWaits ? 'waiting' : 'busy'))
  await Promise.all([
    ...Array.from({ length: BUSY_LANES }, () => work(() => busy.shift() ?? waiting.shift())),
    ...Array.from({ length: WAITING_LANES }, () => work(() => waiting.shift())),
  ])
}

/** @param {() => Job | undefined} take */
async function work(take) {
  for (let job = take(); job !== undefined; job = take()) await job.run()
}
