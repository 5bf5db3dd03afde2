/**
 * The process of a bad neighbour: takes the profile's beginning from its parent and never stops by
 * itself.
 */
import { setPriority } from 'node:os'
import { HttpsClient } from '../support/https-client.ts'
import type { Beginning } from './bad-neighbour.ts'
import { PROFILES, rest } from './profiles.ts'

/**
 * Behind the process that measures: on a small machine the attack must not take the processor from
 * the witness.
 */
const NICENESS = 10

process.on('message', (beginning: Beginning) => {
  const profile = PROFILES.find(({ name }) => name === beginning.profile)
  if (profile === undefined) throw new Error(`there is no profile "${beginning.profile}"`)
  setPriority(NICENESS)
  const http = new HttpsClient(beginning.https, beginning.ca)
  void Promise.all([profile.attack({ ...beginning, http }), rest()])
})
// The parent is gone.
process.on('disconnect', () => process.exit(0))
