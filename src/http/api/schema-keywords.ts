/**
 * The service's own keywords in the schemas of routes, for the OpenAPI document. The checks of
 * requests do not read them.
 */

/**
 * The schema's name among the components of the document: `Organization`. Only the document loses
 * it.
 */
export const NAME = 'x-name'

/**
 * The schema that stands in the document in the place of this one: where a rule is enforced
 * elsewhere, or where the server accepts more than clients need to know. The description and the
 * examples stay.
 */
export const DOCUMENTED = 'x-documented'

/**
 * In the document: types that the server takes as well, for those who check the server by the
 * document.
 */
export const ALSO_ACCEPTS = 'x-also-accepts'

/**
 * True on a parameter that a request must have, though another refusal than that of the checks
 * tells its absence.
 */
export const DEMANDED = 'x-demanded'
