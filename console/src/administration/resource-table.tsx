/**
 * A list of the administration: search, pages, what to do when it is empty, and one row for each
 * thing.
 */
import { Button, Group, Pagination, ScrollArea, Skeleton, Table, TextInput, VisuallyHidden } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement, ReactNode } from 'react'
import type { Listed } from '../api/list.ts'
import { request } from '../api/request.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'

interface Column<Item> {
  readonly title: string
  readonly cell: (item: Item) => ReactNode
  /** Left out where the screen is narrow. */
  readonly isExtra?: boolean
}

interface ResourceTableProps<Item> {
  /** `/api/users`; also the key in the cache. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly columns: readonly Column<Item>[]
  readonly keyOf: (item: Item) => string
  /** At the end of the row. */
  readonly actions?: (item: Item) => ReactNode
  readonly empty: ReactNode
  /** What the search looks into: `Search by name`. */
  readonly searchLabel: string
  /** Searches that are offered. */
  readonly shortcuts?: readonly { readonly label: string; readonly value: string }[]
  /** What the list is of, where a page has more than one. */
  readonly label?: string
  /** Beside the search. */
  readonly filters?: ReactNode
  /** Asked anew that often, where things change by themselves. */
  readonly refreshMs?: number
}

const PAGE_SIZE = 25

/** The list; `path` may be invalidated as a key when something in it has changed. */
export function ResourceTable<Item>(props: ResourceTableProps<Item>): ReactElement {
  const { path, query, columns, keyOf, actions, empty, searchLabel, shortcuts = [], filters, refreshMs } = props
  const { label = 'List' } = props
  const [typed, setTyped] = useState('')
  const [search] = useDebouncedValue(typed.trim(), 250)
  const [page, setPage] = useState(1)
  const asked = { ...query, search, limit: PAGE_SIZE, offset: (page - 1) * PAGE_SIZE }
  const list = useQuery({
    queryKey: [path, asked],
    queryFn: ({ signal }) => request<Listed<Item>>('GET', path, { query: asked, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: refreshMs ?? false,
  })
  const look = (text: string): void => {
    setTyped(text)
    setPage(1)
  }
  const total = Number(list.data?.totalCount ?? 0)
  const items = list.data?.result ?? []
  return (
    <>
      <Group gap="sm">
        <TextInput
          aria-label={searchLabel}
          w={{ base: '100%', xs: 300 }}
          placeholder={searchLabel}
          leftSection={<Icon name="search" />}
          value={typed}
          onChange={(event) => look(event.currentTarget.value)}
        />
        {filters}
      </Group>
      {shortcuts.length === 0 ? null : (
        <Group gap={6}>
          {shortcuts.map(({ label: shortcut, value }) => (
            <Button
              key={value}
              size="compact-sm"
              radius="xl"
              fw={500}
              variant={typed === value ? 'light' : 'default'}
              aria-pressed={typed === value}
              onClick={() => look(typed === value ? '' : value)}
            >
              {shortcut}
            </Button>
          ))}
        </Group>
      )}
      <Failure error={list.error} onRetry={() => void list.refetch()} />
      <Panel flush>
        {list.isLoading ? <Skeleton h={240} m="lg" /> : null}
        {list.data !== undefined && items.length === 0 ? empty : null}
        {items.length === 0 ? null : (
          <ScrollArea type="auto" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}>
            <Table miw={{ base: 0, sm: 600 }} verticalSpacing="sm" horizontalSpacing="lg">
              <Table.Thead>
                <Table.Tr>
                  {columns.map(({ title, isExtra }) => (
                    <Table.Th key={title} {...(isExtra === true ? { visibleFrom: 'sm' } : {})}>
                      {title}
                    </Table.Th>
                  ))}
                  {actions === undefined ? null : (
                    <Table.Th>
                      <VisuallyHidden>Actions</VisuallyHidden>
                    </Table.Th>
                  )}
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {items.map((item) => (
                  <Table.Tr key={keyOf(item)}>
                    {columns.map(({ title, cell, isExtra }) => (
                      <Table.Td key={title} {...(isExtra === true ? { visibleFrom: 'sm' } : {})}>
                        {cell(item)}
                      </Table.Td>
                    ))}
                    {actions === undefined ? null : (
                      <Table.Td>
                        <Group gap={2} justify="flex-end" wrap="nowrap">
                          {actions(item)}
                        </Group>
                      </Table.Td>
                    )}
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          </ScrollArea>
        )}
      </Panel>
      {total > PAGE_SIZE ? (
        <Group justify="center">
          <Pagination
            total={Math.ceil(total / PAGE_SIZE)}
            value={page}
            onChange={setPage}
            getControlProps={(control) => ({ 'aria-label': `${control} page` })}
          />
        </Group>
      ) : null}
    </>
  )
}
