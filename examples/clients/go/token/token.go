// Package token gets broker-access tokens: it logs in by HTTP.
package token

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

var (
	lock      sync.Mutex
	current   string
	goodUntil time.Time
)

// TLS returns the trusted authorities: the file FIELDGATE_CA, or the system's authorities.
func TLS() *tls.Config {
	file := os.Getenv("FIELDGATE_CA")
	if file == "" {
		return &tls.Config{}
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	return &tls.Config{RootCAs: authorities}
}

// Current returns the present token, or a new token when less than two fifths of its life are left.
func Current() (string, error) {
	lock.Lock()
	defer lock.Unlock()
	if time.Now().Before(goodUntil) {
		return current, nil
	}
	lifetime := Lifetime()
	var login struct{ Jwt string }
	credentials := map[string]string{"username": os.Getenv("FIELDGATE_USER"), "password": os.Getenv("FIELDGATE_PASSWORD")}
	if err := post("/api/internal/login", credentials, "", &login); err != nil {
		return "", err
	}
	var access struct{ JwtMqttAuth string }
	wish := map[string]string{
		"organizationId": os.Getenv("FIELDGATE_ORGANIZATION"),
		"ttlInSeconds":   strconv.Itoa(int(lifetime.Seconds())),
	}
	if err := post("/api/mosquitto-auth/login", wish, login.Jwt, &access); err != nil {
		return "", err
	}
	current, goodUntil = access.JwtMqttAuth, time.Now().Add(lifetime*6/10)
	return current, nil
}

// Lifetime is the lifetime of a new token.
func Lifetime() time.Duration {
	seconds, err := strconv.Atoi(os.Getenv("FIELDGATE_TOKEN_SECONDS"))
	if err != nil {
		seconds = 86400
	}
	return time.Duration(seconds) * time.Second
}

func post(path string, body any, session string, answer any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodPost, os.Getenv("FIELDGATE_URL")+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Grpc-Metadata-Authorization", "Bearer "+session)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: TLS()}, Timeout: 10 * time.Second}
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(response.Body)
		return fmt.Errorf("%s: %s %s", path, response.Status, said)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}
