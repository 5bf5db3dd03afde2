/** The rules that register unknown devices by themselves. */
import { Button, Group, Stack, Text, TextInput, Title } from '@mantine/core'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { ResourceTable } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { DEVICES_PATH, useApplications } from '../api/directory.ts'
import { createRegistrationRule, REGISTRATION_RULES_PATH, UNKNOWN_DEVICES_PATH } from '../api/unknown-devices.ts'
import type { RegistrationRule, RuleCondition } from '../api/unknown-devices.ts'
import { Blank } from '../shell/blank.tsx'
import { Dialog, DialogForm, useDialog } from '../shell/dialog.tsx'
import type { DialogView } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { emptyDraft, NewDeviceFields, useChosenApplication, valuesOf } from './new-device-fields.tsx'

interface RulesPanelProps {
  /** True: rules made here are for the network servers of the whole deployment. */
  readonly isOfDeployment: boolean
}

/** The section of the page. */
export function RulesPanel({ isOfDeployment }: RulesPanelProps): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const creating = useDialog()
  const removing = useDialog<Removal>()
  const nameOf = new Map(applications.data?.result.map(({ id, name }) => [id, name]))
  const removalOf = (rule: RegistrationRule): Removal => ({
    path: `${REGISTRATION_RULES_PATH}/${rule.id}?organizationID=${organization.id}`,
    name: `the rule ${conditionsOf(rule)}`,
  })
  return (
    <Stack mt="xl">
      <Group justify="space-between" align="flex-start">
        <div>
          <Title order={2} fz="lg">
            Registration rules
          </Title>
          <Text size="sm" c="dimmed" maw={640}>
            A rule registers devices as soon as they send. The oldest rule that a device meets is used.
          </Text>
        </div>
        <Button variant="default" leftSection={<Icon name="plus" />} onClick={() => creating.open()}>
          New rule
        </Button>
      </Group>
      <ResourceTable<RegistrationRule>
        path={REGISTRATION_RULES_PATH}
        query={{ organizationID: organization.id }}
        name="rules"
        label="Registration rules"
        searchLabel="Search in the rules"
        keyOf={({ id }) => id}
        columns={[
          {
            title: 'Devices',
            cell: (rule) => (
              <Text size="sm" className="breakable">
                {conditionsOf(rule)}
              </Text>
            ),
          },
          { title: 'Application', cell: ({ applicationID }) => nameOf.get(applicationID) ?? applicationID },
        ]}
        actions={(rule) => (
          <RowAction
            icon="trash"
            label={`Delete the rule ${conditionsOf(rule)}`}
            isDangerous
            onClick={() => removing.open(removalOf(rule))}
          />
        )}
        empty={<Blank icon="list" title="No rule" text="Unknown devices wait until somebody registers them." />}
      />
      <RuleDialog state={creating} isOfDeployment={isOfDeployment} />
      <RemoveDialog state={removing} verb="Delete" changes={[REGISTRATION_RULES_PATH]}>
        Devices that it has registered stay.
      </RemoveDialog>
    </Stack>
  )
}

/** The devices that a rule means, in words. */
function conditionsOf(rule: RegistrationRule): string {
  const application = rule.networkServerApplicationName || rule.networkServerApplicationID
  const conditions = [
    rule.networkServer === '' ? '' : `from ${rule.networkServer}`,
    application === '' ? '' : `of application “${application}”`,
    rule.networkServerProfileName === '' ? '' : `with profile “${rule.networkServerProfileName}”`,
    rule.devEUIPrefix === '' ? '' : `with DevEUI ${rule.devEUIPrefix}…`,
    rule.ofDeployment ? 'of the deployment’s network servers' : '',
  ].filter((condition) => condition !== '')
  return conditions.length === 0 ? 'all devices' : `devices ${conditions.join(', ')}`
}

interface RuleDialogProps extends RulesPanelProps {
  readonly state: DialogView<void>
}

function RuleDialog({ state, isOfDeployment }: RuleDialogProps): ReactElement {
  return (
    <Dialog title="New registration rule" state={state}>
      <RuleForm isOfDeployment={isOfDeployment} onClose={state.close} />
    </Dialog>
  )
}

const NO_CONDITIONS: Readonly<Record<RuleCondition, string>> = {
  networkServerApplicationName: '',
  networkServerProfileName: '',
  devEUIPrefix: '',
}

const CONDITION_LABELS: Readonly<Record<RuleCondition, string>> = {
  networkServerApplicationName: 'Application at the network server',
  networkServerProfileName: 'Device profile at the network server',
  devEUIPrefix: 'DevEUI begins with',
}

function RuleForm({ isOfDeployment, onClose }: RulesPanelProps & { readonly onClose: () => void }): ReactElement {
  const [typed, setTyped] = useState(() => emptyDraft())
  const [conditions, setConditions] = useState(NO_CONDITIONS)
  const draft = useChosenApplication(typed)
  const create = (): Promise<unknown> =>
    createRegistrationRule({ ...valuesOf(draft, draft.applicationId ?? '', isOfDeployment), ...conditions })
  return (
    <DialogForm
      submitLabel="Create"
      isComplete={draft.applicationId !== undefined}
      changes={[REGISTRATION_RULES_PATH, UNKNOWN_DEVICES_PATH, DEVICES_PATH]}
      onSubmit={create}
      onClose={onClose}
    >
      <Text size="sm">
        A rule means the devices that meet all conditions. An empty condition lets all pass. Devices that wait already
        are registered at once.
      </Text>
      {Object.entries(CONDITION_LABELS).map(([condition, label], index) => (
        <TextInput
          key={condition}
          label={label}
          value={conditions[condition as RuleCondition]}
          onChange={(event) => setConditions({ ...conditions, [condition]: event.currentTarget.value.trim() })}
          maxLength={100}
          autoComplete="off"
          spellCheck={false}
          {...(index === 0 ? { 'data-autofocus': true } : {})}
        />
      ))}
      <NewDeviceFields draft={draft} onChange={setTyped} areSeveral />
    </DialogForm>
  )
}
