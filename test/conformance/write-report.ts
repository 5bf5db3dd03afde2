/** Writes docs/conformance.md. */
import { writeFileSync } from 'node:fs'
import { renderReport, reportFile, taggedTitles, unproven } from './report.ts'

const titles = taggedTitles()
writeFileSync(reportFile, renderReport(titles))
const missing = unproven(titles)
console.log(`docs/conformance.md: ${titles.length} tests with tags, ${missing.length} statements without a test`)
if (missing.length > 0) console.log(missing.join(' '))
