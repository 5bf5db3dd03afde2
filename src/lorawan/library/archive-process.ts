/**
 * The process that reads the zip archive of an upload: a foreign archive of a thousand files takes
 * seconds of a processor, and the service goes on meanwhile. It answers each job with one message.
 */
import { answerParent } from '../../helper-process.ts'
import type { ArchiveAnswer, ArchiveJob } from './archive-helper.ts'
import { CollectionFault } from './collection-tree.ts'
import type { LibraryProfile } from './library-profile.ts'
import { readLibrary } from './read-library.ts'
import { openZip } from './zip-tree.ts'

const answer: (message: ArchiveAnswer) => void = answerParent((job) => answer(answerTo(job as ArchiveJob)))
const pieces: Buffer[] = []
let profiles: Iterator<LibraryProfile> = [][Symbol.iterator]()

answer({ kind: 'done' })

function answerTo(job: ArchiveJob): ArchiveAnswer {
  if (job.kind === 'take') {
    pieces.push(Buffer.from(job.base64, 'base64'))
    return { kind: 'done' }
  }
  if (job.kind === 'open') return openAll()
  const { done, value } = profiles.next()
  return done === true ? { kind: 'done' } : { kind: 'profile', profile: value }
}

function openAll(): ArchiveAnswer {
  try {
    const library = readLibrary(openZip(Buffer.concat(pieces.splice(0))))
    profiles = library.profiles[Symbol.iterator]()
    return { kind: 'opened', layout: library.layout, profiles: library.profiles.length, problems: library.problems }
  } catch (error) {
    if (error instanceof CollectionFault) return { kind: 'refused', message: error.message }
    throw error
  }
}
