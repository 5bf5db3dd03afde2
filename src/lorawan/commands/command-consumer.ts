/**
 * The consumer of command topics: what integrators publish there is judged, owned by the downlink
 * queue, and answered.
 */
import type { ConsumedMessage, PublishConsumer } from '../../broker/ports/consumer.ts'
import { TAKEN } from '../../broker/ports/consumer.ts'
import type { Decision, Refusal } from '../../broker/ports/policy.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { QoS } from '../../mqtt/packet.ts'
import { hasWildcard } from '../../mqtt/topic-name.ts'
import { parseCommand } from './command.ts'
import type { CommandAnswers, ResponseWanted } from './command-answers.ts'
import type { CommandAnswer, CommandRefused, CommandTarget, Commands } from './commands.ts'
import { parseTopic } from '../topics.ts'

/**
 * The consumer. An accepted command is acknowledged when the durable queue owns it, and routed to
 * nobody: network servers get it from the queue. A refusal is the Reason Code of its
 * acknowledgement; where there is none (MQTT 3.1.1, QoS 0) the error event tells it, and the
 * connection goes on.
 */
export function createCommandConsumer(commands: Commands, answers: CommandAnswers): PublishConsumer {
  return {
    wants: (topicName) => topicName.endsWith('/command/down'),
    // Commands of one device are queued as they came; those of others have nothing to do with them.
    keepsOrder: true,
    consume: (message) => consume(message, commands, answers),
  }
}

async function consume(message: ConsumedMessage, commands: Commands, answers: CommandAnswers): Promise<Decision> {
  const topic = parseTopic(message.topicName)
  if (topic?.kind !== 'command') {
    return refusal(ReasonCodes.topicNameInvalid, 'invalid_command_topic', 'this is not the command topic of a device')
  }
  const wanted = responseWanted(message)
  const answer = message.retain ? RETAINED : await commands.submit(topic, parseCommand(message.payload))
  return decide(topic, answer, message, wanted, answers)
}

/** It would be sent to the device again each time that a network server subscribes. */
const RETAINED: CommandRefused = {
  ok: false,
  id: undefined,
  reasonCode: ReasonCodes.implementationSpecificError,
  code: 'command_retained',
  member: undefined,
  message: 'a command cannot be retained: it would be repeated whenever a network server connects',
}

function decide(
  target: CommandTarget,
  answer: CommandAnswer,
  { sender, qos }: ConsumedMessage,
  wanted: Omit<ResponseWanted, 'qos'> | undefined,
  answers: CommandAnswers,
): Decision {
  const isTold = answer.ok || answers.refused(sender?.tenant ?? '', target, answer)
  if (wanted !== undefined) {
    // What is answered beyond the share of error events is told, and kept for nobody.
    const answerQoS: QoS = isTold && qos > 0 ? 1 : 0
    answers.respond(target, answer, { ...wanted, qos: answerQoS })
  }
  return answer.ok ? TAKEN : refusal(answer.reasonCode, answer.code, answer.message)
}

/**
 * The Response Topic of a message whose sender may itself subscribe to it. Never a topic of this
 * service's own: an answer must not pass for an event or a command.
 */
function responseWanted({ properties, sender }: ConsumedMessage): Omit<ResponseWanted, 'qos'> | undefined {
  const topicName = properties?.responseTopic
  if (topicName === undefined || sender === undefined) return undefined
  // Others than an application's topics, such as notices, may be read by every tenant, each its
  // own: an answer would reach all.
  if (!topicName.startsWith('application/') || parseTopic(topicName) !== undefined) return undefined
  // As a Topic Filter it might be granted for what it matches.
  if (hasWildcard(topicName) || !sender.maySubscribe(topicName)) return undefined
  const correlationData = properties?.correlationData
  // A copy: the packet that it is a view of is gone when the answer is published.
  return { topicName, correlationData: correlationData === undefined ? undefined : Buffer.from(correlationData) }
}

function refusal(reasonCode: number, code: string, reason: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'discard' }
}
