/** Command lines of MQTTX. */
import { CA_FILE, COMMAND, quoted } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/** Command lines for MQTTX. */
export function mqttx(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority } = facts
  const broker = `-h ${host} -p ${port} -l mqtts ${authority === undefined ? '' : `--ca ${CA_FILE} `}-V 5`
  const access = `-u ${quoted(token)} -P default`
  return {
    id: 'mqttx',
    name: 'MQTTX',
    lead: 'For the command line client of MQTTX; its window takes the same values.',
    blocks: [
      { title: 'Watch events', text: `mqttx sub ${broker} ${access} -i ${clientId} -q 1 -t ${quoted(eventTopic)}` },
      ...(commandTopic === undefined
        ? []
        : [
            {
              title: 'Send a command',
              text: `mqttx pub ${broker} ${access} -i ${clientId}-sender -q 1 -t ${quoted(commandTopic)} -m ${quoted(COMMAND)}`,
            },
          ]),
    ],
  }
}
