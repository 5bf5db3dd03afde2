/** The entry of the console: asks for a kept session and draws the console. */
import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './global.css'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { resume } from './session/sign-in.ts'
import { styleNonce } from './style-nonce.ts'

// The scroll lock of dialogs comes from a library that adds a style element, and looks for the
// nonce under this name.
Object.assign(globalThis, { __webpack_nonce__: styleNonce() })
void resume()
const root = document.querySelector('#root')
if (root !== null) createRoot(root).render(<App />)
