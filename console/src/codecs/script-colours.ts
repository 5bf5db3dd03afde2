/**
 * JavaScript as pieces to be coloured, by the Lezer parser. Fetched when a script is first shown.
 */
import { parser } from '@lezer/javascript'

/** What a piece of a script is; `plain` has no colour of its own. */
export type PieceKind = 'plain' | 'keyword' | 'string' | 'number' | 'comment' | 'property' | 'fault'

export interface Piece {
  readonly text: string
  readonly kind: PieceKind
}

/** A script in pieces, and where it is no JavaScript. */
export interface ColouredScript {
  /** Together they are the script, character for character. */
  readonly pieces: readonly Piece[]
  /** The first line that can't be read, counted from 1; null where all can. */
  readonly faultLine: number | null
}

/** The parser names the words of the language after themselves, and everything else in capitals. */
const KEYWORD = /^[a-z]+$/

/** Nodes whose own text lies between their children. */
const INSIDE_OF: Readonly<Record<string, PieceKind>> = { TemplateString: 'string', Interpolation: 'plain' }

const KIND_OF: Readonly<Record<string, PieceKind>> = {
  String: 'string',
  RegExp: 'string',
  Number: 'number',
  BooleanLiteral: 'number',
  null: 'number',
  LineComment: 'comment',
  BlockComment: 'comment',
  PropertyDefinition: 'property',
  PropertyName: 'property',
}

/** Reads a script. Pure; some 2 ms for each KiB of a script. */
export function colouredScript(text: string): ColouredScript {
  const pieces: Piece[] = []
  /** What stands between the nodes: a template string's own text is of its kind. */
  const around: PieceKind[] = ['plain']
  let from = 0
  let faultAt: number | undefined
  const add = (to: number, kind: PieceKind): void => {
    if (to > from) pieces.push({ text: text.slice(from, to), kind })
    from = Math.max(from, to)
  }
  parser.parse(text).iterate({
    enter: (node) => {
      if (node.type.isError) faultAt ??= node.from
      const inside = INSIDE_OF[node.name]
      const kind = inside === undefined ? kindOf(node) : undefined
      if (inside === undefined && kind === undefined) return true
      add(node.from, around.at(-1) ?? 'plain')
      if (kind === undefined) around.push(inside ?? 'plain')
      else add(node.to, kind)
      return kind === undefined
    },
    leave: (node) => {
      if (INSIDE_OF[node.name] !== undefined) add(node.to, around.pop() ?? 'plain')
    },
  })
  add(text.length, 'plain')
  return { pieces, faultLine: faultAt === undefined ? null : lineOf(text, faultAt) }
}

function kindOf({
  name,
  type,
}: {
  readonly name: string
  readonly type: { readonly isError: boolean }
}): PieceKind | undefined {
  if (type.isError) return 'fault'
  return KIND_OF[name] ?? (KEYWORD.test(name) ? 'keyword' : undefined)
}

/**
 * Of the last character before the position that is no white space: what is missing is missing
 * there.
 */
function lineOf(text: string, position: number): number {
  return text.slice(0, position).trimEnd().split('\n').length
}
