//! rumqttc (MQTT 5): prints events, and connects with a new token each time. `cargo run --release`
use std::env::var;
use std::time::{Duration, Instant};

use rumqttc::v5::mqttbytes::v5::Packet;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::{AsyncClient, Event, MqttOptions};
use rumqttc::Transport;
use serde_json::{json, Value};

type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Tokens, each used for three fifths of its life.
struct Tokens {
    agent: ureq::Agent,
    current: String,
    good_until: Instant,
}

impl Tokens {
    fn new(authority: Option<&[u8]>) -> Result<Self, Fault> {
        let mut tls = ureq::tls::TlsConfig::builder();
        if let Some(pem) = authority {
            let certificate = ureq::tls::Certificate::from_pem(pem)?.to_owned();
            tls = tls.root_certs(ureq::tls::RootCerts::new_with_certs(&[certificate]));
        }
        let config = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .timeout_global(Some(Duration::from_secs(10)));
        Ok(Self { agent: config.build().into(), current: String::new(), good_until: Instant::now() })
    }

    fn current(&mut self) -> Result<String, Fault> {
        if Instant::now() >= self.good_until {
            let lifetime = var("FIELDGATE_TOKEN_SECONDS").unwrap_or_else(|_| "86400".into());
            let login = json!({"username": var("FIELDGATE_USER")?, "password": var("FIELDGATE_PASSWORD")?});
            let session = self.post("/api/internal/login", &login, "")?;
            let wish = json!({"organizationId": var("FIELDGATE_ORGANIZATION")?, "ttlInSeconds": lifetime});
            let session = session["jwt"].as_str().unwrap_or_default().to_owned();
            let access = self.post("/api/mosquitto-auth/login", &wish, &session)?;
            self.current = access["jwtMqttAuth"].as_str().unwrap_or_default().to_owned();
            self.good_until = Instant::now() + Duration::from_secs_f64(lifetime.parse::<f64>()? * 0.6);
        }
        Ok(self.current.clone())
    }

    fn post(&self, path: &str, body: &Value, session: &str) -> Result<Value, Fault> {
        let request = self
            .agent
            .post(format!("{}{path}", var("FIELDGATE_URL")?))
            .header("Grpc-Metadata-Authorization", format!("Bearer {session}"));
        Ok(request.send_json(body)?.body_mut().read_json()?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Fault> {
    // rumqttc and ureq bring two implementations of cryptography. This line chooses one for both.
    let _ = rumqttc::tokio_rustls::rustls::crypto::aws_lc_rs::default_provider().install_default();
    let authority = var("FIELDGATE_CA").ok().map(std::fs::read).transpose()?;
    let topic = var("FIELDGATE_TOPIC")?;
    let mut tokens = Tokens::new(authority.as_deref())?;
    let port = var("FIELDGATE_PORT").unwrap_or_else(|_| "8883".into()).parse()?;
    let mut options = MqttOptions::new(var("FIELDGATE_CLIENT_ID")?, var("FIELDGATE_HOST")?, port);
    options.set_transport(match authority {
        Some(pem) => Transport::tls(pem, None, None),
        None => Transport::tls_with_default_config(),
    });
    options.set_clean_start(false);
    // The broker keeps events while this client is away, for a day.
    options.set_session_expiry_interval(Some(86400));
    options.set_credentials(tokens.current()?, "default");
    let (client, mut events) = AsyncClient::new(options, 100);
    loop {
        match events.poll().await {
            Ok(Event::Incoming(Packet::ConnAck(connack))) if !connack.session_present => {
                client.subscribe(topic.clone(), QoS::AtLeastOnce).await?;
            }
            Ok(Event::Incoming(Packet::Publish(publish))) => {
                println!("{} {}", String::from_utf8_lossy(&publish.topic), String::from_utf8_lossy(&publish.payload));
            }
            Ok(_) => {}
            Err(error) => {
                // When the token ends, the broker closes the connection, and poll answers an error. The next poll connects again.
                eprintln!("{error}");
                tokio::time::sleep(Duration::from_secs(1)).await;
                match tokio::task::block_in_place(|| tokens.current()) {
                    Ok(token) => {
                        events.options.set_credentials(token, "default");
                    }
                    Err(fault) => eprintln!("{fault}"),
                }
            }
        }
    }
}
