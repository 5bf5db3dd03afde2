/** The fields of a codec: its kind, and the two scripts. */
import { Button, Group, Menu, SegmentedControl, Tabs, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import type { Codec, CodecKind } from '../api/codecs.ts'
import { ApiFailure } from '../api/request.ts'
import { CodeEditor } from './code-editor.tsx'
import { TEMPLATES } from './script-templates.ts'
import type { Fault } from './test-bench.tsx'

interface CodecFieldsProps {
  readonly codec: Codec
  readonly fault: Fault | undefined
  readonly shown: Fault['script']
  readonly onShow: (script: Fault['script']) => void
  readonly onChange: (part: Partial<Codec>) => void
}

/** The fields. */
export function CodecFields(props: CodecFieldsProps): ReactElement {
  const { codec, onChange } = props
  return (
    <>
      <SegmentedControl<CodecKind>
        aria-label="Kind of codec"
        value={codec.payloadCodec}
        onChange={(kind) => onChange(ofKind(kind, codec))}
        data={[
          { value: '', label: 'None' },
          { value: 'CAYENNE_LPP', label: 'Cayenne LPP' },
          { value: 'CUSTOM_JS', label: 'JavaScript' },
        ]}
      />
      {codec.payloadCodec === 'CUSTOM_JS' ? <Scripts {...props} /> : null}
    </>
  )
}

/** The change to another kind of codec. Empty scripts begin as the first template. */
function ofKind(payloadCodec: CodecKind, { payloadDecoderScript, payloadEncoderScript }: Codec): Partial<Codec> {
  if (payloadCodec !== 'CUSTOM_JS' || payloadDecoderScript !== '' || payloadEncoderScript !== '')
    return { payloadCodec }
  const [{ decoder, encoder }] = TEMPLATES
  return { payloadCodec, payloadDecoderScript: decoder, payloadEncoderScript: encoder }
}

/** The place where a refused script is not JavaScript. */
export function faultOf(error: unknown): Fault | undefined {
  if (!(error instanceof ApiFailure) || error.line === undefined) return undefined
  return { script: error.message.includes('payloadEncoderScript') ? 'encoder' : 'decoder', line: error.line }
}

function Scripts({ codec, fault, shown, onShow, onChange }: CodecFieldsProps): ReactElement {
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

function TemplateMenu({ onChange }: Pick<CodecFieldsProps, 'onChange'>): ReactElement {
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
