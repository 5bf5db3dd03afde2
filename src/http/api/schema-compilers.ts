/**
 * Schemas become code with the first request that needs them. All of them together would take a
 * quarter of the start.
 */
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { SerializerCompiler } from '@fastify/fast-json-stringify-compiler'
import { compileValidator } from './validate.ts'

const serializerFactory = SerializerSelector()

/** Fastify's `schemaController.compilersFactory`. */
export const schemaCompilers = {
  /** Fastify's types know Ajv alone. With this Ajv is not loaded for it. */
  buildValidator: (): never => compileValidator as never,
  buildSerializer: (...context: Parameters<typeof serializerFactory>): SerializerCompiler => {
    const compile = serializerFactory(...context)
    return (route) => {
      let serialize: ReturnType<SerializerCompiler> | undefined
      return (answer) => (serialize ??= compile(route))(answer)
    }
  },
}
