/** The person's own account. */
import { SimpleGrid } from '@mantine/core'
import type { ReactElement } from 'react'
import { useProfile } from '../api/account.ts'
import { Failure } from '../shell/failure.tsx'
import { Page } from '../shell/page.tsx'
import { PasswordPanel } from './password-panel.tsx'
import { SecondFactorPanel } from './second-factor-panel.tsx'

/** The page. */
export function AccountPage(): ReactElement {
  const profile = useProfile()
  return (
    <Page
      title="Account"
      lead={profile.data === undefined ? undefined : `You are signed in as ${profile.data.user.username}.`}
    >
      <Failure error={profile.error} onRetry={() => void profile.refetch()} />
      {profile.data === undefined ? null : (
        <SimpleGrid cols={{ base: 1, md: 2 }} spacing="md">
          <PasswordPanel userName={profile.data.user.username} />
          <SecondFactorPanel isEnabled={profile.data.is2faEnabled} />
        </SimpleGrid>
      )}
    </Page>
  )
}
