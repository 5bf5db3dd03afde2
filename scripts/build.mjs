// npm run build: makes dist/ from src/ and simulator/, dist/console from console/, and dist/docs
// from docs/.
import { ensureBuilt, ensureInstalled } from './setup.mjs'

ensureInstalled()
ensureBuilt()
