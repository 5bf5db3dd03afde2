/** Subscriptions to devices that never send: what topic matching has to pass by. */
import type { Bystanders } from './job.ts'

/** DevEUIs from here on belong to no device of the benchmark. */
const FIRST_SILENT_DEVICE = 0xffff_0000_0000n

/**
 * The Topic Filters of one of those connections: devices of its own, the applications in turn, one
 * half with the kind of event spelled out and one half with `+` in its place.
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
