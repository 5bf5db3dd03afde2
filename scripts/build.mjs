// npm run build: dist/ from src/ and simulator/, and dist/console from console/.
import { ensureBuilt, ensureInstalled } from './setup.mjs'

ensureInstalled()
ensureBuilt()
