import java.io.IOException;
import java.nio.charset.StandardCharsets;
import javax.net.ssl.SSLContext;
import org.eclipse.paho.mqttv5.client.IMqttToken;
import org.eclipse.paho.mqttv5.client.MqttAsyncClient;
import org.eclipse.paho.mqttv5.client.MqttCallback;
import org.eclipse.paho.mqttv5.client.MqttConnectionOptions;
import org.eclipse.paho.mqttv5.client.MqttDisconnectResponse;
import org.eclipse.paho.mqttv5.client.persist.MemoryPersistence;
import org.eclipse.paho.mqttv5.common.MqttException;
import org.eclipse.paho.mqttv5.common.MqttMessage;
import org.eclipse.paho.mqttv5.common.packet.MqttProperties;

/** paho Java (MQTT 5): prints events, and connects with a new token each time. mvn compile exec:java -Dexec.mainClass=PahoEvents */
public final class PahoEvents implements MqttCallback {
  public static void main(String[] arguments) throws Exception {
    Tokens tokens = new Tokens();
    // ssl://fieldgate.example.org:8883
    MqttAsyncClient client = new MqttAsyncClient(System.getenv("FIELDGATE_BROKER"), System.getenv("FIELDGATE_CLIENT_ID"), new MemoryPersistence());
    client.setCallback(new PahoEvents());
    SSLContext tls = SSLContext.getInstance("TLS");
    tls.init(null, Tokens.authorities().getTrustManagers(), null);
    // The client's own reconnect would use the ended token for ever. This loop replaces it.
    while (true) {
      if (!client.isConnected()) {
        try {
          MqttConnectionOptions options = new MqttConnectionOptions();
          options.setSocketFactory(tls.getSocketFactory());
          options.setCleanStart(false);
          // The broker keeps events while this client is away, for a day.
          options.setSessionExpiryInterval(86400L);
          options.setUserName(tokens.current());
          options.setPassword("default".getBytes(StandardCharsets.UTF_8));
          IMqttToken connected = client.connect(options);
          connected.waitForCompletion(10_000);
          if (!connected.getSessionPresent()) client.subscribe(System.getenv("FIELDGATE_TOPIC"), 1).waitForCompletion(10_000);
        } catch (MqttException | IOException fault) {
          System.err.println(fault.getMessage());
        }
      }
      Thread.sleep(1000);
    }
  }

  @Override
  public void messageArrived(String topic, MqttMessage message) {
    System.out.println(topic + " " + new String(message.getPayload(), StandardCharsets.UTF_8));
  }

  @Override
  public void disconnected(MqttDisconnectResponse response) {
    // When the token ends, the broker closes the connection, and the client calls this.
    System.err.println("closed: " + response.getReasonString());
  }

  @Override
  public void mqttErrorOccurred(MqttException fault) {
    System.err.println(fault.getMessage());
  }

  @Override
  public void deliveryComplete(IMqttToken token) {}

  @Override
  public void connectComplete(boolean reconnect, String serverUri) {}

  @Override
  public void authPacketArrived(int reasonCode, MqttProperties properties) {}
}
