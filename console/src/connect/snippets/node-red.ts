/** A flow for Node-RED. */
import { CA_FILE, COMMAND } from '../snippet.ts'
import type { Snippet, SnippetFacts } from '../snippet.ts'

/**
 * A flow with ids of its own, so that the flow of a second token does not replace it when both are
 * imported.
 */
export function nodeRed(facts: SnippetFacts): Snippet {
  const { host, port, token, eventTopic, commandTopic, clientId, authority } = facts
  const tab = { id: `${clientId}-flow`, type: 'tab', label: 'Fieldgate' }
  const tls = {
    id: `${clientId}-tls`,
    type: 'tls-config',
    name: 'Fieldgate',
    // Paths of files. Node-RED 4 reads these members as texts even where there are no files.
    cert: '',
    key: '',
    ca: '',
    caname: authority === undefined ? '' : CA_FILE,
    verifyservercert: true,
    credentials: authority === undefined ? {} : { cadata: authority },
  }
  const broker = {
    id: `${clientId}-broker`,
    type: 'mqtt-broker',
    name: 'Fieldgate',
    broker: host,
    port: String(port),
    tls: tls.id,
    clientid: clientId,
    autoConnect: true,
    usetls: true,
    protocolVersion: '5',
    keepalive: '60',
    cleansession: false,
    sessionExpiry: '86400',
    credentials: { user: token, password: 'default' },
  }
  const debug = {
    id: `${clientId}-debug`,
    z: tab.id,
    type: 'debug',
    name: 'Show',
    active: true,
    tosidebar: true,
    complete: 'payload',
    targetType: 'msg',
    x: 350,
    y: 100,
    wires: [],
  }
  const events = {
    id: `${clientId}-events`,
    z: tab.id,
    type: 'mqtt in',
    name: 'Events',
    topic: eventTopic,
    qos: '1',
    datatype: 'json',
    broker: broker.id,
    x: 160,
    y: 100,
    wires: [[debug.id]],
  }
  const sending = commandTopic === undefined ? [] : nodeRedSending(clientId, commandTopic)
  return {
    id: 'node-red',
    name: 'Node-RED',
    lead: 'Menu, Import, paste, Import; then Deploy. The token and the certificate are in it.',
    blocks: [{ title: 'Flow', text: JSON.stringify([tab, tls, broker, events, debug, ...sending], undefined, 2) }],
  }
}

/** A button that sends a command. */
function nodeRedSending(clientId: string, topic: string): readonly object[] {
  const place = { z: `${clientId}-flow`, y: 180 }
  const send = {
    ...place,
    id: `${clientId}-send`,
    type: 'mqtt out',
    name: 'Send',
    topic,
    qos: '1',
    broker: `${clientId}-broker`,
    x: 350,
    wires: [],
  }
  const command = {
    ...place,
    id: `${clientId}-command`,
    type: 'inject',
    name: 'Command',
    props: [{ p: 'payload' }],
    payload: COMMAND,
    payloadType: 'json',
    topic: '',
    // The button works by hand only. Without these members Node-RED calls the node wrongly
    // configured.
    repeat: '',
    crontab: '',
    once: false,
    onceDelay: 0.1,
    x: 160,
    wires: [[send.id]],
  }
  return [command, send]
}
