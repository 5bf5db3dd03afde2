// Writes each event to PostgreSQL exactly once. The position is in the same database, so the
// program may run in a container without a disk. DATABASE_URL names the database; with TimescaleDB
// `events` may be a hypertable on `received_at`.
import { connect } from '@fieldgate/sdk'
import type { Position, PositionStore } from '@fieldgate/sdk'
import { Pool } from 'pg'

const pool = new Pool({ connectionString: process.env['DATABASE_URL'] })
await pool.query(`
  create table if not exists events (
    id text primary key, received_at timestamptz not null default now(),
    application_id text not null, dev_eui text not null, kind text not null, body jsonb not null
  );
  create table if not exists positions (session text, topic_filter text, position jsonb, primary key (session, topic_filter));
`)

class PostgresqlPositionStore implements PositionStore {
  readonly #session: string

  constructor(session: string) {
    this.#session = session
  }

  async load(): Promise<readonly Position[]> {
    const { rows } = await pool.query('select position from positions where session = $1', [this.#session])
    return rows.map(({ position }) => position as Position)
  }

  async save(position: Position): Promise<void> {
    await pool.query(
      `insert into positions values ($1, $2, $3)
       on conflict (session, topic_filter) do update set position = excluded.position`,
      [this.#session, position.topicFilter, JSON.stringify(position)],
    )
  }

  async remove(topicFilter: string): Promise<void> {
    await pool.query('delete from positions where session = $1 and topic_filter = $2', [this.#session, topicFilter])
  }
}

const session = 'to-postgresql'
await using fieldgate = await connect()
const events = fieldgate.events({ session, store: new PostgresqlPositionStore(session), from: 'oldest' })
for await (const event of events) {
  if (event.kind === 'unreadable') continue
  const { id, applicationId, devEui, kind, body } = event
  // A process that dies between the two statements gets the event again. Its id shows that.
  await pool.query(
    `insert into events (id, application_id, dev_eui, kind, body) values ($1, $2, $3, $4, $5)
     on conflict (id) do nothing`,
    [id, applicationId, devEui, kind, JSON.stringify(body)],
  )
}
