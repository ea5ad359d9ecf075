//! Where an object is: what a URL says.

use std::{fmt, io};

use crate::failure::invalid;

/// The kind of place that an object is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Amazon S3, and all that speak as it does: `s3://bucket/key`.
    S3,
    /// Google Cloud Storage: `gs://bucket/key`.
    Gcs,
    /// Azure Blob Storage: `az://container/key`; the account is in the environment.
    Azure,
    /// A web server: `http://host/path`, `https://host/path`.
    Http,
}

/// The place of an object, or of all those with a common prefix.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Location {
    scheme: Scheme,
    /// The bucket or container, or the web server with its scheme.
    root: String,
    /// What comes after that, as it was typed: a key is not encoded, as with the
    /// programs of the clouds themselves.
    key: String,
    /// What comes after `?`, which may be a secret: only of a web server.
    query: Option<String>,
}

impl Location {
    /// The place that `url` names.
    ///
    /// # Errors
    /// `InvalidInput` if it is no URL of a kind that is known, names no bucket, or has a key
    /// that stores have and that cannot be asked for here: another one would be.
    pub fn parse(url: &str) -> io::Result<Self> {
        let Some((scheme, rest)) = url.split_once("://") else {
            return Err(invalid(format!("{url} is no URL")));
        };
        let known = match scheme.to_ascii_lowercase().as_str() {
            "s3" | "s3a" => Scheme::S3,
            "gs" => Scheme::Gcs,
            "az" | "azure" | "abfs" | "abfss" => Scheme::Azure,
            "http" | "https" => Scheme::Http,
            _ => {
                let what = format!(
                    "{scheme}:// is not known: s3, gs, az, http, https and file are"
                );
                return Err(invalid(what));
            }
        };
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) if known == Scheme::Http => (rest, Some(query)),
            _ => (rest, None),
        };
        let (host, key) = rest.split_once('/').unwrap_or((rest, ""));
        if host.is_empty() {
            return Err(invalid(format!("{url} names no bucket and no server")));
        }
        let root = match known {
            Scheme::Http => format!("{}://{host}", scheme.to_ascii_lowercase()),
            _ => host.to_owned(),
        };
        if known != Scheme::Http && !is_plain(key) {
            let what = format!(
                "{url}: a key with an empty piece (`//`), `.` or `..` cannot be named"
            );
            return Err(invalid(what));
        }
        let (key, query) = (key.to_owned(), query.map(str::to_owned));
        Ok(Self { scheme: known, root, key, query })
    }

    /// The kind of place.
    pub fn scheme(&self) -> Scheme {
        self.scheme
    }

    /// The bucket or container, or the server, as `https://host`.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// What comes after that.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it is a folder, that is a prefix: its key is empty or ends with `/`.
    pub fn is_folder(&self) -> bool {
        self.key.is_empty() || self.key.ends_with('/')
    }

    /// The object called `name` in this folder.
    #[must_use]
    pub fn join(&self, name: &str) -> Self {
        let slash = if self.is_folder() { "" } else { "/" };
        Self { key: format!("{}{slash}{name}", self.key), query: None, ..self.clone() }
    }

    /// The object with this key in the same bucket.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: key.to_owned(), query: None, ..self.clone() }
    }

    /// The URL that a web server is asked for, with what is secret in it.
    pub(crate) fn request_url(&self) -> String {
        let query = self.query.as_ref().map(|query| format!("?{query}"));
        format!("{}/{}{}", self.root, self.key, query.unwrap_or_default())
    }
}

/// Whether `key` is asked for as it is written.
fn is_plain(key: &str) -> bool {
    // A folder ends with a slash.
    let mut pieces = key.strip_suffix('/').unwrap_or(key).split('/');
    key.is_empty() || pieces.all(|piece| !["", ".", ".."].contains(&piece))
}

/// The URL without what may be secret in it.
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

    fn parsed(url: &str) -> Location {
        Location::parse(url).unwrap()
    }

    #[test]
    fn a_key_is_what_comes_after_the_bucket_as_it_was_typed() {
        let place = parsed("s3://logs/2024/a b%20?#.bag");
        assert_eq!((place.scheme(), place.root()), (Scheme::S3, "logs"));
        assert_eq!(place.key(), "2024/a b%20?#.bag");
        assert_eq!(place.to_string(), "s3://logs/2024/a b%20?#.bag");
    }

    #[test]
    fn secrets_of_a_url_are_sent_and_not_shown() {
        let url = "https://me:pw@host:8080/a/x.bag?X-Amz-Signature=abc";
        let place = parsed(url);
        assert_eq!(place.request_url(), url);
        assert_eq!(place.to_string(), "https://host:8080/a/x.bag");
        assert!(!format!("{place:?}").contains("abc"));
    }

    #[test]
    fn folders_end_with_a_slash_or_are_whole_buckets() {
        assert!(parsed("gs://b").is_folder() && parsed("gs://b/").is_folder());
        assert!(parsed("az://b/x/").is_folder() && !parsed("az://b/x").is_folder());
        assert_eq!(parsed("gs://b").join("x").to_string(), "gs://b/x");
        assert_eq!(parsed("gs://b/x").join("y").to_string(), "gs://b/x/y");
        assert_eq!(parsed("gs://b/x/").join("y").to_string(), "gs://b/x/y");
    }

    #[test]
    fn what_is_no_url_is_refused_and_says_which_there_are() {
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
        assert!(err.contains("ftp:// is not known: s3, gs"), "{err}");
    }
}
