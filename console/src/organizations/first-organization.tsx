/** The page of a deployment without organizations, for its global admin. */
import { Button, Center, VisuallyHidden } from '@mantine/core'
import type { ReactElement } from 'react'
import { signOut } from '../session/sign-in.ts'
import { Blank } from '../shell/blank.tsx'
import { useDialog } from '../shell/dialog.tsx'
import { Icon } from '../shell/icons.tsx'
import { OrganizationDialog } from './organization-dialog.tsx'
import type { ListedOrganization } from './organization-dialog.tsx'

/** Offers the first organization. The console opens as soon as the organization exists. */
export function FirstOrganization(): ReactElement {
  const creating = useDialog<ListedOrganization | undefined>()
  return (
    <Center mih="100dvh" p="md" component="main">
      <VisuallyHidden component="h1">Fieldgate</VisuallyHidden>
      <Blank
        icon="building"
        title="The first organization"
        text="Applications, devices and members belong to organizations, which never see each other. Create one to begin."
        action={
          <>
            <Button leftSection={<Icon name="plus" />} onClick={() => creating.open(undefined)}>
              New organization
            </Button>
            <Button variant="default" onClick={() => void signOut()}>
              Sign out
            </Button>
          </>
        }
      />
      <OrganizationDialog state={creating} isGlobalAdmin />
    </Center>
  )
}
