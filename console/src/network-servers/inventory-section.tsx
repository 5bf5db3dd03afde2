/** The inventories of network servers that the organization may import. */
import { Badge, Button, Group, Stack, Text, Title } from '@mantine/core'
import type { ReactElement } from 'react'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { INVENTORIES_PATH, useInventories } from '../api/inventories.ts'
import type { Inventory, InventoryStep } from '../api/inventories.ts'
import { Dialog, useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Panel } from '../shell/panel.tsx'
import { When } from '../shell/when.tsx'
import { everyText } from './interval.ts'
import { InventoryForm } from './inventory-form.tsx'
import { sentenceOfReport } from './inventory-report.tsx'

/** The section of the page; nothing where there is no inventory. */
export function InventorySection(): ReactElement | null {
  const { organization } = useOrganization()
  const inventories = useInventories(organization.id)
  const importing = useDialog<Inventory>()
  const ending = useDialog<Removal>()
  if (inventories.data?.result.length === 0 || inventories.isLoading) return null
  return (
    <Stack mt="xl" gap="sm">
      <div>
        <Title order={2} fz="lg">
          Inventory
        </Title>
        <Text size="sm" c="dimmed" maw={640}>
          Applications, devices and device profiles with their codecs come in by the API of a network server. Look
          first: nothing is written then.
        </Text>
      </div>
      <Failure error={inventories.error} onRetry={() => void inventories.refetch()} />
      {inventories.data?.result.map((inventory) => (
        <InventoryRow
          key={inventory.networkServer}
          inventory={inventory}
          onImport={() => importing.open(inventory)}
          onEnd={() => {
            const { networkServer: name } = inventory
            const path = `${INVENTORIES_PATH}/${encodeURIComponent(name)}/step?organizationID=${organization.id}`
            ending.open({ path, name: `the step with ${name}` })
          }}
        />
      ))}
      <Dialog title={`Import from ${importing.subject?.networkServer ?? ''}`} state={importing}>
        {importing.subject === undefined ? null : (
          <InventoryForm inventory={importing.subject} onClose={importing.close} />
        )}
      </Dialog>
      <RemoveDialog state={ending} verb="Remove" changes={[INVENTORIES_PATH]}>
        Devices, device profiles and applications that were imported stay. They follow the network server no longer.
      </RemoveDialog>
    </Stack>
  )
}

interface InventoryRowProps {
  readonly inventory: Inventory
  readonly onImport: () => void
  readonly onEnd: () => void
}

function InventoryRow({ inventory, onImport, onEnd }: InventoryRowProps): ReactElement {
  const { networkServer, kind, ofDeployment, step } = inventory
  return (
    <Panel>
      <Group justify="space-between" align="flex-start">
        <Stack gap={4}>
          <Group gap="xs">
            <Text size="sm" fw={500} className="breakable">
              {networkServer}
            </Text>
            <Badge variant="light" tt="none">
              {ofDeployment ? `${kind}, of the whole deployment` : kind}
            </Badge>
          </Group>
          <Text size="sm" c="dimmed">
            {step === null ? 'Imported on wish.' : <LastRun step={step} />}
          </Text>
        </Stack>
        <Group gap="xs">
          {step === null ? null : (
            <Button variant="default" onClick={onEnd} aria-label={`End the step with ${networkServer}`}>
              End the step
            </Button>
          )}
          <Button variant="light" onClick={onImport} aria-label={`Import from ${networkServer}`}>
            Import
          </Button>
        </Group>
      </Group>
    </Panel>
  )
}

function LastRun({ step }: { readonly step: InventoryStep }): ReactElement {
  const { intervalSeconds, lastRunAt, lastCode, lastMessage, lastReport } = step
  const every = `Kept in step ${everyText(intervalSeconds)}.`
  if (lastRunAt === null) return <>{every} The first import is about to run.</>
  return (
    <>
      {every} Last import: <When at={lastRunAt} />.{' '}
      {lastCode === '' && lastReport !== null ? sentenceOfReport(lastReport) : `It failed: ${lastMessage}.`}
    </>
  )
}
