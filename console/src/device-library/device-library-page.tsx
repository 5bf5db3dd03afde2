/** The library of device profiles of the deployment. */
import { Badge, Select, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { useAddressState } from '../administration/address-state.ts'
import { RemoveDialog } from '../administration/remove-dialog.tsx'
import type { Removal } from '../administration/remove-dialog.tsx'
import { PAGE, useResourceList } from '../administration/resource-list.ts'
import { ListView } from '../administration/resource-table.tsx'
import { RowAction } from '../administration/row-action.tsx'
import { DEVICE_LIBRARY_PATH, LIBRARY_PROFILES_PATH, useLibrary, useLibraryVendors } from '../api/device-library.ts'
import type { LibraryOverview, LibraryProfile } from '../api/device-library.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { ArchivePanel } from './archive-panel.tsx'
import classes from './device-library-page.module.css'

/** The names of the filters in the address. */
const VENDOR = 'vendor'
const REGION = 'region'

/** The page. */
export function DeviceLibraryPage(): ReactElement {
  const { isGlobalAdmin } = useOrganization()
  const library = useLibrary()
  const { get } = useAddressState()
  const list = useResourceList<LibraryProfile>({
    path: LIBRARY_PROFILES_PATH,
    query: given({ vendor: get(VENDOR), region: get(REGION) }),
  })
  return (
    <Page
      title="Device library"
      lead="Models of devices with their codecs. An organization chooses one for a device profile of its own."
    >
      <Failure error={library.error} onRetry={() => void library.refetch()} />
      <ListView<LibraryProfile>
        list={list}
        label="Profiles of the library"
        searchLabel="Search by vendor or model"
        filters={<Filters regions={library.data?.regions ?? []} />}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Model', cell: (profile) => <Model profile={profile} /> },
          { title: 'Firmware', width: 110, cell: ({ firmwareVersion }) => <Text size="sm">{firmwareVersion}</Text> },
          { title: 'Regions', visibleFrom: 'sm', cell: ({ regions }) => <Text size="sm">{regionsText(regions)}</Text> },
          { title: 'Examples', visibleFrom: 'sm', width: 130, cell: (profile) => <Examples profile={profile} /> },
          { title: 'Source', visibleFrom: 'xs', cell: ({ source }) => <Text size="sm">{source.name}</Text> },
        ]}
        empty={<NoProfiles isGlobalAdmin={isGlobalAdmin} isEmpty={library.data?.profileCount === 0} />}
      />
      <Sources library={library.data} isRemovable={isGlobalAdmin} />
      {isGlobalAdmin ? <ArchivePanel /> : null}
    </Page>
  )
}

function given(query: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(query).filter(([, value]) => value !== ''))
}

function Filters({ regions }: { readonly regions: readonly string[] }): ReactElement {
  const vendors = useLibraryVendors()
  const { get, set } = useAddressState()
  const filter = (name: string, value: string | null): void => set({ [name]: value ?? '', [PAGE]: '' })
  return (
    <>
      <Select
        aria-label="Vendor"
        w={{ base: '100%', xs: 220 }}
        placeholder="All vendors"
        data={
          vendors.data?.result.map(({ vendor, profileCount }) => {
            return { value: vendor, label: `${vendor} (${profileCount})` }
          }) ?? []
        }
        value={get(VENDOR) === '' ? null : get(VENDOR)}
        onChange={(vendor) => filter(VENDOR, vendor)}
        clearable
        searchable
      />
      <Select
        aria-label="Region"
        w={{ base: '100%', xs: 180 }}
        placeholder="All regions"
        data={[...regions]}
        value={get(REGION) === '' ? null : get(REGION)}
        onChange={(region) => filter(REGION, region)}
        clearable
        searchable
      />
    </>
  )
}

function Model({ profile: { vendor, model, description } }: { readonly profile: LibraryProfile }): ReactElement {
  return (
    <>
      <Text size="sm" fw={500} className="breakable">
        {model}
      </Text>
      <Text size="sm" c="dimmed" className="breakable">
        {[vendor, description].filter((text) => text.trim() !== '').join(' · ')}
      </Text>
    </>
  )
}

function Examples({ profile: { vectorCount, failedExamples } }: { readonly profile: LibraryProfile }): ReactElement {
  if (failedExamples === 0) return <Text size="sm">{vectorCount}</Text>
  return (
    <Badge variant="light" color="orange" tt="none">
      {failedExamples} of {vectorCount} failed
    </Badge>
  )
}

function regionsText(regions: LibraryProfile['regions']): string {
  return regions.map(({ region }) => region).join(', ')
}

function NoProfiles(props: { readonly isGlobalAdmin: boolean; readonly isEmpty: boolean }): ReactElement {
  if (!props.isEmpty) return <Blank icon="search" title="No such profile" text="Try another word, vendor or region." />
  const text = props.isGlobalAdmin
    ? 'Import a collection below, or by fieldgate codecs import.'
    : 'An operator of this deployment can import a collection.'
  return <Blank icon="list" title="The library is empty" text={text} />
}

interface SourcesProps {
  readonly library: LibraryOverview | undefined
  readonly isRemovable: boolean
}

/** The collections, with their licences. */
function Sources({ library, isRemovable }: SourcesProps): ReactElement | null {
  const removing = useDialog<Removal>()
  if (library === undefined || library.sources.length === 0) return null
  const remove = (name: string): void => {
    removing.open({ path: `${DEVICE_LIBRARY_PATH}/sources?name=${encodeURIComponent(name)}`, name })
  }
  return (
    <Panel title="Sources" lead="The licence of a collection says what may be done with its scripts.">
      <Stack gap="sm" component="ul" className={classes['sources']}>
        {library.sources.map(({ name, licence, version, profileCount }) => (
          <li key={name} className={classes['source']}>
            <div>
              <Text size="sm" fw={500}>
                {name}
              </Text>
              <Text size="sm" c="dimmed" className="breakable">
                {[licence === '' ? 'no licence named' : licence, version, countText(profileCount)]
                  .filter((text) => text !== '')
                  .join(' · ')}
              </Text>
            </div>
            {isRemovable ? (
              <RowAction icon="trash" label={`Remove ${name}`} isDangerous onClick={() => remove(name)} />
            ) : null}
          </li>
        ))}
      </Stack>
      <RemoveDialog state={removing} verb="Remove" changes={[DEVICE_LIBRARY_PATH, LIBRARY_PROFILES_PATH]}>
        All its profiles leave the library. Device profiles that were made of them stay as they are.
      </RemoveDialog>
    </Panel>
  )
}

function countText(count: number): string {
  return count === 1 ? '1 profile' : `${count} profiles`
}
