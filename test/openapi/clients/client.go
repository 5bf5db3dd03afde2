// The main flow by the client of oapi-codegen.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"

	"fieldgate.test/client/fieldgate"
)

func main() {
	ctx := context.Background()
	baseURL := os.Getenv("BASE_URL")
	anonymous := must(fieldgate.NewClientWithResponses(baseURL))
	session := must(anonymous.LoginWithResponse(ctx, fieldgate.LoginRequest{
		Username: os.Getenv("USER_NAME"),
		Password: os.Getenv("PASSWORD"),
	})).JSON200
	bearer := func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+session.Jwt)
		return nil
	}
	client := must(fieldgate.NewClientWithResponses(baseURL, fieldgate.WithRequestEditorFn(bearer)))

	limit, ttl := 999, "3600"
	organizations := must(client.ListOrganizationsWithResponse(ctx, &fieldgate.ListOrganizationsParams{Limit: &limit}))
	var organization fieldgate.Organization = organizations.JSON200.Result[0]
	applications := must(client.ListApplicationsWithResponse(ctx, &fieldgate.ListApplicationsParams{
		Limit: &limit, OrganizationID: &organization.Id,
	}))
	var application fieldgate.Application = applications.JSON200.Result[0]
	token := must(client.CreateBrokerTokenWithResponse(ctx, fieldgate.CreateBrokerTokenRequest{
		OrganizationId: organization.Id, TtlInSeconds: &ttl,
	}))
	devices := must(client.ListDevicesWithResponse(ctx, &fieldgate.ListDevicesParams{ApplicationID: &application.Id}))
	devEUI := devices.JSON200.Result[0].DevEUI

	eventTopic := must(client.GetApplicationEventTopicWithResponse(ctx, &fieldgate.GetApplicationEventTopicParams{
		ApplicationId: application.Id, OrganizationId: organization.Id,
	}))
	deviceTopics := must(client.GetDeviceEventTopicsWithResponse(ctx, &fieldgate.GetDeviceEventTopicsParams{
		DevEui: devEUI, OrganizationId: organization.Id,
	}))
	commandTopic := must(client.GetCommandTopicWithResponse(ctx, &fieldgate.GetCommandTopicParams{
		DevEui: devEUI, OrganizationId: organization.Id,
	}))

	data, id, fPort := "AQID", "oapi-codegen", 10
	command := fieldgate.NewCommand{Confirmed: true, FPort: &fPort, Data: &data, Id: &id}
	accepted := must(client.SendCommandWithResponse(ctx, devEUI, fieldgate.SendCommandRequest{DeviceQueueItem: command}))
	queue := must(client.ListCommandsWithResponse(ctx, devEUI))
	queued := false
	for _, item := range queue.JSON200.DeviceQueueItems {
		queued = queued || item.Id == id && item.State == fieldgate.CommandStateQueued
	}
	if cancelled := must(client.CancelCommandWithResponse(ctx, devEUI, id)); cancelled.JSON200 == nil {
		panic(string(cancelled.Body))
	}

	refused := must(client.GetOrganizationWithResponse(ctx, "987654321"))
	fmt.Println(string(must(json.Marshal(map[string]any{
		"organization": organization.DisplayName,
		"application":  application.Name,
		"parts":        len(strings.Split(token.JSON200.JwtMqttAuth, ".")),
		"eventTopic":   eventTopic.JSON200.Topic,
		"deviceTopics": len(deviceTopics.JSON200.Topic),
		"commandTopic": commandTopic.JSON200.Topic,
		"state":        accepted.JSON200.State,
		"queued":       queued,
		"refusal":      refused.JSON4XX.Details[0].Reason,
	}))))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
