# The other scripts read this file. new_token prints a broker-access token. Needs curl and jq.
post() { # post PATH SESSION BODY
  curl -sS --fail-with-body ${FIELDGATE_CA:+--cacert "$FIELDGATE_CA"} "$FIELDGATE_URL$1" \
    -H 'Content-Type: application/json' -H "Grpc-Metadata-Authorization: Bearer $2" -d "$3"
}
new_token() {
  login=$(jq -nc '{username: env.FIELDGATE_USER, password: env.FIELDGATE_PASSWORD}')
  session=$(post /api/internal/login '' "$login" | jq -r .jwt)
  wish=$(jq -nc '{organizationId: env.FIELDGATE_ORGANIZATION, ttlInSeconds: (env.FIELDGATE_TOKEN_SECONDS // "86400")}')
  post /api/mosquitto-auth/login "$session" "$wish" | jq -er .jwtMqttAuth
}
