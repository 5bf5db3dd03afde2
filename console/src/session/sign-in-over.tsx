/**
 * The sign-in over a page that waits: nobody can see the page, reach it by the keyboard, or hear it
 * from a screen reader.
 */
import { useEffect, useRef } from 'react'
import type { ReactElement } from 'react'
import classes from './sign-in-over.module.css'
import { SignInPage } from './sign-in-page.tsx'

let isShown = false

// Dialogs of the waiting page close by Escape, wherever it is pressed. This listener was added
// before theirs, so it gets the key first and stops it.
window.addEventListener(
  'keydown',
  (event) => {
    if (!isShown || event.key !== 'Escape') return
    event.preventDefault()
    event.stopImmediatePropagation()
  },
  { capture: true },
)

/**
 * The sign-in in the browser's top layer. The waiting page gets the focus back at the same place.
 */
export function SignInOver({ notice }: { readonly notice: string | undefined }): ReactElement {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    isShown = true
    dialog.current?.showModal()
    dialog.current?.querySelector<HTMLElement>('[data-autofocus]')?.focus()
    return () => {
      isShown = false
    }
  }, [])
  return (
    <dialog ref={dialog} className={classes['over']} aria-label="Sign in" onCancel={(event) => event.preventDefault()}>
      <SignInPage notice={notice} />
    </dialog>
  )
}
