/** The work of `fieldgate codecs check`: runs the examples of a collection. */
import { systemClock } from '../../clock.ts'
import { Codecs } from '../../lorawan/codecs/codecs.ts'
import type { LibraryProfile } from '../../lorawan/library/library-profile.ts'
import { runExamples } from '../../lorawan/library/run-examples.ts'
import type { ExampleOutcome } from '../../lorawan/library/run-examples.ts'
import { createPinoLogger } from '../../pino-logger.ts'
import { CommandFailure } from '../terminal/command-failure.ts'
import { counted } from '../terminal/counted.ts'
import { cellText, formatTable } from '../terminal/table.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { showJson } from './administration.ts'
import { chosen, nameColumns, readCollection, showProblems } from './read-codecs.ts'
import type { ChoiceOptions } from './read-codecs.ts'

/** Profiles that run at the same time; the codecs have as many processes. */
const LANES = 2
/** Profiles between two lines of progress on a terminal. */
const PROGRESS_STEP = 10
/** Characters of the first difference in the table. */
const CELL_CHARACTERS = 160

interface Checked extends LibraryProfile {
  readonly outcome: ExampleOutcome
}

/**
 * Runs the examples of the chosen profiles, and shows the profiles with an example that differs.
 * Throws CommandFailure when there is one.
 */
export async function checkCodecs(terminal: Terminal, collection: string, options: ChoiceOptions): Promise<void> {
  const library = readCollection(collection)
  const profiles = chosen(library, options)
  const checked = await runAll(terminal, profiles)
  const equal = checked.reduce((sum, { outcome }) => sum + outcome.equal, 0)
  const differing = checked.filter(({ outcome }) => outcome.differences.length > 0)
  const differs = differing.reduce((sum, { outcome }) => sum + outcome.differences.length, 0)
  if (options.json === true) {
    const results = checked.map(({ vendor, model, firmwareVersion, regions, outcome }) => {
      return { vendor, model, firmwareVersion, regions, ...outcome }
    })
    showJson(terminal, { layout: library.layout, equal, differs, profiles: results, problems: library.problems })
  } else {
    const columns = [
      ...nameColumns,
      { title: 'EQUAL', cell: ({ outcome }: Checked) => String(outcome.equal) },
      { title: 'DIFFERS', cell: ({ outcome }: Checked) => String(outcome.differences.length) },
      { title: 'FIRST DIFFERENCE', cell: ({ outcome }: Checked) => firstOf(outcome) },
    ]
    if (differing.length > 0) terminal.out(formatTable(columns, differing))
    const without = checked.filter(({ testVectors }) => testVectors.length === 0).length
    terminal.error(
      `${counted(profiles.length, 'profile')}, ${without} without examples; ${counted(equal + differs, 'example')}: ${equal} equal, ${differs} that differ.\n`,
    )
    showProblems(terminal, library)
  }
  if (differs > 0) throw new CommandFailure(`${counted(differs, 'example')} did not give the published result.`)
}

async function runAll(terminal: Terminal, profiles: readonly LibraryProfile[]): Promise<Checked[]> {
  const log = createPinoLogger({ level: 'error', format: 'text' })
  const codecs = new Codecs({ organizationOf: (lane) => lane, clock: systemClock, log, workers: LANES })
  const outcomes = new Map<LibraryProfile, ExampleOutcome>()
  const waiting = [...profiles].toReversed()
  const run = async (lane: string): Promise<void> => {
    for (let profile = waiting.pop(); profile !== undefined; profile = waiting.pop()) {
      outcomes.set(profile, await runExamples(codecs, profile, lane, systemClock.now()))
      const isTold = terminal.isInteractive && outcomes.size % PROGRESS_STEP === 0
      if (isTold) terminal.error(`\r${outcomes.size} of ${profiles.length} profiles`)
    }
  }
  try {
    await Promise.all(Array.from({ length: LANES }, (_, number) => run(`lane ${number}`)))
  } finally {
    await codecs.close()
  }
  if (terminal.isInteractive && profiles.length >= PROGRESS_STEP) terminal.error('\n')
  return profiles.flatMap((profile) => {
    const outcome = outcomes.get(profile)
    return outcome === undefined ? [] : [{ ...profile, outcome }]
  })
}

function firstOf({ differences }: ExampleOutcome): string {
  const [first] = differences
  return first === undefined ? '' : cellText(`${first.name}: ${first.actual}`).slice(0, CELL_CHARACTERS)
}
