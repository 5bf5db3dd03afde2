import { Input } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { useId, useMemo } from 'react'
import type { CSSProperties, KeyboardEvent, ReactElement } from 'react'
import classes from './code-editor.module.css'
import { insertionFor } from './script-keys.ts'

interface CodeEditorProps {
  readonly label: string
  readonly description: string
  readonly value: string
  readonly onChange: (value: string) => void
  /** The number of a line that failed when the script ran, from 1; null where no line failed. */
  readonly faultLine: number | null
}

/** The longest script that is coloured, in characters. In a longer one each key would be slow. */
const COLOURED_LENGTH = 16 * 1024

/**
 * The editor of a script. It is a text area of the browser, so undoing, the keyboard, phones and
 * screen readers work as in every text area. The coloured script lies behind the text. Tab leaves
 * the editor, as it leaves every field.
 */
export function CodeEditor({ label, description, value, onChange, faultLine }: CodeEditorProps): ReactElement {
  const id = useId()
  const script = useColouredScript(value)
  const unreadable = script?.faultLine ?? null
  const marked = faultLine ?? unreadable
  return (
    <Input.Wrapper
      label={label}
      description={description}
      id={id}
      error={faultLine === null && unreadable !== null ? `Line ${unreadable} is no JavaScript yet.` : undefined}
    >
      <div className={classes['frame']}>
        <div className={classes['numbers']} aria-hidden="true">
          {numbersOf(value)}
        </div>
        <div className={classes['page']}>
          {marked === null ? null : (
            <div className={classes['fault']} style={{ '--line': marked } as CSSProperties} data-line={marked} />
          )}
          <pre className={classes['pieces']} aria-hidden="true">
            {script === undefined
              ? value
              : script.pieces.map(({ text, kind }, index) =>
                  kind === 'plain' ? (
                    text
                  ) : (
                    <span key={index} data-kind={kind}>
                      {text}
                    </span>
                  ),
                )}
            {'\n'}
          </pre>
          <textarea
            id={id}
            className={classes['text']}
            value={value}
            wrap="off"
            spellCheck={false}
            autoCapitalize="none"
            autoComplete="off"
            aria-invalid={marked !== null}
            onChange={(event) => onChange(event.currentTarget.value)}
            onKeyDown={indent}
          />
        </div>
      </div>
    </Input.Wrapper>
  )
}

/**
 * The coloured script; undefined before the parser is fetched, and for a script that is too long.
 */
function useColouredScript(value: string) {
  const colours = useQuery({
    queryKey: ['script-colours'],
    queryFn: () => import('./script-colours.ts'),
    staleTime: Number.POSITIVE_INFINITY,
  })
  const read = colours.data?.colouredScript
  return useMemo(() => (value.length > COLOURED_LENGTH ? undefined : read?.(value)), [read, value])
}

function numbersOf(value: string): string {
  return Array.from({ length: value.split('\n').length }, (_, index) => String(index + 1)).join('\n')
}

function indent(event: KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.nativeEvent.isComposing) return
  const area = event.currentTarget
  const insertion = insertionFor(event.key, area.value, area.selectionStart, area.selectionEnd)
  if (insertion === undefined) return
  event.preventDefault()
  area.setSelectionRange(insertion.from, insertion.to)
  // Only this command writes into a text area in a way that can be undone.
  document.execCommand('insertText', false, insertion.text)
}
