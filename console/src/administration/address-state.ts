/** The state of a list in the address of the page, behind the question mark. */
import { useCallback, useMemo } from 'react'
import { useSearchParams } from 'wouter'

/** Values in the address, by their names. */
export interface AddressState {
  /** Answers a value; "" where the address does not have the name. */
  readonly get: (name: string) => string
  /** Writes values into the address; "" takes a name out. The browser's history stays as long. */
  readonly set: (values: Readonly<Record<string, string>>) => void
}

/**
 * Gives the values of the page's address. The way back to the page leads to the same values, and
 * the address can be handed on.
 */
export function useAddressState(): AddressState {
  const [searchParams, setSearchParams] = useSearchParams()
  const set = useCallback<AddressState['set']>(
    (values) =>
      setSearchParams(
        (before) => {
          const after = new URLSearchParams(before)
          for (const [name, value] of Object.entries(values)) {
            if (value === '') after.delete(name)
            else after.set(name, value)
          }
          return after
        },
        { replace: true },
      ),
    [setSearchParams],
  )
  return useMemo(() => ({ get: (name) => searchParams.get(name) ?? '', set }), [searchParams, set])
}
