/** The devices that send without being registered. */
import { Alert, Button, List, Select, Text } from '@mantine/core'
import { useState } from 'react'
import type { ComponentProps, ReactElement } from 'react'
import { useAddressState } from '../administration/address-state.ts'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { PAGE, useResourceList } from '../administration/resource-list.ts'
import { ListView } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { ScopeSwitch, useScope } from '../administration/scope.tsx'
import { UNKNOWN_DEVICES_PATH } from '../api/unknown-devices.ts'
import type { RegisteredDevices, UnknownDevice } from '../api/unknown-devices.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { When } from '../shell/when.tsx'
import { counted } from './counted.ts'
import { RegisterDialog } from './register-dialog.tsx'
import type { Meant } from './register-dialog.tsx'
import { RulesPanel } from './rules-panel.tsx'

/** The names of the filters in the address. */
const APPLICATION = 'application'
const PROFILE = 'profile'

/** The interval of the requests for the list: devices send at any time. */
const REFRESH_MS = 15_000
/** The interval after a registration: the devices leave the list with their last kept event. */
const DELIVERY_REFRESH_MS = 2_000

const COLUMNS: ComponentProps<typeof ListView<UnknownDevice>>['columns'] = [
  { title: 'Device', cell: (device) => <Name device={device} /> },
  { title: 'Network server', visibleFrom: 'sm', cell: (device) => <Origin device={device} /> },
  { title: 'Profile', visibleFrom: 'sm', cell: theirProfile },
  { title: 'Events', visibleFrom: 'xs', isNumber: true, cell: ({ eventCount }) => eventCount },
  { title: 'First', visibleFrom: 'sm', cell: ({ firstAt }) => <When at={firstAt} /> },
  { title: 'Last', visibleFrom: 'xs', cell: ({ lastAt }) => <When at={lastAt} /> },
]

/** The page. */
export function UnknownDevicesPage(): ReactElement {
  const { organization, isOrganizationAdmin } = useOrganization()
  const isOfDeployment = useScope() === 'deployment'
  const { get } = useAddressState()
  const [result, setResult] = useState<RegisteredDevices>()
  const registering = useDialog<Meant>()
  const removing = useDialog<Removal>()
  const filter = { networkServerApplicationName: get(APPLICATION), deviceProfileName: get(PROFILE) }
  const owner = isOfDeployment ? {} : { organizationID: organization.id }
  const list = useResourceList<UnknownDevice>({
    path: UNKNOWN_DEVICES_PATH,
    query: { ...owner, ...filter },
    refreshMs: result === undefined ? REFRESH_MS : DELIVERY_REFRESH_MS,
  })
  const { total, items } = list
  const isFiltered = list.isSearching || Object.values(filter).some((value) => value !== '')
  const all: Meant = { filter: { ...filter, search: get('search') }, count: total }
  return (
    <Page
      title="Unknown devices"
      lead="They send, and nobody has registered them. Their events are kept, and delivered when the devices are registered."
      aside={
        total === 0 ? undefined : (
          <Button onClick={() => registering.open(all)}>
            Register {isFiltered ? `these ${total.toLocaleString('en')}` : 'all'}
          </Button>
        )
      }
    >
      {result === undefined ? null : <Result result={result} onClose={() => setResult(undefined)} />}
      <ListView<UnknownDevice>
        list={list}
        label="Unknown devices"
        searchLabel="Search by name or DevEUI"
        filters={
          <>
            <NameFilter name={APPLICATION} label="Application" valueOf={theirApplication} items={items} />
            <NameFilter name={PROFILE} label="Device profile" valueOf={theirProfile} items={items} />
            <ScopeSwitch label="Whose network servers" deploymentLabel="Whole deployment" />
          </>
        }
        keyOf={({ devEUI }) => devEUI}
        columns={COLUMNS}
        actions={(device) => (
          <>
            <RowAction icon="plus" label={`Register ${device.devEUI}`} onClick={() => registering.open({ device })} />
            <RowAction
              icon="trash"
              label={`Forget ${device.devEUI}`}
              isDangerous
              onClick={() => removing.open(removalOf(device, owner))}
            />
          </>
        )}
        empty={<Empty isFiltered={isFiltered} />}
      />
      {isOrganizationAdmin ? <RulesPanel isOfDeployment={isOfDeployment} /> : null}
      <RegisterDialog state={registering} isOfDeployment={isOfDeployment} onRegistered={setResult} />
      <RemoveDialog state={removing} verb="Forget" changes={[UNKNOWN_DEVICES_PATH]}>
        Its kept events are given up. The device comes back to this list with its next event.
      </RemoveDialog>
    </Page>
  )
}

function removalOf({ devEUI }: UnknownDevice, owner: Readonly<Record<string, string>>): Removal {
  const query = new URLSearchParams(owner).toString()
  return { path: `${UNKNOWN_DEVICES_PATH}/${devEUI}${query === '' ? '' : `?${query}`}`, name: devEUI }
}

function theirApplication(device: UnknownDevice): string {
  return device.networkServerApplicationName
}

function theirProfile(device: UnknownDevice): string {
  return device.deviceProfileName
}

interface NameFilterProps {
  /** The name of the filter in the address. */
  readonly name: string
  readonly label: string
  readonly valueOf: (device: UnknownDevice) => string
  readonly items: readonly UnknownDevice[]
}

/** A choice among the names that the shown devices have at their network server. */
function NameFilter({ name, label, valueOf, items }: NameFilterProps): ReactElement {
  const { get, set } = useAddressState()
  const chosen = get(name)
  const names = new Set([chosen, ...items.map(valueOf)].filter((value) => value !== ''))
  return (
    <Select
      aria-label={label}
      w={{ base: '100%', xs: 200 }}
      placeholder={`Any ${label.toLowerCase()}`}
      data={[...names]}
      value={chosen === '' ? null : chosen}
      onChange={(value) => set({ [name]: value ?? '', [PAGE]: '' })}
      clearable
      clearButtonProps={{ 'aria-label': `Any ${label.toLowerCase()}` }}
      searchable
    />
  )
}

interface CellProps {
  readonly device: UnknownDevice
}

function Name({ device: { devEUI, deviceName } }: CellProps): ReactElement {
  return (
    <>
      {deviceName === '' ? null : (
        <Text size="sm" fw={500} className="breakable">
          {deviceName}
        </Text>
      )}
      <Text size="xs" c="dimmed" ff="monospace">
        {devEUI}
      </Text>
    </>
  )
}

function Origin({ device }: CellProps): ReactElement {
  const application = device.networkServerApplicationName || device.networkServerApplicationID
  return (
    <>
      <Text size="sm" className="breakable">
        {device.networkServerName}
      </Text>
      {application === '' ? null : (
        <Text size="xs" c="dimmed" className="breakable">
          {application}
        </Text>
      )}
    </>
  )
}

interface ResultProps {
  readonly result: RegisteredDevices
  readonly onClose: () => void
}

function Result({ result, onClose }: ResultProps): ReactElement {
  const { registered, refused, refusals, more } = result
  const isWhole = refused === 0
  return (
    <Alert
      color={isWhole ? 'field' : 'orange'}
      variant="light"
      title={`Registered ${counted(registered)}.`}
      withCloseButton
      closeButtonLabel="Close the result"
      onClose={onClose}
      role="status"
    >
      {isWhole ? 'The kept events are on their way.' : `Not registered: ${counted(refused)}.`}
      {more ? ' More devices match: register again.' : null}
      {refusals.length === 0 ? null : (
        <List size="sm" mt="xs">
          {refusals.map(({ devEUI, message }) => (
            <List.Item key={devEUI} className="breakable">
              {devEUI}: {message}
            </List.Item>
          ))}
        </List>
      )}
    </Alert>
  )
}

function Empty({ isFiltered }: { readonly isFiltered: boolean }): ReactElement {
  return isFiltered ? (
    <Blank
      icon="search"
      title="No device matches"
      text="Choose another filter, or search for another part of a name."
    />
  ) : (
    <Blank icon="inbox" title="No unknown device" text="All devices that send are registered." />
  )
}
