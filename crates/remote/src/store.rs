//! Creates the store for a location, with the credentials in the environment.

use std::{io, sync::Arc};

use object_store::{
    ClientConfigKey, ClientOptions, ObjectStore, RetryConfig,
    aws::{AmazonS3Builder, AmazonS3ConfigKey},
    azure::{AzureConfigKey, MicrosoftAzureBuilder},
    client::{HttpClient, HttpConnector as _},
    gcp::{GoogleCloudStorageBuilder, GoogleConfigKey},
    http::HttpBuilder,
    path::Path,
};

use crate::{
    bounded_http::BoundedConnector,
    failure::{Failure, invalid_request},
    limits::Limits,
    location::{Location, Scheme},
    profile::Profile,
    small_objects::MAX_OBJECT_BYTES,
};

/// The timeout of `object_store` for a request. This crate detects slow requests much earlier.
const TIMEOUT: &str = "1 hour";

/// Creates the store of `location`, which retries failed requests up to `retries` times.
pub(crate) fn store(
    location: &Location,
    retries: usize,
    limits: Limits,
) -> io::Result<Arc<dyn ObjectStore>> {
    let retry = RetryConfig {
        max_retries: retries,
        retry_timeout: limits.retry_time(0),
        ..RetryConfig::default()
    };
    let connector = BoundedConnector { limits, max_bytes: MAX_OBJECT_BYTES };
    let timeout = ClientConfigKey::Timeout;
    let built: object_store::Result<Arc<dyn ObjectStore>> = match location.scheme() {
        Scheme::S3 => {
            let mut builder = AmazonS3Builder::from_env()
                .with_bucket_name(location.root())
                .with_config(AmazonS3ConfigKey::Client(timeout), TIMEOUT)
                .with_http_connector(connector)
                .with_retry(retry);
            let profile = Profile::from_environment()?;
            for (key, name) in [
                (AmazonS3ConfigKey::AccessKeyId, "aws_access_key_id"),
                (AmazonS3ConfigKey::SecretAccessKey, "aws_secret_access_key"),
                (AmazonS3ConfigKey::Token, "aws_session_token"),
                (AmazonS3ConfigKey::Region, "region"),
                (AmazonS3ConfigKey::Endpoint, "endpoint_url"),
            ] {
                if let Some(value) = profile.get(name)
                    && builder.get_config_value(&key).is_none()
                {
                    builder = builder.with_config(key, value);
                }
            }
            let endpoints =
                [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint];
            let endpoint =
                endpoints.iter().find_map(|key| builder.get_config_value(key));
            if endpoint.is_some_and(|url| is_without_tls(&url)) {
                builder = builder.with_allow_http(true);
            }
            builder.build().map(|store| Arc::new(store) as _)
        }
        Scheme::Gcs => GoogleCloudStorageBuilder::from_env()
            .with_bucket_name(location.root())
            .with_config(GoogleConfigKey::Client(timeout), TIMEOUT)
            .with_http_connector(connector)
            .with_retry(retry)
            .build()
            .map(|store| Arc::new(store) as _),
        Scheme::Azure => {
            let mut builder = MicrosoftAzureBuilder::from_env()
                .with_container_name(location.root())
                .with_config(AzureConfigKey::Client(timeout), TIMEOUT)
                .with_http_connector(connector)
                .with_retry(retry);
            let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
            if endpoint.is_some_and(|url| is_without_tls(&url)) {
                builder = builder.with_allow_http(true);
            }
            builder.build().map(|store| Arc::new(store) as _)
        }
        Scheme::Http => HttpBuilder::new()
            .with_url(location.request_url())
            .with_client_options(web_options())
            .with_http_connector(connector)
            .with_retry(retry)
            .build()
            .map(|store| Arc::new(store) as _),
    };
    built.map_err(invalid_settings)
}

/// Creates the client for downloads of whole objects from web servers.
pub(crate) fn download_client(limits: Limits) -> io::Result<HttpClient> {
    let connector = BoundedConnector { limits, max_bytes: u64::MAX };
    connector.connect(&web_options()).map_err(invalid_settings)
}

/// Returns the options of clients of web servers.
fn web_options() -> ClientOptions {
    ClientOptions::new().with_allow_http(true).with_timeout_disabled()
}

/// Returns the error of a client that cannot be created. No request was sent.
fn invalid_settings(err: object_store::Error) -> io::Error {
    let cause = Failure::from(err).into_error();
    let message = format!("invalid settings in the environment: {cause}");
    io::Error::new(io::ErrorKind::PermissionDenied, message)
}

/// Returns whether `endpoint` uses plain HTTP, without TLS.
fn is_without_tls(endpoint: &str) -> bool {
    endpoint.starts_with("http://")
}

/// Returns the path in the store. It is empty for a web server, because its store contains the
/// whole URL, which is requested exactly as it was entered.
pub(crate) fn path(location: &Location) -> io::Result<Path> {
    if location.scheme() == Scheme::Http {
        return Ok(Path::default());
    }
    Path::parse(location.key())
        .map_err(|err| invalid_request(format!("not a valid object key: {err}")))
}
