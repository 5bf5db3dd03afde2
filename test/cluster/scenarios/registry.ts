/** The registry of several nodes: PostgreSQL that fails, keys, logins, and first starts. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpsClient } from '../../support/https-client.ts'
import { textIn } from '../../support/https-client.ts'
import { ADMIN_PASSWORD } from '../../support/running-service.ts'
import { Cluster } from '../cluster.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { until } from '../until.ts'

const LONGEST_MS = 60_000
const BEFORE = 60
const WRONG_PASSWORDS = 20
/** Changes that are answered before PostgreSQL fails, and the time between two attempts, ms. */
const CHANGES_BEFORE = 10
const CHANGE_AGAIN_MS = 100

export const REGISTRY: readonly Scenario[] = [
  { number: 25, title: 'PostgreSQL restarts, and is killed', nodes: 1, run: losePostgreSql },
  { number: 25.1, title: 'PostgreSQL: a standby is promoted', nodes: 1, run: promoteStandby },
  { number: 30, title: 'the history of a device by each node', nodes: 1, run: sameHistory },
  { number: 31, title: 'rotation of the signing key on A', nodes: 1, run: rotateKey },
  { number: 32, title: `${WRONG_PASSWORDS} wrong passwords over all nodes`, nodes: 1, run: wrongPasswords },
  { number: 33, title: 'all nodes start at once on an empty registry', nodes: 1, run: startAtOnce },
]

async function losePostgreSql(stage: Stage): Promise<void> {
  const { cluster, deployment, load } = stage
  const { part } = cluster.primary
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    await load.acknowledges(BEFORE, LONGEST_MS)
    const answered = await deployment.administration(stage.any(stage.nodes)).organization()
    load.resetGaps()
    await part.kill(signal)
    await load.acknowledges(BEFORE, LONGEST_MS)
    await part.start()
    const isChanged = async (): Promise<boolean> => {
      const changes = stage.nodes.map((node) => deployment.administration(node).organization())
      return (await Promise.allSettled(changes)).every(({ status }) => status === 'fulfilled')
    }
    stage.bar(`until all nodes changed the registry again after ${signal}`, await until(isChanged, LONGEST_MS), 30_000)
    stage.bar('publishing gap without PostgreSQL', load.longestGapMs(), 1_000)
    for (const node of stage.nodes) {
      const { status } = await node.http.ask('GET', `/api/organizations/${answered}`, { token: node.adminSession })
      stage.must(status === 200, `${node.name} does not know an organization that was made before ${signal}`)
    }
  }
}

/** Organizations that were made while PostgreSQL failed, and whose answers came. */
class Changes {
  readonly answered: string[] = []
  readonly #running: Promise<void>
  #isOver = false

  constructor(stage: Stage) {
    this.#running = this.#run(stage)
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#running
  }

  async #run({ deployment, nodes }: Stage): Promise<void> {
    for (let number = 0; !this.#isOver; number += 1) {
      const node = nodes[number % nodes.length]
      try {
        this.answered.push(await deployment.administration(node).organization())
      } catch {
        await sleep(CHANGE_AGAIN_MS)
      }
    }
  }
}

async function promoteStandby(stage: Stage): Promise<void> {
  const { cluster, deployment, load } = stage
  await cluster.startStandby()
  const changes = new Changes(stage)
  await until(() => changes.answered.length >= CHANGES_BEFORE, LONGEST_MS)
  load.resetGaps()
  await cluster.losePrimary()
  await load.acknowledges(BEFORE, LONGEST_MS)
  const before = changes.answered.length
  cluster.promoteStandby()
  const isChanged = async (): Promise<boolean> => {
    const answers = stage.nodes.map((node) => deployment.administration(node).organization())
    return (await Promise.allSettled(answers)).every(({ status }) => status === 'fulfilled')
  }
  stage.bar(
    'until all nodes changed the registry again after the promotion',
    await until(isChanged, LONGEST_MS),
    30_000,
  )
  await load.acknowledges(BEFORE, LONGEST_MS)
  stage.bar('publishing gap around the promotion', load.longestGapMs(), 1_000)
  await changes.stop()
  stage.must(changes.answered.length > before, 'no change was answered after the promotion')
  for (const node of stage.nodes) {
    stage.must(node.isRunning, `${node.name} has ended`)
    for (const organizationId of changes.answered) {
      const { status } = await node.http.ask('GET', `/api/organizations/${organizationId}`, {
        token: node.adminSession,
      })
      stage.must(status === 200, `${node.name} has lost the organization ${organizationId}, which was answered`)
    }
  }
}

async function sameHistory(stage: Stage): Promise<void> {
  const [topic = ''] = stage.deployment.place.eventTopics
  const [, , , devEui] = topic.split('/')
  await stage.load.quietly(async () => {
    const pages = await Promise.all(
      stage.nodes.map((node) =>
        node.http.must('GET', `/api/devices/${devEui}/events?limit=100`, { token: node.adminSession }),
      ),
    )
    const texts = new Set(pages.map(({ result }) => JSON.stringify(result)))
    stage.must(texts.size === 1 && !texts.has('[]'), 'the nodes tell different histories, or none')
  })
}

async function rotateKey(stage: Stage): Promise<void> {
  const { deployment } = stage
  const administration = deployment.administration(stage.any(stage.nodes))
  const organizationId = await administration.organization()
  const { session } = await administration.person([{ organizationId }])
  const before = await administration.brokerToken(session, organizationId)
  await administration.must('POST', '/api/internal/keys/rotate')
  const after = await administration.brokerToken(session, organizationId)
  for (const node of stage.nodes) {
    for (const username of [before, after]) {
      const clientId = stage.unique('scene-token')
      const login = { username, password: 'default' }
      await stage.connect(node, { clientId, login }).catch((error: unknown) => {
        stage.must(false, `a token of ${username === before ? 'before' : 'after'} the rotation: ${String(error)}`)
      })
    }
  }
}

/** The guesses that are answered before the user is held back are as many as on one node. */
async function wrongPasswords(stage: Stage): Promise<void> {
  const guesses = async (httpOf: (attempt: number) => HttpsClient): Promise<number> => {
    const administration = stage.deployment.administration()
    const { userName: username } = await administration.person([])
    let wrong = 0
    for (let attempt = 0; attempt < WRONG_PASSWORDS; attempt += 1) {
      const json = { username, password: `wrong ${attempt}` }
      const { status } = await httpOf(attempt).ask('POST', '/api/internal/login', { json })
      if (status === 401) wrong += 1
    }
    return wrong
  }
  const onOne = await guesses(() => stage.node(0).http)
  const onAll = await guesses((attempt) => stage.node(attempt).http)
  stage.bar(`guesses over all nodes, where one node allows ${onOne}`, onAll, onOne, 'guesses')
  stage.must(onOne < WRONG_PASSWORDS, 'no node holds back who guesses passwords')
}

async function startAtOnce(stage: Stage): Promise<void> {
  await using cluster = await Cluster.open(stage.nodes.length)
  // Each start logs in as the admin.
  await Promise.all(cluster.nodes.map((node) => node.start()))
  const [first] = cluster.nodes
  if (first === undefined) return
  const { result } = await first.http.must('GET', '/api/users?limit=10', { token: first.adminSession })
  stage.must(Array.isArray(result) && result.length === 1, `the first starts made ${JSON.stringify(result)}`)
  for (const node of cluster.nodes) {
    const { status } = await node.http.ask('GET', '/api/organizations?limit=1', { token: first.adminSession })
    stage.must(status === 200, `${node.name} does not take the session of ${first.name}: ${status}`)
    const json = { username: 'admin', password: ADMIN_PASSWORD }
    textIn(await node.http.must('POST', '/api/internal/login', { json }), 'jwt')
  }
}
