/** A page of a list, as every list of the HTTP interface is written. */
export interface Listed<Item> {
  /** The number of items on all pages, in digits. */
  readonly totalCount: string
  readonly result: readonly Item[]
  /** The nodes whose items are not in the list, because they did not answer. */
  readonly missingNodes?: readonly string[]
}
