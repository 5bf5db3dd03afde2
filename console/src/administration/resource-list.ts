/** A list of the HTTP interface: its search and its page in the address, and the page's items. */
import { useDebouncedCallback } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import type { UseQueryResult } from '@tanstack/react-query'
import { useCallback, useEffect, useState } from 'react'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { useAddressState } from './address-state.ts'

/** A list of the HTTP interface, and where its state is kept. */
export interface ResourceListOptions {
  /** `/api/users`; also the first member of the key in the cache. */
  readonly path: string
  /** Filters of the page. */
  readonly query?: Readonly<Record<string, string>> | undefined
  /** Tells the state of this list in the address apart, where a page has a second list. */
  readonly name?: string | undefined
  /** The list is asked for again this often, where things change by themselves. */
  readonly refreshMs?: number | undefined
}

/** A page of a list, and how to reach another one. */
export interface ResourceList<Item> {
  readonly answer: UseQueryResult<Listed<Item>>
  readonly items: readonly Item[]
  /** The number of items on all pages. */
  readonly total: number
  readonly isSearching: boolean
  /** The text in the search field. */
  readonly typed: string
  /** Takes a new text into the search field, and searches for it when the typing rests. */
  readonly type: (text: string) => void
  /** From 1. */
  readonly page: number
  readonly lastPage: number
  readonly turnTo: (page: number) => void
}

/** The name of the page's number in the address. A filter takes it out when it changes. */
export const PAGE = 'page'

const PAGE_SIZE = 25

/** The pause in the typing after which the search begins. */
const TYPING_MS = 150

/** The list. `path` may be invalidated as a key when something in the list has changed. */
export function useResourceList<Item>({ path, query, name, refreshMs }: ResourceListOptions): ResourceList<Item> {
  const names = { search: prefixed('search', name), page: prefixed(PAGE, name) }
  const { get, set } = useAddressState()
  const search = get(names.search)
  const page = pageIn(get(names.page))
  const asked = { ...query, search: search.trim(), limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }
  const answer = useQuery({
    queryKey: [path, asked],
    queryFn: ({ signal }) => request<Listed<Item>>('GET', path, { query: asked, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs ?? false,
  })
  const [typed, type] = useTyped(search, (text) => set({ [names.search]: text, [names.page]: '' }))
  const turnTo = useCallback(
    (turned: number): void => set({ [names.page]: turned === 1 ? '' : String(turned) }),
    [set, names.page],
  )
  const total = Number(answer.data?.totalCount ?? 0)
  const lastPage = Math.max(1, Math.ceil(total / PAGE_SIZE))
  // A page that does not exist any more, because its items were deleted: the last one takes its
  // place.
  const isBeyond = answer.isSuccess && !answer.isPlaceholderData && page > lastPage
  useEffect(() => {
    if (isBeyond) turnTo(lastPage)
  }, [isBeyond, turnTo, lastPage])
  const items = answer.data?.result ?? []
  return { answer, items, total, isSearching: search.trim() !== '', typed, type, page, lastPage, turnTo }
}

function prefixed(word: string, name: string | undefined): string {
  return name === undefined ? word : `${name}-${word}`
}

/** The page that an address names. Anybody can write an address, so a wrong number is page 1. */
function pageIn(text: string): number {
  const number = Number(text)
  return Number.isSafeInteger(number) && number > 0 ? number : 1
}

/**
 * Answers the text of the search field: the search of the address, or what is being typed. `onRest`
 * is called when the typing rests.
 */
function useTyped(search: string, onRest: (text: string) => void): readonly [string, (text: string) => void] {
  const [typed, setTyped] = useState<string>()
  const rest = useDebouncedCallback((text: string) => {
    setTyped(undefined)
    onRest(text)
  }, TYPING_MS)
  const type = (text: string): void => {
    setTyped(text)
    rest(text)
  }
  return [typed ?? search, type]
}
