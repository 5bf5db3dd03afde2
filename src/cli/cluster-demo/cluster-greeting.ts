/** The greeting of a demonstration of several nodes. */
import type { DemoNode } from './demo-node.ts'
import type { DemoProcess } from './demo-process.ts'

export interface ClusterFacts {
  readonly nodes: readonly DemoNode[]
  /** All processes: servers, nodes and the simulator are not among them. */
  readonly processes: readonly DemoProcess[]
  readonly folder: string
  readonly userName: string
  readonly password: string
  /** The topic of the load. */
  readonly topicName: string
  readonly token: string
}

/** The text of the greeting, for standard output. */
export function clusterGreeting(facts: ClusterFacts): string {
  const { nodes, processes, folder, userName, password, topicName, token } = facts
  const [first] = nodes
  const [last] = nodes.slice(-1)
  const addresses = nodes.map(
    ({ name, https, mqttsPort, caFile }) => `  ${name.padEnd(10)} ${https}   localhost:${mqttsPort}   ${caFile}`,
  )
  const kills = processes.map(({ name, pid }) => `  ${name.padEnd(10)} kill -9 ${pid}`)
  return `
${nodes.length} nodes of Fieldgate are running. Ctrl-C ends them, and removes their data.

  node       console, API             MQTT over TLS    CA certificate
${addresses.join('\n')}

  Log in as  ${userName} ${password}
             admin ${password}
  Data, logs ${folder}

Each line ends one process, as a crash does. Nothing starts it again:

${kills.join('\n')}

\`kill -STOP\` pauses a process, and \`kill -CONT\` lets it go on. Two of three servers of NATS must live.

Watch the events of the load at ${last?.name}, and kill ${first?.name} meanwhile:

mosquitto_sub -h localhost -p ${last?.mqttsPort} --cafile ${last?.caFile} -u ${token} -P default -q 1 -t '${topicName}' -F '%t %p'

`
}
