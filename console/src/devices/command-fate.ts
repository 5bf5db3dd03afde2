/** What became of commands: the broker's verdict, and the device's events that answer them. */
import type { PublishAnswer } from '../broker/broker-connection.ts'
import type { LiveEvent } from '../broker/live-event.ts'

/** A command that this page sent. */
export interface SentCommand {
  /** A UUID, carried in the command. */
  readonly id: string
  readonly sentAtMs: number
  readonly isConfirmed: boolean
  readonly answer: PublishAnswer
  /** The command in a line. */
  readonly shown: string
}

/** One thing that happened to a command. */
export interface FateStep {
  readonly atMs: number
  readonly text: string
  readonly isFault: boolean
}

/** A command with its story so far. */
export interface CommandFate {
  readonly command: SentCommand
  readonly steps: readonly FateStep[]
  /** Whether more is to come. */
  readonly isOpen: boolean
}

/** MQTT 5.0 §2.4: a Reason Code from here on is a refusal. */
const FIRST_REFUSAL = 0x80

/**
 * The commands with their stories, newest first. Events name their command where the network server carries its id; where it does
 * not, a device's downlinks keep their order, so its next one is the oldest command that is still open.
 */
export function fatesOf(commands: readonly SentCommand[], events: readonly LiveEvent[]): readonly CommandFate[] {
  const stories = commands.map((command) => ({
    command,
    steps: firstSteps(command),
    state: firstState(command),
    fCnt: -1,
  }))
  for (const event of events) {
    const id = idOf(event)
    const candidates = stories.filter(
      ({ command, state }) => state !== 'closed' && command.sentAtMs <= event.receivedAtMs,
    )
    const named = id === undefined ? undefined : candidates.find(({ command }) => command.id === id)
    if (event.kind === 'txack') {
      const story = named ?? (id === undefined ? candidates.find(({ state }) => state === 'waiting') : undefined)
      if (story === undefined) continue
      story.steps.push(stepOf(event, 'A gateway sent it to the device.', false))
      story.fCnt = event.fCnt ?? -1
      story.state = story.command.isConfirmed ? 'sent' : 'closed'
    } else if (event.kind === 'ack') {
      const story =
        named ?? candidates.find(({ state, fCnt }) => state === 'sent' && (fCnt === -1 || fCnt === event.fCnt))
      if (story === undefined) continue
      const text = event.isFault ? 'The device did not acknowledge it.' : 'The device acknowledged it.'
      story.steps.push(stepOf(event, text, event.isFault))
      story.state = 'closed'
    } else if (event.isFault && named !== undefined) {
      named.steps.push(stepOf(event, event.summary, true))
      named.state = 'closed'
    }
  }
  return stories.map(({ command, steps, state }) => ({ command, steps, isOpen: state !== 'closed' })).toReversed()
}

function firstSteps({ answer, sentAtMs }: SentCommand): FateStep[] {
  const { reasonCode, reasonString } = answer
  if (reasonCode < FIRST_REFUSAL) return [{ atMs: sentAtMs, text: 'The broker accepted it.', isFault: false }]
  const code = `0x${reasonCode.toString(16)}`
  const text = `Refused (${code}): ${reasonString ?? 'the broker gave no reason'}`
  return [{ atMs: sentAtMs, text, isFault: true }]
}

function firstState({ answer }: SentCommand): 'waiting' | 'sent' | 'closed' {
  return answer.reasonCode < FIRST_REFUSAL ? 'waiting' : 'closed'
}

function stepOf(event: LiveEvent, text: string, isFault: boolean): FateStep {
  return { atMs: event.receivedAtMs, text, isFault }
}

/** The command that an event names, under any of the names that network servers use. */
function idOf({ text }: LiveEvent): string | undefined {
  return /"(?:commandId|commandID|queueItemId|queueItemID)"\s*:\s*"([^"]{1,64})"/.exec(text)?.[1]
}
