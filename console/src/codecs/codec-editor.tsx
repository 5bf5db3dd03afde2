import { Badge, Button, Group, Menu, SegmentedControl, SimpleGrid, Stack, Tabs, Text } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { codecKey, saveCodec } from '../api/codecs.ts'
import type { Codec, CodecKind } from '../api/codecs.ts'
import { ApiFailure } from '../api/request.ts'
import { Failure } from '../shell/failure.tsx'
import { Panel } from '../shell/panel.tsx'
import { useUnsavedChanges } from '../shell/unsaved-changes.tsx'
import { CodeEditor } from './code-editor.tsx'
import { TEMPLATES } from './script-templates.ts'
import { TestBench } from './test-bench.tsx'
import type { Fault } from './test-bench.tsx'

interface CodecEditorProps {
  readonly applicationId: string
  readonly saved: Codec
}

/** The codec of one application beside the test bench. */
export function CodecEditor({ applicationId, saved }: CodecEditorProps): ReactElement {
  const [codec, setCodec] = useState(saved)
  const [fault, setFault] = useState<Fault>()
  const [shown, setShown] = useState<Fault['script']>('decoder')
  const queryClient = useQueryClient()
  const isChanged = !isSame(codec, saved)
  useUnsavedChanges(isChanged)
  const saving = useMutation({
    mutationFn: () => saveCodec(applicationId, codec),
    onSuccess: () => {
      queryClient.setQueryData(codecKey(applicationId), codec)
      notifications.show({ message: 'Saved. It decodes from the next event on.' })
    },
    onError: (error) => show(faultOf(error)),
  })
  const show = (found: Fault | undefined): void => {
    setFault(found)
    if (found !== undefined) setShown(found.script)
  }
  const change = (part: Partial<Codec>): void => {
    setCodec((before) => ({ ...before, ...part }))
    setFault(undefined)
  }
  return (
    <SimpleGrid cols={{ base: 1, lg: 2 }}>
      <Panel
        title="Codec"
        lead={EXPLANATIONS[codec.payloadCodec]}
        aside={
          isChanged ? (
            <Badge variant="light" color="orange" tt="none" size="lg" flex="none">
              not saved
            </Badge>
          ) : undefined
        }
      >
        <Stack>
          <SegmentedControl<CodecKind>
            aria-label="Kind of codec"
            value={codec.payloadCodec}
            onChange={(kind) => change(ofKind(kind, codec))}
            data={[
              { value: '', label: 'None' },
              { value: 'CAYENNE_LPP', label: 'Cayenne LPP' },
              { value: 'CUSTOM_JS', label: 'JavaScript' },
            ]}
          />
          {codec.payloadCodec === 'CUSTOM_JS' ? (
            <Scripts codec={codec} fault={fault} shown={shown} onShow={setShown} onChange={change} />
          ) : null}
          <Failure error={saving.error} />
          <Group justify="flex-end">
            <Button variant="default" disabled={!isChanged || saving.isPending} onClick={() => change(saved)}>
              Undo all
            </Button>
            <Button loading={saving.isPending} disabled={!isChanged} onClick={() => saving.mutate()}>
              Save
            </Button>
          </Group>
        </Stack>
      </Panel>
      <TestBench applicationId={applicationId} codec={codec} onFault={show} />
    </SimpleGrid>
  )
}

const EXPLANATIONS: Readonly<Record<CodecKind, string>> = {
  '': 'Events carry what the network server sent, and commands need bytes.',
  CAYENNE_LPP: 'A common format of many sensors: each value with its channel and kind.',
  CUSTOM_JS: 'Your own functions, or the ones that the device’s maker offers.',
}

/** The change to another kind of codec. Empty scripts begin as the first template. */
function ofKind(payloadCodec: CodecKind, { payloadDecoderScript, payloadEncoderScript }: Codec): Partial<Codec> {
  if (payloadCodec !== 'CUSTOM_JS' || payloadDecoderScript !== '' || payloadEncoderScript !== '')
    return { payloadCodec }
  const [{ decoder, encoder }] = TEMPLATES
  return { payloadCodec, payloadDecoderScript: decoder, payloadEncoderScript: encoder }
}

function isSame(one: Codec, other: Codec): boolean {
  return (
    one.payloadCodec === other.payloadCodec &&
    one.payloadDecoderScript === other.payloadDecoderScript &&
    one.payloadEncoderScript === other.payloadEncoderScript
  )
}

/** The place where a refused script is not JavaScript. */
function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof ApiFailure) || error.line === undefined) return undefined
  return { script: error.message.includes('payloadEncoderScript') ? 'encoder' : 'decoder', line: error.line }
}

interface ScriptsProps {
  readonly codec: Codec
  readonly fault: Fault | undefined
  readonly shown: Fault['script']
  readonly onShow: (script: Fault['script']) => void
  readonly onChange: (part: Partial<Codec>) => void
}

function Scripts({ codec, fault, shown, onShow, onChange }: ScriptsProps): ReactElement {
  return (
    <Tabs value={shown} onChange={(script) => onShow(script === 'encoder' ? 'encoder' : 'decoder')}>
      <Group justify="space-between" mb="sm" wrap="nowrap">
        <Tabs.List>
          <Tabs.Tab value="decoder">Decoder</Tabs.Tab>
          <Tabs.Tab value="encoder">Encoder</Tabs.Tab>
        </Tabs.List>
        <TemplateMenu onChange={onChange} />
      </Group>
      <Tabs.Panel value="decoder">
        <CodeEditor
          label="Decoder script"
          description="From the bytes of an uplink to values."
          value={codec.payloadDecoderScript}
          onChange={(payloadDecoderScript) => onChange({ payloadDecoderScript })}
          faultLine={fault?.script === 'decoder' ? fault.line : null}
        />
      </Tabs.Panel>
      <Tabs.Panel value="encoder">
        <CodeEditor
          label="Encoder script"
          description="From the object of a command to bytes."
          value={codec.payloadEncoderScript}
          onChange={(payloadEncoderScript) => onChange({ payloadEncoderScript })}
          faultLine={fault?.script === 'encoder' ? fault.line : null}
        />
      </Tabs.Panel>
    </Tabs>
  )
}

function TemplateMenu({ onChange }: Pick<ScriptsProps, 'onChange'>): ReactElement {
  return (
    <Menu position="bottom-end" shadow="md">
      <Menu.Target>
        <Button variant="subtle" size="compact-sm">
          Templates
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          <Text size="xs">Takes the place of both scripts</Text>
        </Menu.Label>
        {TEMPLATES.map(({ id, label, decoder, encoder }) => (
          <Menu.Item
            key={id}
            onClick={() => onChange({ payloadDecoderScript: decoder, payloadEncoderScript: encoder })}
          >
            {label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  )
}
