/** Looks at an inventory, imports it, and keeps the organization in step with it. */
import { Button, Checkbox, Group, Select, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICE_PROFILES_PATH } from '../api/device-profiles.ts'
import { DEVICES_PATH } from '../api/directory.ts'
import { importInventory, INVENTORIES_PATH, keepInStep } from '../api/inventories.ts'
import type { Inventory, ProfileMode } from '../api/inventories.ts'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { InventoryReportView } from './inventory-report.tsx'

const PROFILE_CHOICES: readonly { readonly value: ProfileMode; readonly label: string }[] = [
  { value: 'IMPORT', label: 'Make device profiles, with their codecs' },
  { value: 'BY_NAME', label: 'Use the device profiles here that have the same names' },
  { value: 'NONE', label: 'Import no device profiles' },
]
const INTERVAL_SECONDS = 3600

interface InventoryFormProps {
  readonly inventory: Inventory
  readonly onClose: () => void
}

/** The form. An import is offered once it was looked at. */
export function InventoryForm({ inventory, onClose }: InventoryFormProps): ReactElement {
  const { networkServer, ofDeployment } = inventory
  const { organization } = useOrganization()
  const refresh = useRefresh()
  const [createApplications, setCreateApplications] = useState(true)
  const [profiles, setProfiles] = useState<ProfileMode>('IMPORT')
  const settings = { createApplications, profiles, ofDeployment }
  const run = useMutation({
    mutationFn: (dryRun: boolean) => importInventory(networkServer, organization.id, { dryRun, settings }),
    onSuccess: async (report) => {
      if (!report.dryRun) await refresh()
    },
  })
  const step = useMutation({
    mutationFn: () => keepInStep(networkServer, organization.id, { ...settings, intervalSeconds: INTERVAL_SECONDS }),
    onSuccess: async () => {
      onClose()
      await refresh()
    },
  })
  const hasLooked = run.data !== undefined
  const isBusy = run.isPending || step.isPending
  return (
    <Stack>
      <Checkbox
        label="Make an application for each that has none here"
        checked={createApplications}
        onChange={(event) => {
          setCreateApplications(event.currentTarget.checked)
          run.reset()
        }}
      />
      <Select
        label="Device profiles"
        data={PROFILE_CHOICES}
        value={profiles}
        onChange={(value) => {
          setProfiles(PROFILE_CHOICES.find((choice) => choice.value === value)?.value ?? 'IMPORT')
          run.reset()
        }}
        allowDeselect={false}
      />
      <Failure error={run.error ?? step.error} />
      {run.data === undefined ? null : <InventoryReportView report={run.data} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        {hasLooked ? (
          <Button variant="light" onClick={() => step.mutate()} loading={step.isPending} disabled={isBusy}>
            Keep in step every hour
          </Button>
        ) : null}
        <Button variant={hasLooked ? 'light' : 'filled'} onClick={() => run.mutate(true)} loading={run.isPending}>
          Look
        </Button>
        {hasLooked ? (
          <Button onClick={() => run.mutate(false)} disabled={isBusy}>
            Import
          </Button>
        ) : null}
      </Group>
    </Stack>
  )
}

/** Returns a function that asks again for everything that an import may have changed. */
function useRefresh(): () => Promise<unknown> {
  const queryClient = useQueryClient()
  const keys = [INVENTORIES_PATH, DEVICES_PATH, DEVICE_PROFILES_PATH, '/api/applications']
  return () => Promise.all(keys.map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
}
