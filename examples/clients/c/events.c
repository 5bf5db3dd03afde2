/*
 * paho C (MQTT 5): prints events, and connects with a new token each time.
 * Needs libpaho-mqtt-dev, libcurl4-openssl-dev and libcjson-dev:
 *   cc events.c -o events -lpaho-mqtt3as -lcurl -lcjson && ./events
 */
#include <cjson/cJSON.h>
#include <curl/curl.h>
#include <MQTTAsync.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int connected = 0;
static char token[4096];
static time_t good_until = 0;

static const char *setting(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    if (value == NULL && otherwise == NULL) {
        fprintf(stderr, "Set %s.\n", name);
        exit(1);
    }
    return value == NULL ? otherwise : value;
}

struct answer {
    char text[8192];
    size_t length;
};

static size_t collect(char *bytes, size_t size, size_t count, void *to)
{
    struct answer *answer = to;
    size_t length = size * count;
    if (answer->length + length >= sizeof answer->text)
        return 0;
    memcpy(answer->text + answer->length, bytes, length);
    answer->length += length;
    answer->text[answer->length] = 0;
    return length;
}

/* Posts a JSON object, and copies one member of the answer. Returns 0 on success. */
static int post(const char *path, cJSON *body, const char *session, const char *member, char *into, size_t room)
{
    char url[512], credential[4200];
    struct answer answer = {"", 0};
    char *text = cJSON_PrintUnformatted(body);
    CURL *curl = curl_easy_init();
    snprintf(url, sizeof url, "%s%s", setting("FIELDGATE_URL", NULL), path);
    snprintf(credential, sizeof credential, "Grpc-Metadata-Authorization: Bearer %s", session);
    struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
    headers = curl_slist_append(headers, credential);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, text);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, collect);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &answer);
    curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT, 10L);
    if (getenv("FIELDGATE_CA") != NULL)
        curl_easy_setopt(curl, CURLOPT_CAINFO, getenv("FIELDGATE_CA"));
    CURLcode code = curl_easy_perform(curl);
    cJSON *json = code == CURLE_OK ? cJSON_Parse(answer.text) : NULL;
    const char *value = cJSON_GetStringValue(cJSON_GetObjectItem(json, member));
    if (value != NULL)
        snprintf(into, room, "%s", value);
    else
        fprintf(stderr, "%s: %s\n", path, curl_easy_strerror(code));
    int failed = value == NULL;
    cJSON_Delete(json);
    cJSON_free(text);
    cJSON_Delete(body);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return failed;
}

/* Makes sure that `token` has at least two fifths of its life left. Returns 0 on success. */
static int refresh_token(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec < good_until)
        return 0;
    char session[4096];
    const char *lifetime = setting("FIELDGATE_TOKEN_SECONDS", "86400");
    cJSON *login = cJSON_CreateObject();
    cJSON_AddStringToObject(login, "username", setting("FIELDGATE_USER", NULL));
    cJSON_AddStringToObject(login, "password", setting("FIELDGATE_PASSWORD", NULL));
    if (post("/api/internal/login", login, "", "jwt", session, sizeof session))
        return 1;
    cJSON *wish = cJSON_CreateObject();
    cJSON_AddStringToObject(wish, "organizationId", setting("FIELDGATE_ORGANIZATION", NULL));
    cJSON_AddStringToObject(wish, "ttlInSeconds", lifetime);
    if (post("/api/mosquitto-auth/login", wish, session, "jwtMqttAuth", token, sizeof token))
        return 1;
    good_until = now.tv_sec + atol(lifetime) * 6 / 10;
    return 0;
}

static int arrived(void *context, char *topic, int length, MQTTAsync_message *message)
{
    (void)context;
    (void)length;
    printf("%s %.*s\n", topic, message->payloadlen, (char *)message->payload);
    fflush(stdout);
    MQTTAsync_freeMessage(&message);
    MQTTAsync_free(topic);
    return 1;
}

/* When the token ends, the broker closes the connection, and the client calls this. */
static void lost(void *context, char *cause)
{
    (void)context;
    fprintf(stderr, "connection lost: %s\n", cause == NULL ? "" : cause);
    connected = 0;
}

static void closed_by_broker(void *context, MQTTProperties *properties, enum MQTTReasonCodes code)
{
    (void)context;
    (void)properties;
    fprintf(stderr, "closed by the broker: %s\n", MQTTReasonCode_toString(code));
    connected = 0;
}

static void on_connect(void *client, MQTTAsync_successData5 *answer)
{
    connected = 2;
    if (answer->alt.connect.sessionPresent)
        return;
    MQTTAsync_responseOptions response = MQTTAsync_responseOptions_initializer;
    MQTTAsync_subscribe(client, setting("FIELDGATE_TOPIC", NULL), 1, &response);
}

static void on_failure(void *context, MQTTAsync_failureData5 *answer)
{
    (void)context;
    fprintf(stderr, "refused: %s\n", answer->message == NULL ? MQTTReasonCode_toString(answer->reasonCode) : answer->message);
    connected = 0;
}

int main(void)
{
    MQTTAsync client;
    MQTTAsync_createOptions create = MQTTAsync_createOptions_initializer5;
    MQTTAsync_SSLOptions tls = MQTTAsync_SSLOptions_initializer;
    MQTTAsync_connectOptions connect = MQTTAsync_connectOptions_initializer5;
    MQTTProperties properties = MQTTProperties_initializer;
    /* The broker keeps events while this client is away, for a day. */
    MQTTProperty expiry = {.identifier = MQTTPROPERTY_CODE_SESSION_EXPIRY_INTERVAL, .value.integer4 = 86400};
    curl_global_init(CURL_GLOBAL_DEFAULT);
    /* FIELDGATE_BROKER: ssl://fieldgate.example.org:8883 */
    MQTTAsync_createWithOptions(&client, setting("FIELDGATE_BROKER", NULL), setting("FIELDGATE_CLIENT_ID", NULL),
                                MQTTCLIENT_PERSISTENCE_NONE, NULL, &create);
    MQTTAsync_setCallbacks(client, NULL, lost, arrived, NULL);
    MQTTAsync_setDisconnected(client, NULL, closed_by_broker);
    MQTTProperties_add(&properties, &expiry);
    tls.trustStore = setting("FIELDGATE_CA", "/etc/ssl/certs/ca-certificates.crt");
    tls.verify = 1;
    connect.ssl = &tls;
    connect.cleanstart = 0;
    connect.connectProperties = &properties;
    connect.username = token;
    connect.password = "default";
    connect.context = client;
    connect.onSuccess5 = on_connect;
    connect.onFailure5 = on_failure;
    for (;; sleep(1)) {
        if (connected != 0 || refresh_token())
            continue;
        connected = 1;
        if (MQTTAsync_connect(client, &connect) != MQTTASYNC_SUCCESS)
            connected = 0;
    }
}
