/** The console: the sign-in, or the pages of the person who is signed in. */
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { onlineManager, QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { ReactElement } from 'react'
import { ApiFailure } from './api/request.ts'
import { session, useSession } from './session/session.ts'
import { SignInOver } from './session/sign-in-over.tsx'
import { SignInPage } from './session/sign-in-page.tsx'
import { OrganizationGate } from './shell/organization.tsx'
import { Shell } from './shell/shell.tsx'
import { styleNonce } from './style-nonce.ts'
import { colorVariables, theme } from './theme.ts'

// Without a session no request is sent: the requests of a page behind the sign-in wait.
session.subscribe(() => onlineManager.setOnline(session.token() !== undefined))

function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: 5_000,
        // A refusal does not change by a second request. A request that did not arrive is sent
        // again.
        retry: (count, error) =>
          count < 2 && error instanceof ApiFailure && (error.status === 0 || error.status >= 500),
      },
    },
  })
}

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
      <Gate />
    </MantineProvider>
  )
}

/**
 * Shows the sign-in, or the console of the person. A session that ends takes nothing from the page:
 * the page waits behind the sign-in until the same person signs in.
 */
function Gate(): ReactElement | null {
  const current = useSession()
  if (current.phase === 'resuming') return null
  const { phase, person } = current
  const isHeld = phase === 'signedOut'
  return (
    <>
      {person === undefined ? null : <PersonalConsole key={person} isHeld={isHeld} />}
      {isHeld ? <SignIn notice={current.notice} isOver={person !== undefined} /> : null}
    </>
  )
}

interface SignInProps {
  readonly notice: string | undefined
  /** A page waits behind the sign-in. */
  readonly isOver: boolean
}

function SignIn({ notice, isOver }: SignInProps): ReactElement {
  return isOver ? <SignInOver notice={notice} /> : <SignInPage notice={notice} />
}

/**
 * The console of one person. Its cache and its drafts live as long as it does, so another person
 * gets nothing of them.
 */
function PersonalConsole({ isHeld }: { readonly isHeld: boolean }): ReactElement {
  const [queryClient] = useState(createQueryClient)
  const focused = useRef<Element>(null)
  useEffect(() => {
    // The session ends before the sign-in takes the focus, so the focus is still known here.
    const unsubscribe = session.subscribe(() => {
      if (session.token() === undefined) focused.current = document.activeElement
    })
    return unsubscribe
  }, [])
  useEffect(() => {
    if (!isHeld) return undefined
    return () => {
      if (focused.current instanceof HTMLElement) focused.current.focus()
      void queryClient.invalidateQueries()
    }
  }, [isHeld, queryClient])
  return (
    <QueryClientProvider client={queryClient}>
      {/* Hidden, but not removed: drafts, open dialogs and the place in a list stay. */}
      <div style={isHeld ? { visibility: 'hidden' } : undefined} inert={isHeld}>
        <OrganizationGate>
          <Shell />
        </OrganizationGate>
      </div>
    </QueryClientProvider>
  )
}
