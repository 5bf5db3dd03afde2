/** How each list of the registry is searched, counted and cut into pages. */
import { sql } from 'kysely'
import type { RawBuilder, SelectQueryBuilder } from 'kysely'
import { boundedPage } from './result.ts'
import type { Listed, Page, Viewer } from './result.ts'
import type { Schema } from './schema.ts'
import { contains, parseId, parseSearch } from './text-rules.ts'

type Query<Tables extends keyof Schema, Row> = SelectQueryBuilder<Schema, Tables, Row>

/** The part of the rows in its scope that a list shows, and their form. */
interface Shape<Tables extends keyof Schema, Row, Item> {
  /**
   * The column that a search looks into, already in one case; undefined for a list without search.
   */
  readonly searched: string | undefined
  /** Selects the columns, and sorts. */
  readonly sorted: (rows: Query<Tables, object>) => Query<Tables, Row>
  readonly itemOf: (row: Row) => Item
}

/** One page of the rows of `scope`, and the number of all rows that match the search. */
export async function listPage<Tables extends keyof Schema, Row, Item>(
  scope: Query<Tables, object>,
  page: Page,
  { searched, sorted, itemOf }: Shape<Tables, Row, Item>,
): Promise<Listed<Item>> {
  const search = searched === undefined ? undefined : parseSearch(page.search)
  if (search === null) return { totalCount: 0, items: [] }
  const matching =
    search === undefined || searched === undefined ? scope : scope.where(contains(sql.ref<string>(searched), search))
  const { limit, offset } = boundedPage(page)
  const { count } = await matching
    .clearSelect()
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  const rows = await sorted(matching).limit(limit).offset(offset).execute()
  return { totalCount: count, items: rows.map((row) => itemOf(row as Row)) }
}

/**
 * The ids of the organizations of which the viewer is a member, as a part of a query; for an API
 * key, its organization.
 */
export function organizationsOf({ userId, apiKey }: Viewer): RawBuilder<number> {
  if (apiKey === undefined) {
    return sql<number>`(select organization_id from members where user_id = ${parseId(userId) ?? 0})`
  }
  return sql<number>`(select id from organizations where id = ${parseId(apiKey.organizationId ?? '') ?? 0})`
}
