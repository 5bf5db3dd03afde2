/**
 * The organization that every page is about. It is chosen once, and the browser remembers its id.
 */
import { Alert, Button, Center, Loader, VisuallyHidden } from '@mantine/core'
import { createContext, use, useCallback, useMemo, useState, Suspense } from 'react'
import type { ReactElement, ReactNode } from 'react'
import { useProfile } from '../api/account.ts'
import { useOrganizations } from '../api/directory.ts'
import type { Organization } from '../api/directory.ts'
import { ApiFailure, request } from '../api/request.ts'
import { sentenceOf } from '../api/sentence.ts'
import { useQuery } from '@tanstack/react-query'
import { navigate } from 'wouter/use-browser-location'
import { signOut } from '../session/sign-in.ts'
import { Blank } from './blank.tsx'
import { PageBoundary } from './page-boundary.tsx'
import { fetchedPage } from './page-code.tsx'

/** The chosen organization, and the person's rights in it. */
export interface ChosenOrganization {
  readonly organization: Organization
  readonly isGlobalAdmin: boolean
  readonly isOrganizationAdmin: boolean
  readonly isDeviceAdmin: boolean
  /** The person only reads, whatever its other roles say. */
  readonly isReadOnly: boolean
  readonly choose: (organizationId: string) => void
}

/** Needed once in the life of a deployment, so it is fetched then. */
const FirstOrganization = fetchedPage(
  async () => (await import('../organizations/first-organization.tsx')).FirstOrganization,
)

const Chosen = createContext<ChosenOrganization | undefined>(undefined)

/** The name in the browser's storage. An organization's id is no secret. */
const REMEMBERED = 'fieldgate.organization'

/** The chosen organization. Works only inside `OrganizationGate`. */
export function useOrganization(): ChosenOrganization {
  const chosen = use(Chosen)
  if (chosen === undefined) throw new Error('useOrganization is called outside of OrganizationGate')
  return chosen
}

/**
 * Shows its children once an organization is chosen: the remembered organization, or the first one.
 */
export function OrganizationGate({ children }: { readonly children: ReactNode }): ReactElement {
  const [chosenId, setChosenId] = useState(() => localStorage.getItem(REMEMBERED) ?? undefined)
  const profile = useProfile()
  const offered = useOrganizations('')
  const remembered = useRemembered(chosenId)
  const choose = useCallback((id: string) => {
    localStorage.setItem(REMEMBERED, id)
    setChosenId(id)
    // The query of the address is about the previous organization: its application, a page of its
    // devices.
    navigate(window.location.pathname, { replace: true })
  }, [])
  // The organization may have been deleted, or the person is no member any more. The cache may
  // still have it.
  const isGone = remembered.error instanceof ApiFailure && remembered.error.status === 404
  const kept = isGone ? undefined : remembered.data
  const organization = kept ?? (remembered.isLoading ? undefined : offered.data?.result[0])
  const chosen = useMemo<ChosenOrganization | undefined>(() => {
    if (organization === undefined || profile.data === undefined) return undefined
    const isGlobalAdmin = profile.data.user.isAdmin
    const membership = profile.data.organizations.find(({ organizationID }) => organizationID === organization.id)
    const isReadOnly = !isGlobalAdmin && membership?.isReadOnly === true
    const isOrganizationAdmin = isGlobalAdmin || (membership?.isAdmin === true && !isReadOnly)
    const isDeviceAdmin = isOrganizationAdmin || (membership?.isDeviceAdmin === true && !isReadOnly)
    return { organization, isGlobalAdmin, isOrganizationAdmin, isDeviceAdmin, isReadOnly, choose }
  }, [organization, profile.data, choose])

  const error = profile.error ?? offered.error
  if (chosen !== undefined) return <Chosen value={chosen}>{children}</Chosen>
  if (error !== null) {
    return (
      <Center mih="100dvh" p="md">
        <Alert color="red" title="The console can’t start" maw={480}>
          {sentenceOf(error)}
        </Alert>
      </Center>
    )
  }
  if (offered.data?.result.length === 0 && profile.data !== undefined && !remembered.isLoading) {
    return profile.data.user.isAdmin ? (
      <PageBoundary path="/">
        <Suspense>
          <FirstOrganization />
        </Suspense>
      </PageBoundary>
    ) : (
      <NoOrganization />
    )
  }
  return (
    <Center mih="100dvh">
      <Loader type="dots" aria-label="Loading" />
    </Center>
  )
}

/** The page of a person without any organization. The person can only sign out. */
function NoOrganization(): ReactElement {
  return (
    <Center mih="100dvh" p="md" component="main">
      <VisuallyHidden component="h1">Fieldgate</VisuallyHidden>
      <Blank
        icon="building"
        title="You are in no organization yet"
        text="Ask an administrator of the deployment to add you to one, by your user name. Then reload this page."
        action={
          <Button variant="default" onClick={() => void signOut()}>
            Sign out
          </Button>
        }
      />
    </Center>
  )
}

/**
 * The remembered organization. Its data is undefined also where the person is no member any more.
 */
function useRemembered(organizationId: string | undefined) {
  return useQuery({
    queryKey: ['organization', organizationId],
    enabled: organizationId !== undefined,
    retry: false,
    queryFn: async ({ signal }) => {
      const path = `/api/organizations/${encodeURIComponent(organizationId ?? '')}`
      return (await request<{ readonly organization: Organization }>('GET', path, { signal })).organization
    },
  })
}
