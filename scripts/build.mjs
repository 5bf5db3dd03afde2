// npm run build: dist/ from src/ and simulator/.
import { ensureBuilt, ensureInstalled } from './setup.mjs'

ensureInstalled()
ensureBuilt()
