/** The command lines of mosquitto_sub and mosquitto_pub. */
import { CA_FILE, COMMAND, quoted } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/** Command lines for mosquitto. */
export function mosquitto(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId } = facts
  const broker = `-h ${host} -p ${port} ${facts.authority === undefined ? '--capath /etc/ssl/certs' : `--cafile ${CA_FILE}`}`
  const access = `-V mqttv5 -u ${quoted(token)} -P default`
  const watch = `mosquitto_sub ${broker} ${access} -i ${clientId} -q 1 -t ${quoted(eventTopic)} -F '%t %p'`
  const send = (topic: string): string =>
    `mosquitto_pub ${broker} ${access} -q 1 -t ${quoted(topic)} -m ${quoted(COMMAND)}`
  return {
    id: 'mosquitto',
    name: 'mosquitto',
    lead: 'On Debian and Ubuntu the two programs are in the package mosquitto-clients.',
    blocks: [
      { title: 'Watch events', text: watch },
      ...(commandTopic === undefined ? [] : [{ title: 'Send a command', text: send(commandTopic) }]),
    ],
  }
}
