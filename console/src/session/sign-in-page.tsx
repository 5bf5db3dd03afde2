/** The sign-in: user name and password, and the code of the second factor where it is turned on. */
import { Alert, Anchor, Button, Center, Paper, PasswordInput, Stack, Text, TextInput, Title } from '@mantine/core'
import { useEffect, useState } from 'react'
import type { FormEvent, ReactElement } from 'react'
import { ApiFailure } from '../api/request.ts'
import { Failure } from '../shell/failure.tsx'
import { Logo } from '../shell/icons.tsx'
import { signIn, signInWithCode } from './sign-in.ts'

/** The page of a person who is not signed in. The page of the address opens afterwards. */
export function SignInPage({ notice }: { readonly notice: string | undefined }): ReactElement {
  useEffect(() => {
    const before = document.title
    document.title = 'Sign in · Fieldgate'
    return () => {
      // A waiting page has its title again, and a page that opens has set its own by now.
      if (document.title === 'Sign in · Fieldgate') document.title = before
    }
  }, [])
  const [stepToken, setStepToken] = useState<string>()
  return (
    <Center component="main" mih="100dvh" p="md">
      <Stack w="100%" maw={400} gap="lg">
        <Stack align="center" gap="xs">
          <Logo size={48} />
          <Title order={1}>{stepToken === undefined ? 'Sign in to Fieldgate' : 'One more step'}</Title>
          <Text c="dimmed" ta="center">
            {stepToken === undefined
              ? 'Device events and commands of your deployment.'
              : 'Type the code that your authenticator shows, or one of your recovery codes.'}
          </Text>
        </Stack>
        {notice === undefined ? null : <Alert variant="light">{notice}</Alert>}
        <Paper withBorder radius="lg" p="xl" bg="var(--fieldgate-surface)">
          {stepToken === undefined ? (
            <PasswordStep onSecondFactor={setStepToken} />
          ) : (
            <CodeStep stepToken={stepToken} onBack={() => setStepToken(undefined)} />
          )}
        </Paper>
      </Stack>
    </Center>
  )
}

function PasswordStep({ onSecondFactor }: { readonly onSecondFactor: (stepToken: string) => void }): ReactElement {
  const [username, setUsername] = useState('')
  const [password, setPassword] = useState('')
  const { isBusy, error, run } = useStep()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    run(async () => {
      const stepToken = await signIn(username.trim(), password)
      if (stepToken !== undefined) onSecondFactor(stepToken)
    })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Failure error={error} />
        <TextInput
          label="User name"
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          data-autofocus
          autoFocus
          required
          withAsterisk={false}
        />
        <PasswordInput
          label="Password"
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          autoComplete="current-password"
          required
          withAsterisk={false}
        />
        <Button type="submit" loading={isBusy} fullWidth mt="xs">
          Sign in
        </Button>
      </Stack>
    </form>
  )
}

interface CodeStepProps {
  readonly stepToken: string
  readonly onBack: () => void
}

function CodeStep({ stepToken, onBack }: CodeStepProps): ReactElement {
  const [code, setCode] = useState('')
  const { isBusy, error, run } = useStep()
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    run(async () => {
      try {
        await signInWithCode(stepToken, code.trim())
      } catch (failure) {
        // The token of the first step lives ten minutes.
        if (failure instanceof ApiFailure && failure.reason === 'token_expired') onBack()
        throw failure
      }
    })
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <Failure error={error} />
        <TextInput
          label="Code"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
          autoComplete="one-time-code"
          placeholder="123456"
          autoFocus
          required
          withAsterisk={false}
        />
        <Button type="submit" loading={isBusy} fullWidth mt="xs">
          Continue
        </Button>
        <Anchor component="button" type="button" size="sm" onClick={onBack}>
          Use another account
        </Anchor>
      </Stack>
    </form>
  )
}

/** Sends one request at a time, and keeps the failure of the last one. */
function useStep() {
  const [isBusy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>()
  const run = (step: () => Promise<void>): void => {
    setBusy(true)
    setError(undefined)
    step()
      .catch(setError)
      .finally(() => setBusy(false))
  }
  return { isBusy, error, run }
}
