//! From a URL and options to a client that retries nothing.

use crate::base::{Config, Error, Result, Status};
use crate::store::errors::{self, Secrets};
use slatedb::object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use slatedb::object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use slatedb::object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use slatedb::object_store::path::Path;
use slatedb::object_store::{ClientConfigKey, ObjectStore, RetryConfig};
use std::sync::Arc;
use std::time::Duration;

/// The client's own limit on a request: out of the way. Callers set theirs.
const REQUEST_LIMIT: &str = "1 hour";

/// Environment variables whose values are struck out of every message.
const SECRET_VARIABLES: &[&str] = &[
    "AWS_SECRET_ACCESS_KEY",
    "AWS_ACCESS_KEY_ID",
    "AWS_SESSION_TOKEN",
    "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_ACCESS_KEY",
    "AZURE_STORAGE_SAS_KEY",
    "AZURE_STORAGE_SAS_TOKEN",
    "AZURE_STORAGE_TOKEN",
    "AZURE_CLIENT_SECRET",
    "AZURE_STORAGE_CLIENT_SECRET",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
];

/// A base URL, taken apart.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) scheme: String,
    /// For the builder: no query.
    url: String,
    /// Empty, or a path and a slash.
    pub(super) base: String,
    /// For people.
    pub(super) shown: String,
}

impl Place {
    pub(super) fn parse(text: &str) -> Result<Place> {
        let refuse = |what: &str| Err(Error::new(Status::InvalidArgument, what));
        let url = errors::parse_url(text)?;
        if url.host_str().unwrap_or_default().is_empty() {
            return refuse("the base URL names no bucket");
        }
        let account = url.scheme() == "az" && url.password().is_none();
        if url.password().is_some() || (!url.username().is_empty() && !account) {
            return refuse(
                "the base URL carries credentials: use the environment or store.* instead",
            );
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("the base URL carries a query: use store.* for options");
        }
        let path = Path::from_url_path(url.path()).map_err(|e| {
            Error::new(Status::InvalidArgument, "the base URL's path is not a key").because(e)
        })?;
        let base = if path.as_ref().is_empty() { String::new() } else { format!("{path}/") };
        Ok(Place {
            scheme: url.scheme().to_owned(),
            base,
            shown: errors::shown(&url),
            url: url.to_string(),
        })
    }
}

/// What must never be shown: all options given, but for those that name places, and the
/// environment's credentials.
pub(super) fn secrets(config: &Config) -> Secrets {
    let harmless = |key: &str| {
        let key = key.to_ascii_lowercase();
        ["endpoint", "region", "bucket", "container", "timeout", "http", "emulator", "account_name"]
            .iter()
            .any(|part| key.ends_with(part) || key.contains(&format!("{part}_")))
    };
    let options = config.store.iter().filter(|(key, _)| !harmless(key)).map(|(_, v)| v.clone());
    let variables = SECRET_VARIABLES.iter().filter_map(|name| std::env::var(name).ok());
    Secrets::new(options.chain(variables))
}

/// A new client with a connection pool of its own.
pub(super) fn build(
    place: &Place,
    config: &Config,
    secrets: &Secrets,
) -> Result<Arc<dyn ObjectStore>> {
    match place.scheme.as_str() {
        "s3" => s3(place, config, secrets),
        "gs" => gs(place, config, secrets),
        _ => az(place, config, secrets),
    }
}

fn s3(place: &Place, config: &Config, secrets: &Secrets) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = AmazonS3Builder::from_env()
        .with_url(&place.url)
        .with_retry(no_retries())
        .with_config(AmazonS3ConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT);
    for (key, value) in &config.store {
        let parsed = key.to_ascii_lowercase().parse::<AmazonS3ConfigKey>();
        let option = parsed.map_err(|_| errors::refused_option(key, "s3"))?;
        builder = builder.with_config(option, value);
    }
    let plain = builder
        .get_config_value(&AmazonS3ConfigKey::Endpoint)
        .is_some_and(|endpoint| endpoint.starts_with("http://"));
    if plain && asked_for(config, "endpoint") {
        builder = builder.with_allow_http(true);
    }
    let summed = builder.get_config_value(&AmazonS3ConfigKey::Checksum).is_some();
    if (!plain || summed) && !asked_for(config, "unsigned_payload") {
        // Hashing a payload to sign it takes three times the CPU; TLS or the checksum guard it
        // already.
        builder = builder.with_unsigned_payload(true);
    }
    let built = builder.build().map_err(|e| unbuilt(&e, place, secrets))?;
    Ok(Arc::new(built))
}

fn gs(place: &Place, config: &Config, secrets: &Secrets) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = GoogleCloudStorageBuilder::from_env()
        .with_url(&place.url)
        .with_retry(no_retries())
        .with_config(GoogleConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT);
    for (key, value) in &config.store {
        let parsed = key.to_ascii_lowercase().parse::<GoogleConfigKey>();
        let option = parsed.map_err(|_| errors::refused_option(key, "gs"))?;
        builder = builder.with_config(option, value);
    }
    let built = builder.build().map_err(|e| unbuilt(&e, place, secrets))?;
    Ok(Arc::new(built))
}

fn az(place: &Place, config: &Config, secrets: &Secrets) -> Result<Arc<dyn ObjectStore>> {
    let mut builder = MicrosoftAzureBuilder::from_env()
        .with_url(&place.url)
        .with_retry(no_retries())
        .with_config(AzureConfigKey::Client(ClientConfigKey::Timeout), REQUEST_LIMIT);
    for (key, value) in &config.store {
        let parsed = key.to_ascii_lowercase().parse::<AzureConfigKey>();
        let option = parsed.map_err(|_| errors::refused_option(key, "az"))?;
        builder = builder.with_config(option, value);
    }
    let plain = builder
        .get_config_value(&AzureConfigKey::Endpoint)
        .is_some_and(|endpoint| endpoint.starts_with("http://"));
    if plain && asked_for(config, "endpoint") {
        builder = builder.with_allow_http(true);
    }
    let built = builder.build().map_err(|e| unbuilt(&e, place, secrets))?;
    Ok(Arc::new(built))
}

/// Whether the user set an option of this name, with or without the vendor's prefix.
fn asked_for(config: &Config, option: &str) -> bool {
    config.store.keys().any(|key| key.to_ascii_lowercase().ends_with(option))
}

fn no_retries() -> RetryConfig {
    RetryConfig { max_retries: 0, retry_timeout: Duration::ZERO, ..RetryConfig::default() }
}

fn unbuilt(e: &slatedb::object_store::Error, place: &Place, secrets: &Secrets) -> Error {
    let told = errors::foreign(e, &place.shown, secrets);
    let cause = std::error::Error::source(&told).map(ToString::to_string).unwrap_or_default();
    let what = format!("the store's client refuses these options: {cause}");
    Error::new(Status::InvalidArgument, what).on(&place.shown)
}
