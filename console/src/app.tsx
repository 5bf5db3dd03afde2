/** The console: who is signed in decides what is shown. */
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { type ReactElement, useEffect } from 'react'
import { ApiFailure } from './api/request.ts'
import { useSession } from './session/session.ts'
import { SignInPage } from './session/sign-in-page.tsx'
import { OrganizationGate } from './shell/organization.tsx'
import { Shell } from './shell/shell.tsx'
import { styleNonce } from './style-nonce.ts'
import { colorVariables, theme } from './theme.ts'

const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5_000,
      // A refusal stays one; only what did not arrive is asked again.
      retry: (count, error) => count < 2 && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
    },
  },
})

/** The whole console. */
export function App(): ReactElement {
  return (
    <MantineProvider
      theme={theme}
      cssVariablesResolver={colorVariables}
      defaultColorScheme="auto"
      getStyleNonce={styleNonce}
    >
      <Notifications position="bottom-right" />
      <QueryClientProvider client={queryClient}>
        <Gate />
      </QueryClientProvider>
    </MantineProvider>
  )
}

function Gate(): ReactElement | null {
  const session = useSession()
  const token = session.phase === 'signedIn' ? session.token : undefined
  useEffect(() => {
    // What one person saw is not the next one's.
    if (token === undefined) queryClient.clear()
  }, [token])
  if (session.phase === 'resuming') return null
  if (session.phase === 'signedOut') return <SignInPage notice={session.notice} />
  return (
    <OrganizationGate>
      <Shell />
    </OrganizationGate>
  )
}
