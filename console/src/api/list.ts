/** A page of a list, as every list of the HTTP interface is written. */
export interface Listed<Item> {
  /** Of all items, as digits. */
  readonly totalCount: string
  readonly result: readonly Item[]
}
