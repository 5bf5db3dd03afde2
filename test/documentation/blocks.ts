/** The blocks of code in the documentation, and the treatment of each. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Lexer } from 'marked'
import type { Token, Tokens } from 'marked'

/** One block. */
export interface Block {
  /** The page's path from the root of the repository: `docs/api.md`. */
  readonly file: string
  /** The place of the block on its page, from 1, for messages. */
  readonly number: number
  /** The first word behind the fence; empty: there is none, or the block is only indented. */
  readonly language: string
  readonly text: string
  /**
   * The reason why the block is not run: the page gives one (`unrun="it asks for a password"`), or
   * the block would change the machine.
   */
  readonly unrun: string | undefined
  /**
   * A text that the block's output must contain, if the page gives one: `says="fPort: 0 is below
   * 1"`.
   */
  readonly says: string | undefined
}

/** Commands that no test may run on its machine. */
const CHANGES_MACHINE =
  /^(?:sudo |systemctl |systemd-|runuser |docker |podman |install |apt-get |npm (?:ci|install|run package)|set -e$)/m

const PAGES = ['README.md', 'docs/*.md', 'docs/network-servers/*.md', 'docs/deploy/*.md', 'deploy/**/*.md']

/** All blocks below `root`, by page, in their order. */
export function readBlocks(root: string): ReadonlyMap<string, readonly Block[]> {
  const files = globSync(PAGES, { cwd: root }).toSorted()
  return new Map(files.map((file) => [file, blocksOf(file, readFileSync(join(root, file), 'utf8'))]))
}

function blocksOf(file: string, source: string): Block[] {
  return codeIn(new Lexer().lex(source)).map(({ text, lang = '' }, position) => ({
    file,
    number: position + 1,
    language: /^\w*/.exec(lang)?.[0] ?? '',
    text,
    unrun: /\bunrun="([^"]+)"/.exec(lang)?.[1] ?? (CHANGES_MACHINE.test(text) ? 'it changes the machine' : undefined),
    says: /\bsays="([^"]+)"/.exec(lang)?.[1],
  }))
}

function codeIn(tokens: readonly Token[]): Tokens.Code[] {
  return tokens.flatMap((token) => {
    if (token.type === 'code') return [token as Tokens.Code]
    if (token.type === 'list') return codeIn((token as Tokens.List).items)
    return 'tokens' in token && token.tokens !== undefined ? codeIn(token.tokens) : []
  })
}
