/** The second factor: off, being set up, or on. */
import { Alert, Badge, Button, Group, Image, Stack, Stepper, Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FormEvent, ReactElement } from 'react'
import { configureTotp, disableTotp, enableTotp, PROFILE_KEY, renewRecoveryCodes } from '../api/account.ts'
import type { TotpConfiguration } from '../api/account.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { CopyField } from '../shell/copy-field.tsx'
import { Failure } from '../shell/failure.tsx'
import { Icon } from '../shell/icons.tsx'
import { Panel } from '../shell/panel.tsx'

/** The panel. */
export function SecondFactorPanel({ isEnabled }: { readonly isEnabled: boolean }): ReactElement {
  return (
    <Panel
      title="Second factor"
      lead="The sign-in asks for a code of your phone besides the password, so a stolen password is not enough."
      aside={
        <Badge variant="light" color={isEnabled ? 'field' : 'gray'} tt="none" size="lg">
          {isEnabled ? 'on' : 'off'}
        </Badge>
      }
    >
      {isEnabled ? <Enabled /> : <SetUp />}
    </Panel>
  )
}

function SetUp(): ReactElement {
  const queryClient = useQueryClient()
  const [step, setStep] = useState(0)
  const configuration = useMutation({ mutationFn: configureTotp, onSuccess: () => setStep(0) })
  const enabling = useMutation({
    mutationFn: enableTotp,
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: PROFILE_KEY })
      notifications.show({ message: 'The second factor is on. The next sign-in asks for a code.' })
    },
  })
  if (configuration.data === undefined) {
    return (
      <Stack align="flex-start">
        <Failure error={configuration.error} />
        <Text size="sm">You need an authenticator on your phone: any that knows time-based codes will do.</Text>
        <Button
          leftSection={<Icon name="shield" />}
          loading={configuration.isPending}
          onClick={() => configuration.mutate()}
        >
          Set up
        </Button>
      </Stack>
    )
  }
  return (
    <Stack>
      <Stepper active={step} onStepClick={setStep} size="sm" allowNextStepsSelect={false}>
        <Stepper.Step label="Scan">
          <Scan configuration={configuration.data} onNext={() => setStep(1)} />
        </Stepper.Step>
        <Stepper.Step label="Keep">
          <Stack mt="sm">
            <RecoveryCodes codes={configuration.data.recoveryCode} />
            <Group justify="flex-end">
              <Button onClick={() => setStep(2)}>I have kept them</Button>
            </Group>
          </Stack>
        </Stepper.Step>
        <Stepper.Step label="Turn on">
          <Stack mt="sm">
            <Failure error={enabling.error} />
            <CodeForm
              label="Code that the authenticator shows now"
              button="Turn on"
              isBusy={enabling.isPending}
              onCode={(code) => enabling.mutate(code)}
            />
          </Stack>
        </Stepper.Step>
      </Stepper>
    </Stack>
  )
}

function Scan({
  configuration,
  onNext,
}: {
  readonly configuration: TotpConfiguration
  readonly onNext: () => void
}): ReactElement {
  return (
    <Stack mt="sm">
      <Text size="sm">Scan this with the authenticator, or type the key into it.</Text>
      <Image
        src={`data:image/png;base64,${configuration.qrCode}`}
        alt="QR code with the key"
        w={200}
        h={200}
        radius="md"
        bg="#fff"
        p={8}
      />
      <CopyField label="Key" value={configuration.secret} />
      <Group justify="flex-end">
        <Button onClick={onNext}>Next</Button>
      </Group>
    </Stack>
  )
}

function RecoveryCodes({ codes }: { readonly codes: readonly string[] }): ReactElement {
  return (
    <>
      <Alert variant="light" color="orange" icon={<Icon name="key" />}>
        Without your phone, each of these codes signs you in once. Keep them apart from your password. They are not
        shown again.
      </Alert>
      <CodeBlock title="Recovery codes" text={codes.join('\n')} />
    </>
  )
}

function Enabled(): ReactElement {
  const queryClient = useQueryClient()
  const [intent, setIntent] = useState<'renew' | 'disable'>()
  const renewal = useMutation({ mutationFn: renewRecoveryCodes, onSuccess: () => setIntent(undefined) })
  const disabling = useMutation({
    mutationFn: disableTotp,
    onSuccess: () => queryClient.invalidateQueries({ queryKey: PROFILE_KEY }),
  })
  const current = intent === 'renew' ? renewal : disabling
  return (
    <Stack>
      <Text size="sm">Signing in asks for a code of your authenticator, or for one of your recovery codes.</Text>
      {renewal.data === undefined ? null : <RecoveryCodes codes={renewal.data} />}
      {intent === undefined ? (
        <Group>
          <Button variant="default" onClick={() => setIntent('renew')}>
            New recovery codes
          </Button>
          <Button variant="subtle" color="red" onClick={() => setIntent('disable')}>
            Turn off
          </Button>
        </Group>
      ) : (
        <>
          <Failure error={current.error} />
          <CodeForm
            label="Code of your authenticator, or a recovery code"
            button={intent === 'renew' ? 'Make new codes' : 'Turn off'}
            isBusy={current.isPending}
            onCode={(code) => current.mutate(code)}
            onCancel={() => setIntent(undefined)}
          />
        </>
      )}
    </Stack>
  )
}

interface CodeFormProps {
  readonly label: string
  readonly button: string
  readonly isBusy: boolean
  readonly onCode: (code: string) => void
  readonly onCancel?: () => void
}

function CodeForm({ label, button, isBusy, onCode, onCancel }: CodeFormProps): ReactElement {
  const [code, setCode] = useState('')
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    onCode(code.trim())
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={label}
          autoComplete="one-time-code"
          placeholder="123456"
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <Group justify="flex-end">
          {onCancel === undefined ? null : (
            <Button variant="default" onClick={onCancel}>
              Cancel
            </Button>
          )}
          <Button type="submit" loading={isBusy} disabled={code.trim() === ''}>
            {button}
          </Button>
        </Group>
      </Stack>
    </form>
  )
}
