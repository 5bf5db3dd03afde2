/**
 * The consumer of command topics: judges the commands that integrators publish, has the downlink
 * queue own them, and answers them.
 */
import type { ConsumedMessage, PublishConsumer } from '../../broker/ports/consumer.ts'
import { TAKEN } from '../../broker/ports/consumer.ts'
import type { Decision, Refusal } from '../../broker/ports/policy.ts'
import { ReasonCodes } from '../../mqtt/reason-codes.ts'
import type { QoS } from '../../mqtt/packet.ts'
import { hasWildcard } from '../../mqtt/topic-name.ts'
import { parseCommand } from './command.ts'
import type { CommandAnswers, ResponseWanted } from './command-answers.ts'
import type { CommandAnswer, CommandRefused, CommandTarget } from './commands.ts'
import type { DeviceCommands } from './device-commands.ts'
import { parseTopic } from '../topics.ts'

/**
 * Makes the consumer. An accepted command is acknowledged when the durable queue owns it, and is
 * routed to nobody: network servers get it from the queue. A refusal goes into the Reason Code of
 * the acknowledgement. Where there is no Reason Code (MQTT 3.1.1, QoS 0), the error event reports
 * the refusal and the connection goes on.
 */
export function createCommandConsumer(
  commands: Pick<DeviceCommands, 'submit'>,
  answers: CommandAnswers,
): PublishConsumer {
  return {
    wants: (topicName) => topicName.endsWith('/command/down'),
    // The commands of one device are queued in the order in which they came; other devices'
    // commands are independent.
    keepsOrder: true,
    consume: (message) => consume(message, commands, answers),
  }
}

async function consume(
  message: ConsumedMessage,
  commands: Pick<DeviceCommands, 'submit'>,
  answers: CommandAnswers,
): Promise<Decision> {
  const topic = parseTopic(message.topicName)
  if (topic?.kind !== 'command') {
    return refusal(ReasonCodes.topicNameInvalid, 'invalid_command_topic', 'this is not the command topic of a device')
  }
  const wanted = responseWanted(message)
  const answer = message.retain ? RETAINED : await commands.submit(topic, parseCommand(message.payload))
  return decide(topic, answer, message, wanted, answers)
}

/** A retained command would be sent to the device again whenever a network server subscribes. */
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
    // Beyond the organization's share of error events, the answer goes out at QoS 0 and is not
    // stored.
    const answerQoS: QoS = isTold && qos > 0 ? 1 : 0
    answers.respond(target, answer, { ...wanted, qos: answerQoS })
  }
  return answer.ok ? TAKEN : refusal(answer.reasonCode, answer.code, answer.message)
}

/**
 * The Response Topic of a message, if its sender may subscribe to it. It is never a topic of this
 * service: an answer must not pass for an event or a command.
 */
function responseWanted({ properties, sender }: ConsumedMessage): Omit<ResponseWanted, 'qos'> | undefined {
  const topicName = properties?.responseTopic
  if (topicName === undefined || sender === undefined) return undefined
  // Topics that do not belong to an application, such as notices, have one name for all tenants: an
  // answer there would reach all of them.
  if (!topicName.startsWith('application/') || parseTopic(topicName) !== undefined) return undefined
  // A Topic Filter might be granted for the topics that it matches.
  if (hasWildcard(topicName) || !sender.maySubscribe(topicName)) return undefined
  const correlationData = properties?.correlationData
  // A copy, because the packet's memory is reused before the answer is published.
  return { topicName, correlationData: correlationData === undefined ? undefined : Buffer.from(correlationData) }
}

function refusal(reasonCode: number, code: string, reason: string): Refusal {
  return { allowed: false, reasonCode, reason, code, untold: 'discard' }
}
