import { Button, Group, PasswordInput, Stack } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { changePassword } from '../api/account.ts'
import { session } from '../session/session.ts'
import { Failure } from '../shell/failure.tsx'
import { Panel } from '../shell/panel.tsx'

const SHORTEST = 10

/** Changes the person's password. The change ends every session. */
export function PasswordPanel({ userName }: { readonly userName: string }): ReactElement {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState('')
  const [again, setAgain] = useState('')
  const change = useMutation({
    mutationFn: () => changePassword(current, next),
    onSuccess: () => session.end('Your password is changed. Sign in with the new one.'),
  })
  const isShort = next !== '' && next.length < SHORTEST
  const differs = again !== '' && again !== next
  return (
    <Panel title="Password" lead="A changed password signs you out everywhere, here too.">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate()
        }}
      >
        <Stack>
          <Failure error={change.error} />
          {/* Password managers read the user name from this hidden field. */}
          <input type="text" name="username" autoComplete="username" value={userName} readOnly hidden />
          <PasswordInput
            label="Current password"
            autoComplete="current-password"
            value={current}
            onChange={(event) => setCurrent(event.currentTarget.value)}
          />
          <PasswordInput
            label="New password"
            description={`At least ${SHORTEST} characters. A sentence is easier to remember and harder to guess than a word with signs.`}
            autoComplete="new-password"
            value={next}
            onChange={(event) => setNext(event.currentTarget.value)}
            error={isShort ? `At least ${SHORTEST} characters.` : undefined}
          />
          <PasswordInput
            label="New password again"
            autoComplete="new-password"
            value={again}
            onChange={(event) => setAgain(event.currentTarget.value)}
            error={differs ? 'The two are not the same.' : undefined}
          />
          <Group justify="flex-end">
            <Button
              type="submit"
              loading={change.isPending}
              disabled={current === '' || next.length < SHORTEST || next !== again}
            >
              Change password
            </Button>
          </Group>
        </Stack>
      </form>
    </Panel>
  )
}
