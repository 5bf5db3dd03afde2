/**
 * The bounds of tenants' scripts, each beside the attack that it stops. docs/codecs.md tells them
 * to users.
 */

/**
 * Of a script, in UTF-16 code units. Makers' codecs have up to 30,000; stops megabytes from being
 * parsed.
 */
export const MAXIMUM_SCRIPT_LENGTH = 65_536

/**
 * Time on the processor that loading a script may take, and each call of it; beyond it the call has
 * failed.
 */
export const SCRIPT_TIME_MS = 100

/**
 * Time that may pass meanwhile, where the thread has to wait for a processor; so that a machine
 * that is busy with something else does not let scripts fail, nor one script hold a thread for
 * long.
 */
export const SCRIPT_ELAPSED_MS = 400

/**
 * Time from handing a job to a worker to its answer, whatever happens there. The engine looks at
 * its clock between instructions, but some built-in functions loop inside one; then the worker is
 * killed. Longer than loading and a call may take by `SCRIPT_ELAPSED_MS`.
 */
export const HARD_TIME_MS = 1_000

/** How long a worker may take to start; then waiting jobs fail, and the next one tries again. */
export const WORKER_START_MS = 10_000

/**
 * What waits for scripts, in KiB of input; a job counts as one KiB at least, and a usual one is no
 * larger. In all it is eight seconds of work at 2,000 uplinks a second. The bounds of an
 * organization and of an application leave room for the others. Beyond them jobs are refused, so
 * that a flood can't fill the memory.
 */
export const MAXIMUM_WAITING_KIB = 16_384
export const MAXIMUM_WAITING_KIB_PER_ORGANIZATION = 4_096
export const MAXIMUM_WAITING_KIB_PER_APPLICATION = 2_048

/** Texts of scripts that are shared by the jobs that wait; beyond it they are collected anew. */
export const MAXIMUM_SHARED_SCRIPTS = 256

/**
 * What a script may allocate. With the engine, its stack and its tables it fits into
 * `ENGINE_MEMORY_PAGES`, which never grow: 1 GB arrays end as an exception in the script.
 */
export const SCRIPT_MEMORY_BYTES = 8 * 1024 * 1024

/** Pages of 64 KiB that an engine's memory has, and the most that it may have: 16 MiB. */
export const ENGINE_MEMORY_PAGES = 256

/**
 * Of the engine's stack: some thousand calls deep. Recursion without end becomes an exception in
 * the script.
 */
export const SCRIPT_STACK_BYTES = 256 * 1024

/**
 * Of a result as JSON, in UTF-16 code units; real ones have some 500. Stops an uplink from becoming
 * megabytes of event.
 */
export const MAXIMUM_OUTPUT_LENGTH = 32_768

/**
 * Of a result: objects within objects. Stops results that overflow the stack of whoever reads them
 * recursively.
 */
export const MAXIMUM_OUTPUT_DEPTH = 32

/**
 * Of what a script is given as JSON, in UTF-16 code units: the bytes or the object, and the
 * device's variables.
 */
export const MAXIMUM_INPUT_LENGTH = 65_536

/** Of the sentences of an exception, an error or a warning that a script makes. */
export const MAXIMUM_TEXT_LENGTH = 300

/** Errors and warnings of one call that are told; the others are left out. */
export const MAXIMUM_NOTES = 10

/**
 * Lines that a script may write to its console in one call, and the length of each; the others are
 * left out.
 */
export const MAXIMUM_CONSOLE_LINES = 100
export const MAXIMUM_CONSOLE_LINE_LENGTH = 500

/**
 * Loaded scripts per worker. One takes some 300 KB, a hostile one up to 16 MiB; at the bound the
 * one goes that was used least lately, and is loaded again when it is needed (4 ms).
 */
export const MAXIMUM_LOADED_SCRIPTS = 16

/** What a script may keep in memory once it is loaded; each call begins with a copy of it. */
export const MAXIMUM_KEPT_BYTES = 2 * 1024 * 1024
