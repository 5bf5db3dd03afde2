/** Commands while their network server and their senders are on several nodes. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ClusterNode } from '../cluster-node.ts'
import { CommandSender } from '../command-clients.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'

const FROM_EACH = 8
const SEND_MS = 50
const PATIENCE_MS = 30_000
const MOVES = 3
/** A command has long arrived before the next one, so that few wait when a node dies. */
const SEND_SLOWLY_MS = 500
/** The home has read an acknowledgement by then, and has tried to write the record, ms. */
const READ_MS = 200

export const COMMANDS: readonly Scenario[] = [
  { number: 26, title: 'commands for one device by all nodes at once', nodes: 1, run: oneDevice },
  {
    number: 27,
    title: 'kill -9 of the home of a command queue between hand-over and its record',
    nodes: 2,
    run: killBetween,
  },
  { number: 28, title: 'the network server reconnects on another node', nodes: 1, run: moveNetworkServer },
]

/** The account of the load finds two in flight, lost ones, and the order of each sender. */
async function oneDevice(stage: Stage): Promise<void> {
  const { deployment, load, nodes } = stage
  const { commands } = load
  const topicNames = [`${deployment.place.ownTopics}device/${await deployment.newDevice()}/command/down`]
  const senders = nodes.map(
    (_, home) =>
      new CommandSender({
        name: stage.unique('scene-sender'),
        version: 5,
        login: deployment.place.integrator,
        home,
        nodes,
        topicNames,
        account: commands,
        intervalMs: SEND_MS,
      }),
  )
  const running = senders.map((sender) => sender.run())
  for (const sender of senders) sender.begin()
  const isDone = (): boolean => senders.every(({ accepted, refused }) => accepted + refused >= FROM_EACH)
  stage.must((await until(isDone, PATIENCE_MS)) < Infinity, 'a sender of commands gets no answers')
  for (const sender of senders) sender.cease()
  await allArrive(stage, senders)
  for (const sender of senders) sender.stop()
  await Promise.all(running)
}

async function moveNetworkServer(stage: Stage): Promise<void> {
  const { commands, clients } = stage.load
  for (let move = 0; move < MOVES; move += 1) {
    const before = commands.arrived
    clients.networkServer.goTo(stage.anyPlace())
    const tookMs = await until(() => commands.arrived > before + 1, PATIENCE_MS)
    stage.bar('until the next commands came to the network server', tookMs, 5_000)
  }
}

/** The moments: before the network server acknowledges a command, and before that is recorded. */
async function killBetween(stage: Stage): Promise<void> {
  const place = stage.anyPlace()
  await killAt(stage, place, 'came')
  await stage.node(place).start()
  await killAt(stage, place + 1, 'acknowledged')
}

/**
 * Kills the home of a queue when its network server gets a command, or when the home has the
 * acknowledgement and could not tell the servers of NATS of it.
 */
async function killAt(stage: Stage, place: number, moment: 'came' | 'acknowledged'): Promise<void> {
  const { load } = stage
  const home = stage.node(place)
  const { devEui, sender, running } = await openQueue(stage, place)
  let [times, isCut, hasDied] = [0, false, false]
  const { promise: died, resolve } = Promise.withResolvers<undefined>()
  const die = async (): Promise<void> => {
    if (moment === 'acknowledged') await sleep(READ_MS)
    await home.kill()
    resolve(undefined)
  }
  load.clients.networkServer.watch = (of, now) => {
    if (of !== devEui) return
    if (now === 'came') times += 1
    // Nothing of the home comes to the servers from here on.
    if (now === 'came' && !isCut) {
      home.cut('nats', 'silent')
      isCut = true
    }
    // An earlier command may be acknowledged only now.
    if (now !== moment || hasDied || !isCut) return
    stage.note(`the network server is at ${load.clients.networkServer.node?.name}, and the home is ${home.name}`)
    hasDied = true
    void die()
  }
  try {
    sender.begin()
    await until(() => hasDied, PATIENCE_MS)
    sender.cease()
    await died
    home.mend()
    const offeredMs = await until(() => times > 1, PATIENCE_MS)
    const words = moment === 'came' ? 'was not acknowledged' : 'was acknowledged, and not recorded,'
    stage.bar(`until the command that ${words} was offered again`, offeredMs, PATIENCE_MS)
    await allArrive(stage, [sender])
    const before = times
    sender.begin()
    stage.bar('until the queue went on', await until(() => times > before, PATIENCE_MS), PATIENCE_MS)
    sender.cease()
    await fateOfAll(stage, devEui)
  } finally {
    load.clients.networkServer.watch = undefined
    sender.stop()
    await running
  }
}

/** A queue of a fresh application, whose first command has made the node its home. */
async function openQueue(stage: Stage, place: number) {
  const { deployment, load, nodes } = stage
  const home = stage.node(place)
  const administration = deployment.administration()
  const applicationId = await administration.application(deployment.place.organizationId)
  const devEui = await administration.device(applicationId)
  const sender = new CommandSender({
    name: stage.unique('scene-sender'),
    version: 5,
    login: deployment.place.integrator,
    home: place % nodes.length,
    nodes,
    topicNames: [`application/${applicationId}/device/${devEui}/command/down`],
    account: load.commands,
    intervalMs: SEND_SLOWLY_MS,
  })
  // Elsewhere, the node of the network server would remember the acknowledgement.
  const { networkServer } = load.clients
  if (networkServer.node !== home) networkServer.goTo(place % nodes.length)
  const hasMoved = (await until(() => networkServer.node === home, PATIENCE_MS)) < Infinity
  stage.must(hasMoved, `the network server does not come to ${home.name}`)
  const running = sender.run()
  sender.begin()
  const isOpen = (): boolean => sender.accepted > 0 && sender.node === home
  stage.must((await until(isOpen, PATIENCE_MS)) < Infinity, `${home.name} takes no commands`)
  sender.cease()
  const { owed } = load.commands
  await until(() => !load.commands.areOwed(owed), PATIENCE_MS)
  return { devEui, sender, running }
}

/**
 * Waits for all commands of these senders, and for what the load owes then. The load goes on: some
 * command is nearly always on its way.
 */
async function allArrive(stage: Stage, senders: readonly CommandSender[]): Promise<void> {
  const { commands } = stage.load
  const answeredMs = await until(() => senders.every(({ unanswered }) => unanswered === 0), PATIENCE_MS)
  const { owed } = commands
  const arrivedMs = await until(() => !commands.areOwed(owed), PATIENCE_MS)
  stage.bar('until the network server had all commands', answeredMs + arrivedMs, PATIENCE_MS)
}

/** Each command of the device has left the queue of each node, with a fate. */
async function fateOfAll(stage: Stage, devEui: string): Promise<void> {
  const { nodes, load } = stage
  const states = async (node: ClusterNode): Promise<readonly string[]> => {
    const { deviceQueueItems } = await node.http.must('GET', `/api/devices/${devEui}/queue`, {
      token: node.adminSession,
    })
    return (deviceQueueItems as readonly { readonly state: string }[]).map(({ state }) => state)
  }
  const node = nodes.find(({ isRunning }) => isRunning) ?? nodes[0]
  const { owed } = load.commands
  let found: readonly string[] = []
  const haveLeft = async (): Promise<boolean> => {
    if (node !== undefined) found = await states(node)
    return found.length > 0 && !found.includes('queued') && !load.commands.areOwed(owed)
  }
  const haveLeftMs = await until(haveLeft, PATIENCE_MS)
  stage.note(`the commands stand at ${found.join(', ')}`)
  stage.must(haveLeftMs < Infinity, `the commands of ${devEui} stand at ${found.join(', ')}`)
}
