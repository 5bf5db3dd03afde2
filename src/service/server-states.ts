/** The servers of NATS and the registry's PostgreSQL, as the status shows them. */
import type { NatsServerState } from '../engine/nats/server-states.ts'
import type { ServerStatus } from '../http/operation/server-status.ts'
import type { DatabaseState } from '../identity/postgres/database-state.ts'

/** How long the servers are asked: a person waits. */
const ASK_MS = 1_500

/** The questions to the servers; absent where a deployment has none of the kind. */
export interface ServerQuestions {
  readonly nats?: (() => Promise<readonly NatsServerState[]>) | undefined
  readonly database?: (() => Promise<DatabaseState>) | undefined
}

/** Asks the servers. The names of servers that do not answer are those of the last answer. */
export function createServerStates({ nats, database }: ServerQuestions): () => Promise<readonly ServerStatus[]> {
  let namesOfNats: readonly string[] = ['NATS']
  let nameOfDatabase = 'PostgreSQL'

  async function ofNats(): Promise<readonly ServerStatus[]> {
    if (nats === undefined) return []
    try {
      const states = await inTime(nats())
      if (states.length > 0) namesOfNats = states.map(({ name }) => name)
      return states.length > 0 ? states.map(natsStatus) : [SINGLE_NATS]
    } catch {
      const reason = 'a majority of the servers of NATS does not answer'
      return namesOfNats.map((name) => ({ kind: 'nats', name, isWell: false, role: '', lag: '', reason }))
    }
  }

  async function ofDatabase(): Promise<readonly ServerStatus[]> {
    if (database === undefined) return []
    try {
      const state = await inTime(database())
      nameOfDatabase = state.name
      return [databaseStatus(state)]
    } catch {
      const reason = 'PostgreSQL does not answer, or does not write'
      return [{ kind: 'postgresql', name: nameOfDatabase, isWell: false, role: '', lag: '', reason }]
    }
  }

  return async () => (await Promise.all([ofNats(), ofDatabase()])).flat()
}

const SINGLE_NATS: ServerStatus = {
  kind: 'nats',
  name: 'NATS',
  isWell: true,
  role: 'the only server: nobody has a copy',
  lag: '',
  reason: '',
}

function natsStatus({ name, leads, copies, lag, isBehind, isOffline }: NatsServerState): ServerStatus {
  const reason = isOffline
    ? 'the other servers do not reach it'
    : isBehind
      ? 'its copies do not follow: it is slow, or down'
      : ''
  const role = `leads ${leads} of ${copies} streams`
  return { kind: 'nats', name, isWell: reason === '', role, lag: `${lag} operations`, reason }
}

function databaseStatus({ name, version, answerMs, standbys, lagBytes }: DatabaseState): ServerStatus {
  const followers = standbys === 0 ? '' : `, ${standbys} ${standbys === 1 ? 'standby' : 'standbys'}`
  const role = `writes${followers}, PostgreSQL ${version}, answers in ${Math.max(1, Math.round(answerMs))} ms`
  const lag =
    standbys === 0 ? 'no standby' : lagBytes === undefined ? '' : `${Math.max(0, Math.round(lagBytes / 1024))} KiB`
  return { kind: 'postgresql', name, isWell: true, role, lag, reason: '' }
}

async function inTime<Answer>(asked: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer in time')), ASK_MS)
  })
  return await Promise.race([asked, late]).finally(() => clearTimeout(timer))
}
