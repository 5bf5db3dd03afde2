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
