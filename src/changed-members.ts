/** The changes of a device by an import: the members that differ from what the registry has. */
import { isDeepStrictEqual } from 'node:util'

interface Pairs {
  readonly tags?: Readonly<Record<string, string>>
  readonly variables?: Readonly<Record<string, string>>
}

/**
 * The given members that differ. Tags and variables that are not given stay, so the answer has all
 * of a device's tags when one of them differs.
 */
export function changedMembers<Fields extends Pairs>(given: Partial<Fields>, is: Fields): Partial<Fields> {
  const { tags, variables } = given
  const wanted: Partial<Fields> = {
    ...given,
    ...(tags === undefined ? {} : { tags: { ...is.tags, ...tags } }),
    ...(variables === undefined ? {} : { variables: { ...is.variables, ...variables } }),
  }
  const differ = Object.entries(wanted).filter(([name, value]) => {
    const present: unknown = is[name as keyof Fields]
    return !isDeepStrictEqual(plain(value), plain(present))
  })
  return Object.fromEntries(differ) as Partial<Fields>
}

/** An object whose prototype does not count. */
function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? { ...value } : value
}
