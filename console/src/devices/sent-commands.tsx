import { Badge, Group, Stack, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { Blank } from '../shell/blank.tsx'
import { clockTime } from '../shell/moments.ts'
import type { CommandFate } from './command-fate.ts'
import classes from './sent-commands.module.css'

/** Commands with their stories, newest first. */
export function SentCommands({ fates }: { readonly fates: readonly CommandFate[] }): ReactElement {
  if (fates.length === 0) {
    return (
      <Blank
        icon="send"
        title="No command was sent yet"
        text="Send one with the form. A device of class A hears it after its next uplink."
      />
    )
  }
  return (
    <Stack gap="lg" aria-live="polite">
      {fates.map((fate) => (
        <Fate key={fate.command.id} fate={fate} />
      ))}
    </Stack>
  )
}

function Fate({ fate }: { readonly fate: CommandFate }): ReactElement {
  const { command, steps, isOpen } = fate
  const isFault = steps.at(-1)?.isFault === true
  return (
    <div>
      <Group justify="space-between" wrap="nowrap">
        <Text ff="monospace" size="sm" truncate>
          {command.shown}
        </Text>
        <Badge variant="light" tt="none" color={isFault ? 'red' : isOpen ? 'gray' : 'field'} style={{ flex: 'none' }}>
          {isFault ? 'failed' : isOpen ? 'under way' : 'done'}
        </Badge>
      </Group>
      <ol className={classes['steps']}>
        {steps.map(({ atMs, text, isFault: isBad }) => (
          <li key={`${atMs} ${text}`} data-fault={isBad || undefined}>
            <Text span size="sm" c="dimmed" className="numbers" mr="xs">
              {clockTime(atMs)}
            </Text>
            <Text span size="sm">
              {text}
            </Text>
          </li>
        ))}
      </ol>
    </div>
  )
}
