import type { Actor, Listed, Page, Result, Viewer } from './result.ts'

/** How an application's payloads are decoded and encoded. */
export type PayloadCodec = '' | 'CAYENNE_LPP' | 'CUSTOM_JS'

/** What may be changed of an application. */
export interface ApplicationFields {
  readonly name: string
  readonly description: string
  readonly serviceProfileId: string
  readonly serviceProfileName: string
  readonly payloadCodec: PayloadCodec
  readonly payloadEncoderScript: string
  readonly payloadDecoderScript: string
}

/** An application to be. It stays with its organization for life. */
export interface NewApplication extends ApplicationFields {
  readonly organizationId: string
}

/** A group of devices that belong together. */
export interface Application extends NewApplication {
  readonly id: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** The applications of all organizations. */
export interface Applications {
  /**
   * The name is unique within the organization. Refusals: invalid_name, invalid_description, invalid_service_profile,
   * invalid_payload_codec, invalid_payload_script, organization_not_found, application_exists.
   */
  create(application: NewApplication, actor: Actor): Promise<Result<{ readonly id: string }>>
  get(id: string): Promise<Application | undefined>
  /** Changes the fields that are given. Refusals: application_not_found and those of `create`. */
  update(id: string, fields: Partial<ApplicationFields>, actor: Actor): Promise<Result<void>>
  /** Removes it with its devices. Refusal: application_not_found. */
  remove(id: string, actor: Actor): Promise<Result<void>>
  /** Sorted by name; `search` looks into name and description. */
  list(viewer: Viewer, page: Page & { readonly organizationId?: string }): Promise<Listed<Application>>
}
