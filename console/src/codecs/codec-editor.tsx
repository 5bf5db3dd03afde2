import { Badge, Button, Group, SimpleGrid, Stack } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ReactElement } from 'react'
import { codecKey, saveCodec } from '../api/codecs.ts'
import type { Codec, CodecKind } from '../api/codecs.ts'
import { Failure } from '../shell/failure.tsx'
import { Panel } from '../shell/panel.tsx'
import { useUnsavedChanges } from '../shell/unsaved-changes.tsx'
import { CodecFields, faultOf } from './codec-fields.tsx'
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
          <CodecFields codec={codec} fault={fault} shown={shown} onShow={setShown} onChange={change} />
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

function isSame(one: Codec, other: Codec): boolean {
  return (
    one.payloadCodec === other.payloadCodec &&
    one.payloadDecoderScript === other.payloadDecoderScript &&
    one.payloadEncoderScript === other.payloadEncoderScript
  )
}
