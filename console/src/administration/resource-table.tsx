/**
 * The one list of the console: search, filters, pages, a text for the empty list, and one row for
 * each item.
 */
import { Button, Group, Pagination, ScrollArea, Skeleton, Table, TextInput, VisuallyHidden } from '@mantine/core'
import type { ReactElement, ReactNode } from 'react'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { MissingNodes } from '../shell/missing-nodes.tsx'
import { Panel } from '../shell/panel.tsx'
import { useResourceList } from './resource-list.ts'
import type { ResourceList, ResourceListOptions } from './resource-list.ts'

interface Column<Item> {
  readonly title: string
  readonly cell: (item: Item) => ReactNode
  /** The column is left out on narrower screens. */
  readonly visibleFrom?: 'xs' | 'sm'
  /**
   * The width of the column, in pixels or percent. When one column has a width, the columns keep
   * their places from page to page, and those without a width share the rest.
   */
  readonly width?: number | string | { readonly base: number; readonly sm: number }
  /** Numbers stand at the right. */
  readonly isNumber?: boolean
}

interface ListViewProps<Item> {
  readonly list: ResourceList<Item>
  readonly columns: readonly Column<Item>[]
  readonly keyOf: (item: Item) => string
  /** The actions at the end of the row. */
  readonly actions?: (item: Item) => ReactNode
  readonly empty: ReactNode
  /** Says what the search looks into: `Search by name`. */
  readonly searchLabel: string
  /** Searches that are offered. */
  readonly shortcuts?: readonly Shortcut[]
  /** The name of the list, where a page has more than one. */
  readonly label?: string
  /** Controls beside the search. */
  readonly filters?: ReactNode
}

interface Shortcut {
  readonly label: string
  readonly value: string
}

type ResourceTableProps<Item> = ResourceListOptions & Omit<ListViewProps<Item>, 'list'>

/** A list of the HTTP interface. */
export function ResourceTable<Item>(props: ResourceTableProps<Item>): ReactElement {
  const { path, query, name, refreshMs, ...view } = props
  const list = useResourceList<Item>({ path, query, name, refreshMs })
  return <ListView<Item> list={list} {...view} />
}

/** The list that `useResourceList` answers, for a page that shows more of it than the table. */
export function ListView<Item>(props: ListViewProps<Item>): ReactElement {
  const { list, empty, searchLabel, shortcuts = [], filters, label = 'List' } = props
  const { answer, items, total, typed, type, page, lastPage, turnTo } = list
  return (
    <>
      <Group gap="sm">
        <TextInput
          aria-label={searchLabel}
          w={{ base: '100%', xs: 300 }}
          placeholder={searchLabel}
          leftSection={<Icon name="search" />}
          value={typed}
          onChange={(event) => type(event.currentTarget.value)}
        />
        {filters}
      </Group>
      {shortcuts.length === 0 ? null : <Shortcuts shortcuts={shortcuts} typed={typed} onChoose={type} />}
      <Failure error={answer.error} onRetry={() => void answer.refetch()} />
      <MissingNodes names={answer.data?.missingNodes ?? []} />
      <Panel flush>
        {answer.isLoading ? <Skeleton h={240} m="lg" /> : null}
        {answer.data !== undefined && total === 0 ? empty : null}
        {items.length === 0 ? null : (
          <ScrollArea type="auto" viewportProps={{ tabIndex: 0, role: 'region', 'aria-label': label }}>
            <Rows items={items} columns={props.columns} keyOf={props.keyOf} actions={props.actions} />
          </ScrollArea>
        )}
      </Panel>
      {lastPage > 1 ? (
        <Group justify="center">
          <Pagination
            total={lastPage}
            value={page}
            onChange={turnTo}
            getControlProps={(control) => ({ 'aria-label': `${control} page` })}
          />
        </Group>
      ) : null}
    </>
  )
}

interface ShortcutsProps {
  readonly shortcuts: readonly Shortcut[]
  readonly typed: string
  readonly onChoose: (search: string) => void
}

function Shortcuts({ shortcuts, typed, onChoose }: ShortcutsProps): ReactElement {
  return (
    <Group gap={6}>
      {shortcuts.map(({ label, value }) => (
        <Button
          key={value}
          size="compact-sm"
          radius="xl"
          fw={500}
          variant={typed === value ? 'light' : 'default'}
          aria-pressed={typed === value}
          onClick={() => onChoose(typed === value ? '' : value)}
        >
          {label}
        </Button>
      ))}
    </Group>
  )
}

interface RowsProps<Item> extends Pick<ListViewProps<Item>, 'columns' | 'keyOf'> {
  readonly items: readonly Item[]
  readonly actions: ((item: Item) => ReactNode) | undefined
}

function Rows<Item>({ items, columns, keyOf, actions }: RowsProps<Item>): ReactElement {
  const isFixed = columns.some(({ width }) => width !== undefined)
  return (
    <Table
      miw={{ base: 0, sm: isFixed ? 680 : 600 }}
      verticalSpacing="sm"
      horizontalSpacing="lg"
      highlightOnHover
      {...(isFixed ? { layout: 'fixed' } : {})}
    >
      <Table.Thead>
        <Table.Tr>
          {columns.map((column) => (
            <Table.Th key={column.title} {...styleOf(column)} {...widthOf(column)}>
              {column.title}
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
            {columns.map((column) => (
              <Table.Td key={column.title} {...styleOf(column)}>
                {column.cell(item)}
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
  )
}

function styleOf({ visibleFrom, isNumber = false }: Pick<Column<never>, 'visibleFrom' | 'isNumber'>) {
  return {
    ...(visibleFrom === undefined ? {} : { visibleFrom }),
    ...(isNumber ? { ta: 'right' as const, className: 'numbers' } : {}),
  }
}

function widthOf({ width }: Pick<Column<never>, 'width'>) {
  return width === undefined ? {} : { w: width }
}
