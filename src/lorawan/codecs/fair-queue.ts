/**
 * A queue that decides whose job is next. Jobs wait by organization and application, and the
 * organization that has used the least time goes first. So an organization with slow scripts, or
 * with a thousand applications, waits only for itself. Within an organization the same rule holds
 * between its applications. Jobs of an application keep their order, and run one at a time. Several
 * jobs may be taken together, and then run one after the other.
 */

/** The bounds of the queue, on the sums of the sizes of jobs. */
export interface FairQueueLimits {
  /** Waiting jobs of all organizations. */
  readonly total: number
  /** Waiting jobs of one organization. */
  readonly perOrganization: number
  /** Waiting jobs of one application. */
  readonly perApplication: number
  /** Waiting jobs that an organization may have, however many the others have. */
  readonly assuredPerOrganization: number
  /** Jobs of one organization that run at the same time. Jobs that were taken together are one. */
  readonly runningPerOrganization: number
}

/** A job that was taken out of the queue. `finished` must be called for it. */
export interface TakenJob<Job> {
  readonly job: Job
  readonly organizationId: string
  readonly applicationKey: string
  readonly size: number
  /** Shared by the jobs of one organization that were taken together. */
  readonly batch: Batch
}

/** The jobs of one organization that run one after the other. */
interface Batch {
  /** Its jobs that are not over. */
  jobs: number
}

interface Share {
  /** The time used, in ms. Counted from the floor at the moment when this share began to wait. */
  usedMs: number
  running: number
}

interface ApplicationShare<Job> extends Share {
  readonly jobs: { readonly job: Job; readonly size: number }[]
  waitingSize: number
}

interface OrganizationShare<Job> extends Share {
  /** Its batches that run now. */
  batches: number
  waiting: number
  waitingSize: number
  readonly applications: Map<string, ApplicationShare<Job>>
}

/**
 * Shares without waiting jobs that are kept because they used more time than others. At the bound
 * they are forgotten.
 */
const MAXIMUM_IDLE_SHARES = 1_000

/** A queue of jobs that is fair in the time that jobs take, not in their number. */
export class FairQueue<Job> {
  readonly #limits: FairQueueLimits
  readonly #isSlow: (organizationId: string) => boolean
  readonly #organizations = new Map<string, OrganizationShare<Job>>()
  /**
   * The used time of the share that was served last. A new share begins here: it gets no credit for
   * the time when it was away.
   */
  #floorMs = 0
  #waiting = 0
  #waitingSize = 0
  #running = 0

  /** `isSlow` tells whether a job of the organization may take very long. */
  constructor(limits: FairQueueLimits, isSlow: (organizationId: string) => boolean = () => false) {
    this.#limits = limits
    this.#isSlow = isSlow
  }

  /** Waiting jobs. */
  get size(): number {
    return this.#waiting
  }

  /** Adds a job. False at a bound: the job is not added. */
  push(organizationId: string, applicationKey: string, job: Job, size: number): boolean {
    const { total, perOrganization, perApplication, assuredPerOrganization } = this.#limits
    const sizeOfOrganization = this.#organizations.get(organizationId)?.waitingSize ?? 0
    if (this.#waitingSize + size > total && sizeOfOrganization + size > assuredPerOrganization) return false
    const organization = this.#organizationOf(organizationId)
    if (organization.waitingSize + size > perOrganization) return false
    const application = applicationOf(organization, applicationKey)
    if (application.waitingSize + size > perApplication) return false
    if (organization.waiting === 0) organization.usedMs = Math.max(organization.usedMs, this.#floorMs)
    if (application.jobs.length === 0) application.usedMs = Math.max(application.usedMs, leastUsed(organization))
    application.jobs.push({ job, size })
    organization.waiting += 1
    this.#waiting += 1
    this.#resize(organization, application, size)
    return true
  }

  /**
   * True when there is a job that may run now. Slow organizations run at most `maximumOfSlow` jobs
   * together.
   */
  hasNext(maximumOfSlow = Infinity): boolean {
    return this.#choose(maximumOfSlow) !== undefined
  }

  /**
   * The next job that may run now. Slow organizations run at most `maximumOfSlow` jobs together.
   */
  next(maximumOfSlow = Infinity): TakenJob<Job> | undefined {
    const chosen = this.#choose(maximumOfSlow)
    if (chosen === undefined) return undefined
    const { organizationId, organization, applicationKey } = chosen
    this.#floorMs = Math.max(this.#floorMs, organization.usedMs)
    return this.#take(organizationId, applicationKey, this.#batchOf(organization))
  }

  /**
   * More jobs of the organization of a job that was taken, to run behind it: one of each
   * application in turn, `maximum` at most.
   */
  nextTogether({ organizationId, applicationKey, batch }: TakenJob<Job>, maximum: number): TakenJob<Job>[] {
    const taken: TakenJob<Job>[] = []
    const { applications } = this.#organizationOf(organizationId)
    // The jobs of another application that runs elsewhere must wait for it.
    const free = [...applications].filter(([key, { running }]) => running === 0 || key === applicationKey)
    for (let found = -1; found < taken.length && taken.length < maximum;) {
      found = taken.length
      for (const [key, { jobs }] of free) {
        if (jobs.length > 0 && taken.length < maximum) taken.push(this.#take(organizationId, key, batch))
      }
    }
    return taken
  }

  /**
   * Jobs of other organizations, to run behind a job that was taken, `maximum` at most: of
   * organizations of which nothing runs now, and only jobs that may join.
   */
  nextOfOthers(
    { organizationId }: TakenJob<Job>,
    maximum: number,
    mayJoin: (organizationId: string, job: Job) => boolean,
  ): TakenJob<Job>[] {
    const taken: TakenJob<Job>[] = []
    for (const [otherId, other] of this.#organizations) {
      if (taken.length >= maximum) break
      if (otherId === organizationId || other.waiting === 0 || other.batches > 0) continue
      let batch: Batch | undefined
      for (const [key, { jobs }] of other.applications) {
        for (let next = jobs[0]; next !== undefined && taken.length < maximum; next = jobs[0]) {
          if (!mayJoin(otherId, next.job)) break
          taken.push(this.#take(otherId, key, (batch ??= this.#batchOf(other))))
        }
      }
    }
    return taken
  }

  /**
   * Puts a job that was taken, and has not run, in front of the others of its application. Where
   * there are several, the last one has to be put back first.
   */
  putBack({ organizationId, applicationKey, job, size, batch }: TakenJob<Job>): void {
    const organization = this.#organizationOf(organizationId)
    const application = applicationOf(organization, applicationKey)
    application.jobs.unshift({ job, size })
    this.#resize(organization, application, size)
    application.running -= 1
    organization.running -= 1
    leave(organization, batch)
    organization.waiting += 1
    this.#running -= 1
    this.#waiting += 1
  }

  /** The job is over, and took this time. */
  finished({ organizationId, applicationKey, batch }: TakenJob<Job>, usedMs: number): void {
    const organization = this.#organizationOf(organizationId)
    const application = applicationOf(organization, applicationKey)
    application.running -= 1
    application.usedMs += usedMs
    organization.running -= 1
    leave(organization, batch)
    organization.usedMs += usedMs
    this.#running -= 1
    this.#forget()
  }

  /** Takes all waiting jobs out of the queue; none of them will run. */
  drain(): Job[] {
    const jobs: Job[] = []
    for (const organization of this.#organizations.values()) {
      for (const application of organization.applications.values()) {
        for (const { job } of application.jobs.splice(0)) jobs.push(job)
        application.waitingSize = 0
      }
      organization.waiting = 0
      organization.waitingSize = 0
    }
    this.#waiting = 0
    this.#waitingSize = 0
    return jobs
  }

  #choose(maximumOfSlow: number) {
    const maySlowRun = this.#runningOfSlow() < maximumOfSlow
    let chosen: { organizationId: string; organization: OrganizationShare<Job>; applicationKey: string } | undefined
    for (const [organizationId, organization] of this.#organizations) {
      if (organization.waiting === 0 || organization.batches >= this.#limits.runningPerOrganization) continue
      if (chosen !== undefined && chosen.organization.usedMs <= organization.usedMs) continue
      if (!maySlowRun && this.#isSlow(organizationId)) continue
      const applicationKey = nextApplication(organization)
      if (applicationKey !== undefined) chosen = { organizationId, organization, applicationKey }
    }
    return chosen
  }

  #batchOf(organization: OrganizationShare<Job>): Batch {
    organization.batches += 1
    return { jobs: 0 }
  }

  #take(organizationId: string, applicationKey: string, batch: Batch): TakenJob<Job> {
    const organization = this.#organizationOf(organizationId)
    const application = applicationOf(organization, applicationKey)
    const { job, size } = application.jobs.shift() as { readonly job: Job; readonly size: number }
    this.#resize(organization, application, -size)
    application.running += 1
    organization.running += 1
    organization.waiting -= 1
    this.#running += 1
    this.#waiting -= 1
    batch.jobs += 1
    return { job, organizationId, applicationKey, size, batch }
  }

  #runningOfSlow(): number {
    let running = 0
    for (const [organizationId, organization] of this.#organizations) {
      if (organization.batches > 0 && this.#isSlow(organizationId)) running += organization.batches
    }
    return running
  }

  #organizationOf(organizationId: string): OrganizationShare<Job> {
    const known = this.#organizations.get(organizationId)
    if (known !== undefined) return known
    const none = { running: 0, batches: 0, waiting: 0, waitingSize: 0 }
    const organization = { ...none, usedMs: this.#floorMs, applications: new Map() }
    this.#organizations.set(organizationId, organization)
    return organization
  }

  #resize(organization: OrganizationShare<Job>, application: ApplicationShare<Job>, size: number): void {
    application.waitingSize += size
    organization.waitingSize += size
    this.#waitingSize += size
  }

  /**
   * Forgets shares. When no job waits or runs, all shares begin anew. Otherwise shares that would
   * gain by being forgotten are kept, up to a bound.
   */
  #forget(): void {
    if (this.#waiting === 0 && this.#running === 0) {
      this.#organizations.clear()
      this.#floorMs = 0
      return
    }
    let idle = 0
    for (const [organizationId, organization] of this.#organizations) {
      if (organization.waiting > 0 || organization.running > 0) {
        forgetApplications(organization)
        continue
      }
      idle += 1
      if (organization.usedMs <= this.#floorMs || idle > MAXIMUM_IDLE_SHARES) this.#organizations.delete(organizationId)
    }
  }
}

/** A job of the batch is over, or will run in another one. */
function leave(organization: { batches: number }, batch: Batch): void {
  batch.jobs -= 1
  if (batch.jobs === 0) organization.batches -= 1
}

function applicationOf<Job>(organization: OrganizationShare<Job>, key: string): ApplicationShare<Job> {
  const known = organization.applications.get(key)
  if (known !== undefined) return known
  const application: ApplicationShare<Job> = { usedMs: 0, running: 0, jobs: [], waitingSize: 0 }
  organization.applications.set(key, application)
  return application
}

/** The key of the application with a waiting job and no running job that used the least time. */
function nextApplication<Job>(organization: OrganizationShare<Job>): string | undefined {
  let chosen: { readonly key: string; readonly usedMs: number } | undefined
  for (const [key, { jobs, running, usedMs }] of organization.applications) {
    if (jobs.length === 0 || running > 0) continue
    if (chosen === undefined || usedMs < chosen.usedMs) chosen = { key, usedMs }
  }
  return chosen?.key
}

/** The used time with which a new application begins. */
function leastUsed<Job>(organization: OrganizationShare<Job>): number {
  let least = Infinity
  for (const { jobs, running, usedMs } of organization.applications.values()) {
    if (jobs.length > 0 || running > 0) least = Math.min(least, usedMs)
  }
  return least === Infinity ? 0 : least
}

function forgetApplications<Job>(organization: OrganizationShare<Job>): void {
  if (organization.applications.size <= MAXIMUM_IDLE_SHARES) return
  for (const [key, { jobs, running }] of organization.applications) {
    if (jobs.length === 0 && running === 0) organization.applications.delete(key)
  }
}
