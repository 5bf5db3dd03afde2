/** How an application's bytes become values: chosen, written and tried before it is saved. */
import { Button, Group, SegmentedControl, Select, SimpleGrid, Stack, Tabs, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { type ReactElement, useState } from 'react'
import { type Codec, type CodecKind, codecKey, saveCodec, useCodec } from '../api/codecs.ts'
import { useApplications } from '../api/directory.ts'
import { Blank } from '../shell/blank.tsx'
import { Failure } from '../shell/failure.tsx'
import { useOrganization } from '../shell/organization.tsx'
import { Page } from '../shell/page.tsx'
import { Panel } from '../shell/panel.tsx'
import { DECODER_TEMPLATE, ENCODER_TEMPLATE } from './script-templates.ts'
import { ScriptEditor } from './script-editor.tsx'
import { TestBench } from './test-bench.tsx'

/** The page. */
export function CodecsPage(): ReactElement {
  const { organization } = useOrganization()
  const applications = useApplications(organization.id)
  const [chosen, setChosen] = useState<string | null>(null)
  const applicationId = chosen ?? applications.data?.result[0]?.id ?? null
  const codec = useCodec(applicationId)
  return (
    <Page
      title="Codecs"
      lead="A codec turns the bytes of an application’s devices into named values, and objects of commands into bytes."
    >
      <Failure error={applications.error ?? codec.error} />
      {applications.data?.result.length === 0 ? (
        <Blank
          icon="code"
          title="No application yet"
          text="Codecs belong to applications. Create the first one under Applications."
        />
      ) : (
        <Select
          label="Application"
          w={{ base: '100%', xs: 300 }}
          data={applications.data?.result.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={applicationId}
          onChange={setChosen}
          allowDeselect={false}
          searchable
        />
      )}
      {applicationId === null || codec.data === undefined ? null : (
        <CodecEditor key={applicationId} applicationId={applicationId} saved={codec.data} />
      )}
    </Page>
  )
}

interface CodecEditorProps {
  readonly applicationId: string
  readonly saved: Codec
}

interface Fault {
  readonly script: 'decoder' | 'encoder'
  readonly line: number | null
}

function CodecEditor({ applicationId, saved }: CodecEditorProps): ReactElement {
  const [codec, setCodec] = useState<Codec>({
    payloadCodec: saved.payloadCodec,
    payloadDecoderScript: saved.payloadDecoderScript || DECODER_TEMPLATE,
    payloadEncoderScript: saved.payloadEncoderScript || ENCODER_TEMPLATE,
  })
  const [fault, setFault] = useState<Fault>()
  const queryClient = useQueryClient()
  const saving = useMutation({
    mutationFn: () => saveCodec(applicationId, codec),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: codecKey(applicationId) })
      notifications.show({ message: 'Saved. It decodes from the next event on.' })
    },
  })
  const change = (part: Partial<Codec>): void => {
    setCodec((before) => ({ ...before, ...part }))
    setFault(undefined)
  }
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel title="Codec">
        <Stack>
          <SegmentedControl<CodecKind>
            aria-label="Kind of codec"
            value={codec.payloadCodec}
            onChange={(payloadCodec) => change({ payloadCodec })}
            data={[
              { value: '', label: 'None' },
              { value: 'CAYENNE_LPP', label: 'Cayenne LPP' },
              { value: 'CUSTOM_JS', label: 'JavaScript' },
            ]}
          />
          <Text size="sm" c="dimmed">
            {EXPLANATIONS[codec.payloadCodec]}
          </Text>
          {codec.payloadCodec === 'CUSTOM_JS' ? <Scripts codec={codec} fault={fault} onChange={change} /> : null}
          <Failure error={saving.error} />
          <Group justify="flex-end">
            <Button loading={saving.isPending} onClick={() => saving.mutate()}>
              Save
            </Button>
          </Group>
        </Stack>
      </Panel>
      <TestBench applicationId={applicationId} codec={codec} onFault={(line, script) => setFault({ line, script })} />
    </SimpleGrid>
  )
}

const EXPLANATIONS: Readonly<Record<CodecKind, string>> = {
  '': 'Events carry the bytes alone, and commands need them.',
  CAYENNE_LPP: 'A common format of many sensors: each value with its channel and kind.',
  CUSTOM_JS:
    'Your own functions, or those of the device’s maker: decodeUplink and encodeDownlink, or Decode and Encode.',
}

interface ScriptsProps {
  readonly codec: Codec
  readonly fault: Fault | undefined
  readonly onChange: (part: Partial<Codec>) => void
}

function Scripts({ codec, fault, onChange }: ScriptsProps): ReactElement {
  return (
    <Tabs defaultValue="decoder">
      <Tabs.List mb="sm">
        <Tabs.Tab value="decoder">Decoder</Tabs.Tab>
        <Tabs.Tab value="encoder">Encoder</Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value="decoder">
        <ScriptEditor
          label="Decoder"
          description="From bytes to values."
          value={codec.payloadDecoderScript}
          onChange={(payloadDecoderScript) => onChange({ payloadDecoderScript })}
          faultLine={fault?.script === 'decoder' ? fault.line : null}
        />
      </Tabs.Panel>
      <Tabs.Panel value="encoder">
        <ScriptEditor
          label="Encoder"
          description="From a command’s object to bytes."
          value={codec.payloadEncoderScript}
          onChange={(payloadEncoderScript) => onChange({ payloadEncoderScript })}
          faultLine={fault?.script === 'encoder' ? fault.line : null}
        />
      </Tabs.Panel>
    </Tabs>
  )
}
