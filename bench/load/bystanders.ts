/** Subscriptions to devices that never send, which topic matching has to pass by. */
import type { Bystanders } from './job.ts'

/** DevEUIs from this one on belong to no device of the benchmark. */
const FIRST_SILENT_DEVICE = 0xffff_0000_0000n

/**
 * The Topic Filters of one bystander: its own devices, with the applications in turn. Half of the
 * filters spell out the kind of event, the others have `+` in its place.
 */
export function bystanderTopicFilters(
  { subscriptionsEach, applicationIds }: Pick<Bystanders, 'subscriptionsEach' | 'applicationIds'>,
  connection: number,
): string[] {
  return Array.from({ length: subscriptionsEach }, (_, index) => {
    const number = connection * subscriptionsEach + index
    const devEui = (FIRST_SILENT_DEVICE + BigInt(number)).toString(16).padStart(16, '0')
    const application = applicationIds[number % applicationIds.length]
    return `application/${application}/device/${devEui}/event/${number % 2 === 0 ? 'up' : '+'}`
  })
}
