/**
 * Programs to paste. Each connects with the token, prints the events and, for one device, shows how
 * to send a command.
 */
import type { Snippet, SnippetFacts } from './snippet.ts'
import { go } from './snippets/go.ts'
import { homeAssistant } from './snippets/home-assistant.ts'
import { mosquitto } from './snippets/mosquitto.ts'
import { mqttJs } from './snippets/mqtt-js.ts'
import { mqttx } from './snippets/mqttx.ts'
import { nodeRed } from './snippets/node-red.ts'
import { python } from './snippets/python.ts'

/** All snippets, in the order in which they are offered. */
export function snippetsFor(facts: SnippetFacts): readonly Snippet[] {
  return [mosquitto(facts), mqttJs(facts), python(facts), go(facts), nodeRed(facts), mqttx(facts), homeAssistant(facts)]
}
