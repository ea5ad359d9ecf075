//! Locations of objects, parsed from URLs.

use std::{fmt, io};

use crate::failure::invalid_request;

/// The kind of storage of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Amazon S3 and compatible services: `s3://bucket/key`.
    S3,
    /// Google Cloud Storage: `gs://bucket/key`.
    Gcs,
    /// Azure Blob Storage: `az://container/key`. The account is set in the environment.
    Azure,
    /// A web server: `http://host/path`, `https://host/path`.
    Http,
}

/// The location of an object, or of all objects with a common prefix.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Location {
    scheme: Scheme,
    /// The bucket or container, or the web server with its scheme.
    root: String,
    /// The key after the root, as it was entered. It is not percent-encoded, like in the tools of
    /// the cloud providers.
    key: String,
    /// The query after `?`, only for web servers; it may contain a secret.
    query: Option<String>,
}

impl Location {
    /// Parses `url`.
    ///
    /// # Errors
    /// `InvalidInput` if `url` is not a URL with a supported scheme, has no bucket or server, or
    /// has a key that `object_store` would change, so that another object would be requested.
    pub fn parse(url: &str) -> io::Result<Self> {
        let Some((scheme, remaining)) = url.split_once("://") else {
            return Err(invalid_request(format!("{url} is not a URL")));
        };
        let storage = match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Scheme::S3,
            "gs" => Scheme::Gcs,
            "az" | "azure" | "abfs" | "abfss" => Scheme::Azure,
            "http" | "https" => Scheme::Http,
            _ => {
                let message = format!(
                    "unknown scheme {scheme}://; use s3, gs, az, http, https or file"
                );
                return Err(invalid_request(message));
            }
        };
        let (remaining, query) = match remaining.split_once('?') {
            Some((remaining, query)) if storage == Scheme::Http => {
                (remaining, Some(query))
            }
            _ => (remaining, None),
        };
        let (host, key) = remaining.split_once('/').unwrap_or((remaining, ""));
        if host.is_empty() {
            return Err(invalid_request(format!("{url} names no bucket or server")));
        }
        let root = match storage {
            Scheme::Http => format!("{}://{host}", scheme.to_ascii_lowercase()),
            _ => host.to_owned(),
        };
        if storage != Scheme::Http && !is_plain(key) {
            let message = format!(
                "{url}: keys with an empty segment (`//`), `.` or `..` are not supported"
            );
            return Err(invalid_request(message));
        }
        let (key, query) = (key.to_owned(), query.map(str::to_owned));
        Ok(Self { scheme: storage, root, key, query })
    }

    /// Returns the kind of storage.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// Returns the bucket or container, or the server in the form `https://host`.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the key, which is the part after the root.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns whether the location is a folder, i.e. a prefix: its key is empty or ends with `/`.
    pub fn is_folder(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }

    /// Returns the location of the object `name` in this folder.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let slash = if self.is_folder() { "" } else { "/" };
        Self { key: format!("{}{slash}{name}", self.key), query: None, ..self.clone() }
    }

    /// Returns the location of the object `key` in the same bucket.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: key.to_owned(), query: None, ..self.clone() }
    }

    /// Returns the URL for requests to a web server, including secrets.
    pub(crate) fn request_url(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}"));
        format!("{}/{}{}", self.root, self.key, query.unwrap_or_default())
    }
}

/// Returns whether `object_store` does not change `key`.
fn is_plain(key: &str) -> bool {
    // A folder ends with a slash.
    let mut chunks = key.strip_suffix('/').unwrap_or(key).split('/');
    key.is_empty() || chunks.all(|chunk| !["", ".", ".."].contains(&chunk))
}

/// Formats the URL without parts that may be secret.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { root, key, .. } = self;
        match self.scheme {
            Scheme::S3 => write!(f, "s3://{root}/{key}"),
            Scheme::Gcs => write!(f, "gs://{root}/{key}"),
            Scheme::Azure => write!(f, "az://{root}/{key}"),
            // user:password@host
            Scheme::Http => match (root.split_once("://"), root.rsplit_once('@')) {
                (Some((scheme, _)), Some((_, host))) => {
                    write!(f, "{scheme}://{host}/{key}")
                }
                _ => write!(f, "{root}/{key}"),
            },
        }
    }
}

impl fmt::Debug for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Location({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Location {
        Location::parse(url).unwrap()
    }

    #[test]
    fn key_is_everything_after_the_bucket_unchanged() {
        let location = parse("s3://logs/2024/a b%20?#.bag");
        assert_eq!((location.scheme(), location.root()), (Scheme::S3, "logs"));
        assert_eq!(location.key(), "2024/a b%20?#.bag");
        assert_eq!(location.to_string(), "s3://logs/2024/a b%20?#.bag");
    }

    #[test]
    fn secrets_of_a_url_are_sent_and_not_shown() {
        let url = "https://me:pw@host:8080/a/x.bag?X-Amz-Signature=abc";
        let location = parse(url);
        assert_eq!(location.request_url(), url);
        assert_eq!(location.to_string(), "https://host:8080/a/x.bag");
        assert!(!format!("{location:?}").contains("abc"));
    }

    #[test]
    fn folders_end_with_a_slash_or_are_whole_buckets() {
        assert!(parse("gs://b").is_folder() && parse("gs://b/").is_folder());
        assert!(parse("az://b/x/").is_folder() && !parse("az://b/x").is_folder());
        assert_eq!(parse("gs://b").join("x").to_string(), "gs://b/x");
        assert_eq!(parse("gs://b/x").join("y").to_string(), "gs://b/x/y");
        assert_eq!(parse("gs://b/x/").join("y").to_string(), "gs://b/x/y");
    }

    #[test]
    fn invalid_urls_are_rejected_with_the_supported_schemes() {
        for url in [
            "ftp://host/x",
            "x.bag",
            "s3:///x",
            "s3://",
            "s3://b//x",
            "gs://b/a//x",
            "az://b/a//",
            "s3://b//",
            "s3://b/a/../x",
            "s3://b/./x",
        ] {
            let err = Location::parse(url).unwrap_err();
            assert_eq!(err.kind(), io::ErrorKind::InvalidInput, "{url}");
        }
        let err = Location::parse("ftp://host/x").unwrap_err().to_string();
        assert!(err.contains("unknown scheme ftp://; use s3, gs"), "{err}");
    }
}
