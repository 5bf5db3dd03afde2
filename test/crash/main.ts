/**
 * `npm run crash [rounds] [seed]`: the crash suite, with any number of rounds and a line for each
 * kill.
 */
import { runCrashes } from './crash-run.ts'

const [rounds = 200, seed = Date.now() % 1_000_000] = process.argv.slice(2).map(Number)
console.log(`Killing the service ${rounds} times under load (seed ${seed}) ...`)
const counts = await runCrashes({ rounds, seed, loadMs: [100, 1_500], say: (line) => console.log(line) })
console.log(
  `${counts.kills} kills: ${counts.acknowledged} acknowledged of ${counts.published} published, none lost, none of QoS 2 twice; ` +
    `${counts.inHistory} in the history; repeated at QoS 1: ${counts.repeatedWithDup} with DUP, ${counts.repeatedWithoutDup} without`,
)
