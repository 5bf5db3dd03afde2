/** The applications of a network server that are imported, and where their devices come to. */
import { ActionIcon, Button, Checkbox, Group, Loader, Radio, Select, SimpleGrid, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { useApplications } from '../api/directory.ts'
import { useTheirApplications } from '../api/inventories.ts'
import type { Inventory, InventoryReport } from '../api/inventories.ts'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { choicesFor, emptyRow, faultsOf, withChosen } from './inventory-draft.ts'
import type { ApplicationChoice, ApplicationRow, InventoryDraft, RowFaults } from './inventory-draft.ts'

/** Options that a list shows at once. The rest is found by typing. */
const SHOWN = 50

interface ApplicationChoiceProps {
  readonly inventory: Inventory
  readonly draft: InventoryDraft
  /** The report of the last look; undefined where there was none. */
  readonly report: InventoryReport | undefined
  readonly onChange: (part: Partial<InventoryDraft>) => void
}

/** By ids and names, or one by one. */
export function ApplicationChoiceFields(props: ApplicationChoiceProps): ReactElement {
  const { draft, onChange } = props
  const { applications, createApplications, rows } = draft
  return (
    <>
      <Radio.Group
        label="Applications"
        value={applications}
        onChange={(value) =>
          onChange(
            value === 'CHOSEN'
              ? { applications: 'CHOSEN', rows: rows.length === 0 ? [emptyRow()] : rows }
              : { applications: 'BY_NAME' },
          )
        }
      >
        <Stack gap="xs" mt="xs">
          <Radio value="BY_NAME" label="All, each into the application here with the same id or name" />
          <Radio value="CHOSEN" label="Only chosen ones, each into an application of your choice" />
        </Stack>
      </Radio.Group>
      {applications === 'CHOSEN' ? (
        <ApplicationRows {...props} />
      ) : (
        <Checkbox
          label="Make an application for each that has none here"
          checked={createApplications}
          onChange={(event) => onChange({ createApplications: event.currentTarget.checked })}
        />
      )}
    </>
  )
}

function ApplicationRows({ inventory, draft: { rows }, report, onChange }: ApplicationChoiceProps): ReactElement {
  const { networkServer } = inventory
  const { organization } = useOrganization()
  const theirs = useTheirApplications(inventory, organization.id, true)
  const ours = useApplications(organization.id)
  const change = (key: string, part: Partial<ApplicationRow>): void =>
    onChange({ rows: rows.map((row) => (row.key === key ? { ...row, ...part } : row)) })
  const known = { theirs: theirs.data, ours: ours.data?.result, report }
  const here = ours.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []
  return (
    <Stack gap="lg" align="flex-start">
      <Failure error={theirs.error} onRetry={() => void theirs.refetch()} />
      <Failure error={ours.error} onRetry={() => void ours.refetch()} />
      {theirs.isLoading ? (
        <Group gap="xs" role="status">
          <Loader size="xs" aria-hidden />
          <Text size="sm">Asking {networkServer} for its applications</Text>
        </Group>
      ) : null}
      {rows.length === 0 ? <Text size="sm">No application is chosen.</Text> : null}
      {rows.map((row, index) => (
        <ApplicationRowFields
          key={row.key}
          number={index + 1}
          networkServer={networkServer}
          row={row}
          there={choicesFor(row, rows, theirs.data ?? [])}
          here={withChosen(here, row.ours)}
          faults={faultsOf(row, known)}
          onChange={(part) => change(row.key, part)}
          onRemove={() => onChange({ rows: rows.filter(({ key }) => key !== row.key) })}
        />
      ))}
      <Button
        variant="default"
        size="compact-sm"
        leftSection={<Icon name="plus" />}
        onClick={() => onChange({ rows: [...rows, emptyRow()] })}
      >
        Add an application
      </Button>
    </Stack>
  )
}

interface ApplicationRowProps {
  /** The place of the row in the list, from 1. */
  readonly number: number
  readonly networkServer: string
  readonly row: ApplicationRow
  readonly there: readonly ApplicationChoice[]
  readonly here: readonly ApplicationChoice[]
  readonly faults: RowFaults
  readonly onChange: (part: Partial<ApplicationRow>) => void
  readonly onRemove: () => void
}

function ApplicationRowFields(props: ApplicationRowProps): ReactElement {
  const { number, networkServer, row, there, here, faults, onChange, onRemove } = props
  return (
    <Group gap="xs" wrap="nowrap" align="flex-start" w="100%" role="group" aria-label={`Application ${number}`}>
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="xs" verticalSpacing="xs" flex={1}>
        <Select
          label={`From ${networkServer}`}
          data={there}
          limit={SHOWN}
          value={row.theirs}
          onChange={(theirs) => onChange({ theirs })}
          error={faults.theirs}
          nothingFoundMessage="No other application there has this name"
          allowDeselect={false}
          searchable
        />
        <Select
          label="Into"
          data={here}
          limit={SHOWN}
          value={row.ours}
          onChange={(ours) => onChange({ ours })}
          error={faults.ours}
          nothingFoundMessage="No application here has this name"
          allowDeselect={false}
          searchable
        />
      </SimpleGrid>
      <ActionIcon
        variant="subtle"
        color="gray"
        size="lg"
        mt={24}
        onClick={onRemove}
        aria-label={`Take application ${number} away`}
      >
        <Icon name="trash" />
      </ActionIcon>
    </Group>
  )
}
