import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.FileInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.Map;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** Broker-access tokens: logs in by HTTP, and returns a token that has two fifths of its life left. */
final class Tokens {
  private final ObjectMapper json = new ObjectMapper();
  private final HttpClient http;
  private final long lifetimeSeconds = Long.parseLong(System.getenv().getOrDefault("FIELDGATE_TOKEN_SECONDS", "86400"));
  private String current = "";
  private long goodUntilNanos = System.nanoTime();

  Tokens() throws Exception {
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, authorities().getTrustManagers(), null);
    http = HttpClient.newBuilder().sslContext(tls).connectTimeout(Duration.ofSeconds(10)).build();
  }

  /** The authorities of the file FIELDGATE_CA, or the system's. */
  static TrustManagerFactory authorities() throws Exception {
    TrustManagerFactory authorities = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    String file = System.getenv("FIELDGATE_CA");
    if (file == null) {
      authorities.init((KeyStore) null);
      return authorities;
    }
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (FileInputStream pem = new FileInputStream(file)) {
      store.setCertificateEntry("fieldgate", CertificateFactory.getInstance("X.509").generateCertificate(pem));
    }
    authorities.init(store);
    return authorities;
  }

  synchronized String current() throws IOException, InterruptedException {
    if (System.nanoTime() - goodUntilNanos >= 0) {
      String session = post("/api/internal/login", "", Map.of("username", System.getenv("FIELDGATE_USER"), "password", System.getenv("FIELDGATE_PASSWORD"))).get("jwt").asText();
      Map<String, String> wish = Map.of("organizationId", System.getenv("FIELDGATE_ORGANIZATION"), "ttlInSeconds", String.valueOf(lifetimeSeconds));
      current = post("/api/mosquitto-auth/login", session, wish).get("jwtMqttAuth").asText();
      goodUntilNanos = System.nanoTime() + lifetimeSeconds * 600_000_000L;
    }
    return current;
  }

  private JsonNode post(String path, String session, Map<String, String> body) throws IOException, InterruptedException {
    HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("FIELDGATE_URL") + path))
        .header("Content-Type", "application/json")
        .header("Grpc-Metadata-Authorization", "Bearer " + session)
        .timeout(Duration.ofSeconds(10))
        .POST(HttpRequest.BodyPublishers.ofString(json.writeValueAsString(body)))
        .build();
    HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
    if (answer.statusCode() != 200) throw new IOException(path + ": " + answer.statusCode() + " " + answer.body());
    return json.readTree(answer.body());
  }
}
