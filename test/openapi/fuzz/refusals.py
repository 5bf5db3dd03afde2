"""What Schemathesis must know of this service beyond its OpenAPI document.

A request that obeys the schema may still be refused with 400: for what the service has (a second factor that is off), or
for a rule between two members, which generators of clients can't read in a schema. Each such rule stands here; any other
refusal of a well-formed request is a failure.
"""

import re

import schemathesis

# Statuses that say nothing of the request's form: no credential, no right, no such thing, taken, too many.
NOT_OF_THE_FORM = {401, 403, 404, 409, 429}

FAILED_PRECONDITION = 9

# Operation, reason, message: regular expressions that match from the beginning.
RULES = [
    # JSON.parse would make these members part of an object's nature, so they are refused whatever the schema says.
    (r".*", r"invalid_json$", r"the body is not valid JSON$"),
    (r"addMember$", r"invalid_argument$", r"organizationUser\.email: is missing$"),
    (r"createApplication$", r"invalid_application_id$", r"id must be a UUID in lower case, or digits up to"),
    (r"updateApplication$", r"invalid_argument$", r"application\.organizationID: an application stays"),
    (r"updateDevice$", r"other_organization$", r""),
    (r"createBrokerToken$", r"ttl_out_of_range$", r"ttlInSeconds: must be a whole number from 1 to"),
    (r"createBrokerToken$", r"ttl_out_of_range$", r"ttlInSeconds: must be at most 3600 with isOfConsole$"),
    (r"(create|try)NetworkServer$", r"organization_not_found$", r"networkServer\.tenants: there is no organization"),
    (r"(create|update)Application$", r"script_not_parsed$", r"application\.payload(De|En)coderScript: is no JavaScript"),
    # A pattern can tell neither a URL nor a certificate.
    (r"(create|try)NetworkServer$", r"invalid_argument$", r"networkServer\.(url|caCertificate): must "),
    (r"setPassword$", r"invalid_argument$", r"oldPassword: is missing$"),
    (r"importDevices$", r"invalid_csv$", r""),
    (r"testCodec$", r"invalid_argument$", r"data: is missing, and hex and object as well$"),
    (r"testCodec$", r"invalid_argument$", r"hex: is given, and data as well$"),
    (r"sendCommand$", r"command_expired$", r""),
    (r"sendCommand$", r"command_member_missing$", r"deviceQueueItem\.data: is missing, and (json)?[oO]bject as well$"),
    # What an object must look like is its application's codec's to say.
    (r"sendCommand$", r"command_(codec_missing|codec_failed|data_too_long)$", r""),
    (r"sendCommand$", r"command_id_taken$", r""),
    (r"sendCommand$", r"command_\w+$", r"deviceQueueItem\.(object|jsonObject)\b"),
    (r"sendCommand$", r"invalid_argument$", r"deviceQueueItem\.jsonObject: is not JSON$"),
    (r"list(Device|Application)Events$", r"invalid_argument$", r"from: must not be later than to$"),
    (r"list(Device|Application)Events$", r"invalid_argument$", r"after: must be the id of an event of this application"),
    (r"post(ChirpStack|TheThingsStack)Event$", r"event_invalid$", r""),
]


@schemathesis.check
def valid_data_is_accepted(ctx, response, case):
    meta = case.meta
    if meta is None or not meta.generation.mode.is_positive:
        return
    status = response.status_code
    if not 400 <= status < 500 or status in NOT_OF_THE_FORM:
        return
    error = response.json()
    reason, message = error["details"][0]["reason"], error["message"]
    if error["code"] == FAILED_PRECONDITION:
        return
    if reason == "invalid_json" and not re.search(rb"__proto__|constructor", case_body(response)):
        raise AssertionError(f"valid JSON was refused: {message}")
    operation = case.operation.definition.raw.get("operationId", "")
    for rule in RULES:
        if all(re.match(pattern, text) for pattern, text in zip(rule, (operation, reason, message))):
            return
    raise AssertionError(f"a request that obeys the schema was refused: {status} {reason}: {message}")


def case_body(response) -> bytes:
    """The body as it was sent."""
    body = response.request.body or b""
    return body.encode() if isinstance(body, str) else body
