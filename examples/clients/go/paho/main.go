// paho.mqtt.golang (MQTT 3.1.1): prints events, and connects with a new token each time. go run ./paho
package main

import (
	"fmt"
	"log"
	"os"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"example.org/events/token"
)

func main() {
	topic := os.Getenv("FIELDGATE_TOPIC")
	options := mqtt.NewClientOptions().AddBroker(os.Getenv("FIELDGATE_BROKER")) // ssl://fieldgate.example.org:8883
	options.SetClientID(os.Getenv("FIELDGATE_CLIENT_ID")).SetCleanSession(false)
	options.SetTLSConfig(token.TLS())
	// The broker closes the connection when the token ends. The client then calls this function, and connects again.
	options.SetCredentialsProvider(func() (string, string) {
		name, err := token.Current()
		if err != nil {
			log.Println(err)
		}
		return name, "default"
	})
	// Events that waited come before the program has subscribed again. This handler takes them.
	options.SetDefaultPublishHandler(func(_ mqtt.Client, message mqtt.Message) {
		fmt.Println(message.Topic(), string(message.Payload()))
	})
	options.SetOnConnectHandler(func(client mqtt.Client) {
		if done := client.Subscribe(topic, 1, nil); done.Wait() && done.Error() != nil {
			log.Println(done.Error())
		}
	})
	// Without this logger, the client prints nothing about a refused connection.
	options.SetConnectionLostHandler(func(_ mqtt.Client, err error) { log.Println(err) })
	mqtt.ERROR = log.Default()
	options.SetConnectRetry(true)
	client := mqtt.NewClient(options)
	if done := client.Connect(); done.Wait() && done.Error() != nil {
		log.Fatal(done.Error())
	}
	select {}
}
