/**
 * The bounds of tenants' scripts, each beside the attack that it stops. docs/codecs.md explains
 * them to users.
 */

/**
 * The longest script, in UTF-16 code units. The makers of sensors have published 2,225
 * scripts: 82 have more than 65,536, and none has more than this. Stops megabytes from being
 * parsed.
 */
export const MAXIMUM_SCRIPT_LENGTH = 524_288

/** The processor time that loading a script may take, and each call. After it the call fails. */
export const SCRIPT_TIME_MS = 100

/**
 * The time that may pass during a call whose process has to wait for a processor. So scripts do not
 * fail because the machine is busy with something else, and one script can't hold a process
 * for long.
 */
export const SCRIPT_ELAPSED_MS = 400

/**
 * The time from handing a job to a process until its answer. After it the process is killed: the
 * engine looks at its clock between instructions, but some built-in functions loop inside one
 * instruction. Longer than `SCRIPT_ELAPSED_MS` allows for loading and a call together.
 */
export const HARD_TIME_MS = 1_000

/**
 * Jobs that go to a process in one message, and the time after which it runs no further one of
 * them. A message costs as much as a job. The bounds keep the wait of other organizations short.
 */
export const MAXIMUM_TOGETHER = 32
export const TOGETHER_MS = 5

/**
 * The time after a message to a process in which further jobs gather for the next message. An
 * uplink's reception takes the network server a hundred times as long.
 */
export const GATHER_MS = 4

/**
 * Jobs of several organizations that go together although another process is idle. Two messages
 * for them would cost more time than they save.
 */
export const FEW_TOGETHER = 8

/**
 * A run that takes longer is reported while it goes on, so that the jobs behind it can run
 * elsewhere. Longer than nearly all runs take.
 */
export const LONG_RUN_MS = 3

/**
 * How long a process may take to start. After it waiting jobs fail, and the next job starts another
 * process.
 */
export const PROCESS_START_MS = 10_000

/**
 * Jobs that wait, in KiB of input; a job counts as one KiB at least, and a usual job is no larger.
 * All of them are eight seconds of work at 2,000 uplinks a second. The bounds of an organization
 * and of an application leave room for the others. At a bound, jobs are refused, so that a flood
 * can't fill the memory. Where organizations have filled all the room together, a further one still
 * has its assured room.
 */
export const MAXIMUM_WAITING_KIB = 16_384
export const MAXIMUM_WAITING_KIB_PER_ORGANIZATION = 4_096
export const MAXIMUM_WAITING_KIB_PER_APPLICATION = 2_048
export const ASSURED_WAITING_KIB_PER_ORGANIZATION = 256

/**
 * Time of a processor that the end of a process costs its organization, beside the time of the run:
 * about what it takes to start another process.
 */
export const PROCESS_COST_MS = 150

/**
 * Processes for scripts, also on a machine with one processor: one process is always left for
 * organizations whose scripts are quick.
 */
export const CODEC_PROCESSES = 2

/**
 * The heap of such a process beside the engine's memory and the images of scripts, which do not
 * count here. The JavaScript beside the engine needs little. Only Node knows such a bound.
 */
export const PROCESS_HEAP_MB = 64

/**
 * Scripts whose text and digest the pool remembers, in number and in UTF-16 code units. Waiting
 * jobs share one text.
 */
export const MAXIMUM_KNOWN_SCRIPTS = 8_192
export const MAXIMUM_KNOWN_SCRIPT_LENGTH = 67_108_864

/**
 * Memory that a script may allocate. With the engine, its stack and its tables it fits into
 * `ENGINE_MEMORY_PAGES`, which never grow: an array of 1 GB becomes an exception in the script.
 */
export const SCRIPT_MEMORY_BYTES = 8 * 1024 * 1024

/** Pages of 64 KiB in an engine's memory, at the beginning and at most: 16 MiB. */
export const ENGINE_MEMORY_PAGES = 256

/**
 * The engine's stack: enough for some hundred nested calls. Endless recursion becomes an exception
 * in the script.
 */
export const SCRIPT_STACK_BYTES = 256 * 1024

/**
 * The longest result as JSON, in UTF-16 code units. Real results have some 500. Stops an uplink
 * from becoming an event of megabytes.
 */
export const MAXIMUM_OUTPUT_LENGTH = 32_768

/**
 * Levels of objects within objects in a result. Stops results that overflow the stack of a
 * recursive reader.
 */
export const MAXIMUM_OUTPUT_DEPTH = 32

/**
 * The longest input of a script as JSON, in UTF-16 code units: the bytes or the object, and the
 * device's variables.
 */
export const MAXIMUM_INPUT_LENGTH = 65_536

/** The longest text of an exception, an error or a warning of a script. */
export const MAXIMUM_TEXT_LENGTH = 300

/** Errors and warnings of one call that are told. Further ones are left out. */
export const MAXIMUM_NOTES = 10

/**
 * Lines that a script may write to its console in one call, and their length. Further lines and
 * characters are left out.
 */
export const MAXIMUM_CONSOLE_LINES = 100
export const MAXIMUM_CONSOLE_LINE_LENGTH = 500

/**
 * Loaded scripts of a process, in number and in bytes. A usual script takes some 100 KB, a hostile
 * script up to `MAXIMUM_KEPT_BYTES`. At a bound the scripts are dropped that were used least
 * lately. A script that is needed again is loaded again, which takes some ms.
 */
export const MAXIMUM_LOADED_SCRIPTS = 2_048
export const MAXIMUM_LOADED_BYTES = 134_217_728

/**
 * Memory that a script may keep once it is loaded. Each call begins with a copy of it, which takes
 * 0.1 ms for each MiB.
 */
export const MAXIMUM_KEPT_BYTES = 4 * 1024 * 1024
