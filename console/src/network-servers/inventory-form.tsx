/** Looks at an inventory, imports it, and keeps the organization in step with it. */
import { Button, Group, Select, Stack } from '@mantine/core'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { DEVICE_PROFILES_PATH } from '../api/device-profiles.ts'
import { DEVICES_PATH } from '../api/directory.ts'
import { importInventory, INVENTORIES_PATH, keepInStep } from '../api/inventories.ts'
import type { Inventory, InventoryImport, InventoryStep, ProfileMode } from '../api/inventories.ts'
import { PairsInput } from '../devices/pairs-input.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { ApplicationChoiceFields } from './application-choice.tsx'
import { EVERY_HOUR, typedInterval } from './interval.ts'
import { draftOf, settingsOf } from './inventory-draft.ts'
import type { InventoryDraft } from './inventory-draft.ts'
import { InventoryReportView } from './inventory-report.tsx'
import { StepFields } from './step-fields.tsx'
import type { StepDraft } from './step-fields.tsx'

const PROFILE_CHOICES: readonly { readonly value: ProfileMode; readonly label: string }[] = [
  { value: 'IMPORT', label: 'Make device profiles, with their codecs' },
  { value: 'BY_NAME', label: 'Use the device profiles here that have the same names' },
  { value: 'NONE', label: 'Import no device profiles' },
]

interface InventoryFormProps {
  readonly inventory: Inventory
  readonly onClose: () => void
}

/**
 * The form. It begins with the settings of the step. Settings are taken by an import, and by a
 * step, once they were looked at.
 */
export function InventoryForm({ inventory, onClose }: InventoryFormProps): ReactElement {
  const { step } = inventory
  const [draft, setDraft] = useState(() => draftOf(step))
  const [stepDraft, setStepDraft] = useState(() => stepDraftOf(step))
  const [isOfStep, setIsOfStep] = useState(step !== null)
  const settings = settingsOf(draft, inventory)
  const { run, keep } = useImports(inventory, settings, onClose)
  const change = (part: Partial<InventoryDraft>): void => {
    setDraft((before) => ({ ...before, ...part }))
    setIsOfStep(false)
    run.reset()
  }
  const hasLooked = run.data !== undefined
  const isBusy = run.isPending || keep.isPending
  const isComplete = settings !== undefined
  return (
    <Stack>
      <ApplicationChoiceFields inventory={inventory} draft={draft} report={run.data} onChange={change} />
      <Select
        label="Device profiles"
        data={PROFILE_CHOICES}
        value={draft.profiles}
        onChange={(profiles) => change({ profiles: profiles ?? 'IMPORT' })}
        allowDeselect={false}
      />
      <PairsInput
        label="Tags"
        description="All devices of the import get them."
        one="tag"
        pairs={draft.tags}
        onChange={(tags) => change({ tags })}
      />
      <Failure error={run.error ?? keep.error} />
      {run.data === undefined ? null : <InventoryReportView report={run.data} />}
      {hasLooked || step !== null ? (
        <StepFields
          draft={stepDraft}
          onChange={(part) => setStepDraft((before) => ({ ...before, ...part }))}
          isReady={isComplete && !isBusy && (hasLooked || isOfStep)}
          isPending={keep.isPending}
          onKeep={(intervalSeconds) => keep.mutate({ intervalSeconds, removeMissing: stepDraft.removeMissing })}
        />
      ) : null}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
        <Button
          variant={hasLooked ? 'light' : 'filled'}
          onClick={() => run.mutate(true)}
          loading={run.isPending}
          disabled={!isComplete || isBusy}
        >
          Look
        </Button>
        {hasLooked ? (
          <Button onClick={() => run.mutate(false)} disabled={!isComplete || isBusy}>
            Import
          </Button>
        ) : null}
      </Group>
    </Stack>
  )
}

function stepDraftOf(step: InventoryStep | null): StepDraft {
  const interval = step === null ? EVERY_HOUR : typedInterval(step.intervalSeconds)
  return { interval, removeMissing: step?.removeMissing ?? false }
}

/** The requests of the form. `run` takes whether it only looks. */
function useImports({ networkServer }: Inventory, settings: InventoryImport | undefined, onKept: () => void) {
  const { organization } = useOrganization()
  const refresh = useRefresh()
  const whole = (): InventoryImport => {
    if (settings === undefined) throw new Error('The settings are not complete.')
    return settings
  }
  const run = useMutation({
    mutationFn: (dryRun: boolean) => importInventory(networkServer, organization.id, { dryRun, settings: whole() }),
    onSuccess: async (report) => {
      if (!report.dryRun) await refresh()
    },
  })
  const keep = useMutation({
    mutationFn: (wish: Pick<InventoryStep, 'intervalSeconds' | 'removeMissing'>) =>
      keepInStep(networkServer, organization.id, { ...whole(), ...wish }),
    onSuccess: async () => {
      onKept()
      await refresh()
    },
  })
  return { run, keep }
}

/** Returns a function that asks again for everything that an import may have changed. */
function useRefresh(): () => Promise<unknown> {
  const queryClient = useQueryClient()
  // Applications have one key for their page, and one for selections.
  const keys = [INVENTORIES_PATH, DEVICES_PATH, DEVICE_PROFILES_PATH, '/api/applications', 'applications']
  return () => Promise.all(keys.map((key) => queryClient.invalidateQueries({ queryKey: [key] })))
}
