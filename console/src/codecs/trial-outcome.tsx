import { Alert, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import type { CodecTrial } from '../api/codecs.ts'
import { sentenceFor } from '../api/sentence.ts'
import { hexOf } from '../broker/bytes.ts'
import { CodeBlock } from '../shell/code-block.tsx'
import { Icon } from '../shell/icons.tsx'

/**
 * The result of a trial: values or bytes, or the fault; warnings, and the console of the script.
 */
export function TrialOutcome({ trial }: { readonly trial: CodecTrial }): ReactElement | null {
  const { decoded, encoded } = trial
  const outcome = decoded ?? encoded
  if (outcome === undefined) return null
  const { error, warnings, durationMs } = outcome
  return (
    <Stack gap="sm" role="status">
      {error === null ? null : (
        <Alert
          color="red"
          variant="light"
          icon={<Icon name="alert" />}
          title={error.line === null ? 'It failed' : `It failed in line ${error.line}`}
        >
          {sentenceFor('', error.message)}
        </Alert>
      )}
      {error !== null || decoded === undefined ? null : (
        <CodeBlock title="Values" text={JSON.stringify(decoded.object, undefined, 2)} />
      )}
      {error !== null || encoded === undefined ? null : (
        <>
          <CodeBlock title="Bytes in hex" text={hexOf(encoded.data) ?? encoded.hex} />
          <CodeBlock title="Bytes in base64" text={encoded.data} />
        </>
      )}
      {warnings.map((warning) => (
        <Alert key={warning} color="orange" variant="light" icon={<Icon name="alert" />} title="Warning">
          {warning}
        </Alert>
      ))}
      {outcome.console.length === 0 ? null : (
        <CodeBlock title="Console" text={outcome.console.join('\n')} maxHeight={200} />
      )}
      <Text size="sm" c="dimmed">
        {durationMs < 0.1 ? 'Took less than 0.1 ms.' : `Took ${durationMs.toFixed(1)} ms.`}
        {encoded?.fPort === null || encoded?.fPort === undefined ? '' : ` The script chose port ${encoded.fPort}.`}
      </Text>
    </Stack>
  )
}
