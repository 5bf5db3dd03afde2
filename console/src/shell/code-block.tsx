import { Group, Text } from '@mantine/core'
import type { ReactElement } from 'react'
import { CopyAction } from './copy-field.tsx'
import classes from './code-block.module.css'

interface CodeBlockProps {
  readonly title: string
  readonly text: string
  /** The height in pixels above which the text scrolls. */
  readonly maxHeight?: number
}

/** A text to read or to paste, with a button that copies it. */
export function CodeBlock({ title, text, maxHeight = 420 }: CodeBlockProps): ReactElement {
  return (
    <figure className={classes['block']}>
      <Group component="figcaption" justify="space-between" className={classes['head']}>
        <Text size="sm" fw={500}>
          {title}
        </Text>
        <CopyAction label={title} value={text} />
      </Group>
      {/* The text scrolls, so the keyboard must be able to reach it. */}
      <pre className={classes['text']} style={{ maxHeight }} tabIndex={0} aria-label={title}>
        {text}
      </pre>
    </figure>
  )
}
