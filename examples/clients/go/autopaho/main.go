// autopaho (MQTT 5): prints events, and connects with a new token each time. go run ./autopaho
package main

import (
	"context"
	"fmt"
	"log"
	"net/url"
	"os"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/paho"

	"example.org/events/token"
)

func main() {
	broker, err := url.Parse(os.Getenv("FIELDGATE_BROKER")) // ssl://fieldgate.example.org:8883
	if err != nil {
		log.Fatal(err)
	}
	topic := os.Getenv("FIELDGATE_TOPIC")
	configuration := autopaho.ClientConfig{
		ServerUrls:            []*url.URL{broker},
		TlsCfg:                token.TLS(),
		KeepAlive:             60,
		SessionExpiryInterval: 86400, // The broker keeps events while this client is away, for a day.
		ConnectPassword:       []byte("default"),
		// The broker closes the connection when the token ends. autopaho then calls this function, and connects again.
		ConnectPacketBuilder: func(connect *paho.Connect, _ *url.URL) (*paho.Connect, error) {
			name, err := token.Current()
			connect.Username, connect.UsernameFlag = name, true
			// By default autopaho sends 0, and the broker then leaves out the sentences of refusals.
			connect.Properties.RequestProblemInfo = true
			return connect, err
		},
		OnConnectionUp: func(manager *autopaho.ConnectionManager, connack *paho.Connack) {
			if connack.SessionPresent {
				return
			}
			subscribe := &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: topic, QoS: 1}}}
			if _, err := manager.Subscribe(context.Background(), subscribe); err != nil {
				log.Println(err)
			}
		},
		OnConnectError: func(err error) { log.Println(err) },
		ClientConfig: paho.ClientConfig{
			ClientID: os.Getenv("FIELDGATE_CLIENT_ID"),
			OnPublishReceived: []func(paho.PublishReceived) (bool, error){
				func(received paho.PublishReceived) (bool, error) {
					fmt.Println(received.Packet.Topic, string(received.Packet.Payload))
					return true, nil
				},
			},
			OnServerDisconnect: func(disconnect *paho.Disconnect) { log.Println("closed by the broker:", disconnect.ReasonCode) },
		},
	}
	manager, err := autopaho.NewConnection(context.Background(), configuration)
	if err != nil {
		log.Fatal(err)
	}
	<-manager.Done()
}
