/**
 * The reasons why a command waits: stable codes, and a sentence with the details. docs/commands.md
 * has a row for each code.
 */

/** All reasons for which a command may wait. */
export const WAIT_CODES = [
  'handing_over',
  'behind_command',
  'awaits_word',
  'paced',
  'device_disabled',
  'network_server_never_connected',
  'network_server_away',
  'network_server_not_subscribed',
  'network_server_busy',
  'organization_busy',
  'next_uplink',
  'device_never_heard',
  'receive_window_closed',
  'device_acknowledgement',
] as const

export type WaitCode = (typeof WAIT_CODES)[number]

/** Why a command waits now. */
export interface CommandWait {
  readonly code: WaitCode
  readonly reason: string
}

/** The codes of a network server's answer `away`. */
export type AwayCode = Extract<WaitCode, `network_server_${string}` | 'device_disabled'>

/**
 * When a network server was last connected: now, until this time (ms since 1970), or undefined for
 * never.
 */
export type Presence = 'connected' | number | undefined

/**
 * The receive windows of class A open 1 to 15 s after an uplink, and close within seconds (LoRaWAN
 * L2 1.0.4 §3.3). An uplink so soon after the hand-over came too early for the command, or its word
 * is still on the way.
 */
const WINDOWS_MS = 20_000

const REASONS = {
  handing_over: 'it is being handed to the network server',
  paced: 'the network server has just taken another command of the device; the next one follows within a second',
  organization_busy: 'the network server has many commands of the organization that it has not acknowledged yet',
  next_uplink: 'the network server has it; a device of class A hears it after its next uplink',
  device_acknowledgement: 'a gateway has sent it; the device has not acknowledged it yet',
} as const satisfies Partial<Record<WaitCode, string>>

/**
 * A network server's answer `away`, in words for the sender of the command. An answer without a
 * code is for the operator alone: its reason may name addresses.
 */
export function waitForNetworkServer({
  code,
  reason,
}: {
  readonly code?: AwayCode
  readonly reason: string
}): CommandWait {
  return code === undefined ? UNREACHABLE : { code, reason }
}

const UNREACHABLE: CommandWait = {
  code: 'network_server_away',
  reason: 'the network server can’t be reached or does not answer; it is asked again',
}

/** A reason whose sentence has no details. */
export function plainWait(code: keyof typeof REASONS): CommandWait {
  return { code, reason: REASONS[code] }
}

/** The command waits behind another waiting command of its device. */
export function waitBehind(commandId: string): CommandWait {
  return { code: 'behind_command', reason: `the command "${commandId}" of the device goes first` }
}

/** The network server takes one command of a device at a time. */
export function waitForWord(commandId: string | undefined): CommandWait {
  const before = commandId === undefined ? 'the command before it' : `the command "${commandId}" before it`
  return { code: 'awaits_word', reason: `the network server has not told yet what became of ${before}` }
}

/** The times between which a command waits for its device, ms since 1970. */
export interface DeviceTimes {
  /** When the network server took the command. */
  readonly takenAtMs: number
  /** When the device was last heard; `null` for never. */
  readonly lastSeenAtMs: number | null
}

/**
 * A wait for the next uplink, with the device's own past: it was never heard, or not since, or its
 * receive window was used for something else. Other waits stay as they are.
 */
export function waitWithDevice(
  wait: CommandWait | undefined,
  { takenAtMs, lastSeenAtMs }: DeviceTimes,
): CommandWait | undefined {
  if (wait?.code !== 'next_uplink') return wait
  if (lastSeenAtMs === null) {
    return {
      code: 'device_never_heard',
      reason: `${REASONS.next_uplink}, and this device has never been heard`,
    }
  }
  const heard = new Date(lastSeenAtMs).toISOString()
  if (lastSeenAtMs - takenAtMs < WINDOWS_MS) {
    return { code: 'next_uplink', reason: `${REASONS.next_uplink}; its last one came at ${heard}` }
  }
  return {
    code: 'receive_window_closed',
    reason:
      `the device was heard at ${heard}, its receive windows are closed, and the network server has not told that the ` +
      'command was sent; it may go after the next uplink',
  }
}

/**
 * No network server subscribes to commands. `whose` names the one that should, such as "the
 * organization’s network server".
 */
export function nobodyReads(whose: string, presence: Presence): { readonly code: AwayCode; readonly reason: string } {
  if (presence === undefined) {
    return { code: 'network_server_never_connected', reason: `${whose} has not connected yet` }
  }
  if (presence === 'connected') {
    return {
      code: 'network_server_not_subscribed',
      reason: `${whose} is connected, and does not subscribe to the command`,
    }
  }
  const since = new Date(presence).toISOString()
  return { code: 'network_server_away', reason: `${whose} has been away since ${since}` }
}
