import com.hivemq.client.mqtt.MqttGlobalPublishFilter;
import com.hivemq.client.mqtt.datatypes.MqttQos;
import com.hivemq.client.mqtt.mqtt5.Mqtt5AsyncClient;
import com.hivemq.client.mqtt.mqtt5.Mqtt5Client;
import com.hivemq.client.mqtt.mqtt5.lifecycle.Mqtt5ClientDisconnectedContext;
import com.hivemq.client.mqtt.mqtt5.lifecycle.Mqtt5ClientReconnector;
import com.hivemq.client.mqtt.mqtt5.message.connect.Mqtt5Connect;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** HiveMQ's client (MQTT 5): prints events, and connects with a new token each time. mvn compile exec:java -Dexec.mainClass=HiveMqEvents */
public final class HiveMqEvents {
  public static void main(String[] arguments) throws Exception {
    Tokens tokens = new Tokens();
    Mqtt5AsyncClient client = Mqtt5Client.builder()
        .identifier(System.getenv("FIELDGATE_CLIENT_ID"))
        .serverHost(System.getenv("FIELDGATE_HOST"))
        .serverPort(Integer.parseInt(System.getenv().getOrDefault("FIELDGATE_PORT", "8883")))
        .sslConfig().trustManagerFactory(Tokens.authorities()).applySslConfig()
        // When the token ends, the broker closes the connection, and the client calls this. Without a user name here, the client would send none.
        .addDisconnectedListener(context -> {
          System.err.println(context.getCause().getMessage());
          Mqtt5ClientReconnector reconnector = ((Mqtt5ClientDisconnectedContext) context).getReconnector();
          reconnector.reconnect(true).delay(1, TimeUnit.SECONDS)
              .reconnectWhen(CompletableFuture.supplyAsync(() -> connect(tokens)), (connect, fault) -> {
                if (connect != null) reconnector.connect(connect);
              });
        })
        .buildAsync();
    client.publishes(MqttGlobalPublishFilter.ALL, publish ->
        System.out.println(publish.getTopic() + " " + new String(publish.getPayloadAsBytes(), StandardCharsets.UTF_8)));
    boolean isKnown = client.connect(connect(tokens)).join().isSessionPresent();
    if (!isKnown) client.subscribeWith().topicFilter(System.getenv("FIELDGATE_TOPIC")).qos(MqttQos.AT_LEAST_ONCE).send().join();
    Thread.currentThread().join();
  }

  private static Mqtt5Connect connect(Tokens tokens) {
    try {
      return Mqtt5Connect.builder()
          .cleanStart(false)
          // The broker keeps events while this client is away, for a day.
          .sessionExpiryInterval(86400)
          .simpleAuth().username(tokens.current()).password("default".getBytes(StandardCharsets.UTF_8)).applySimpleAuth()
          .build();
    } catch (Exception fault) {
      throw new IllegalStateException(fault);
    }
  }
}
