//! Downloads objects completely into a temporary file, from web servers without range requests.
//!
//! `object_store` refuses responses that do not state their length, so the request is made here.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH},
};
use logtool_core::TemporaryFile;
use object_store::client::{HttpClient, HttpRequest, HttpRequestBody, HttpResponse};

use crate::{
    failure::{Failure, invalid_request},
    object::{Attempts, Transport, receive_body},
};

/// The receiver of the progress of a download: it gets the number of received bytes, and the
/// length if the server states it. An error ends the download.
pub(crate) type OnProgress<'p> = dyn FnMut(u64, Option<u64>) -> io::Result<()> + 'p;

/// An object on a web server, which is downloaded completely.
pub(crate) struct FullDownload<'d> {
    pub(crate) client: &'d HttpClient,
    pub(crate) url: &'d str,
    pub(crate) transport: &'d Transport,
}

impl FullDownload<'_> {
    /// Downloads the object, and calls `on_progress` with each received part.
    ///
    /// # Errors
    /// `FileTooLarge` if it is longer than the limit, or any error of a request.
    pub(crate) async fn fetch(
        &self,
        on_progress: &mut OnProgress<'_>,
    ) -> io::Result<TemporaryFile> {
        let mut attempts = Attempts::new(self.transport);
        loop {
            let mut received_bytes = 0;
            let mut on_progress = |bytes, len| {
                received_bytes = bytes;
                on_progress(bytes, len)
            };
            match self.attempt(&mut on_progress).await {
                Ok(file) => return Ok(file),
                Err(failure) => {
                    attempts.add_time_for(received_bytes);
                    attempts.pause_or_fail(failure).await?;
                }
            }
        }
    }

    /// Makes one attempt to download the object.
    async fn attempt(
        &self,
        on_progress: &mut OnProgress<'_>,
    ) -> Result<TemporaryFile, Failure> {
        // The semaphore is never closed, so this never fails.
        let _slot = self.transport.slots.acquire().await;
        let response = self.request().await?;
        let headers = response.headers();
        let len: Option<u64> = header(headers, CONTENT_LENGTH)
            .map(|len| len.parse())
            .transpose()
            .map_err(|_| permanent("the server states an invalid length".to_owned()))?;
        let max_bytes = self.transport.limits.max_download_bytes;
        if len.is_some_and(|len| len > max_bytes) {
            return Err(Failure::Permanent(too_long(max_bytes)));
        }
        let file = TemporaryFile::new().map_err(Failure::Permanent)?;
        let mut decoder =
            Decoder::new(headers, LimitedFile { file, len: 0, max_bytes })?;
        let mut received_bytes = 0;
        let body = response.into_body().bytes_stream();
        receive_body(body, self.transport, len, |chunk| {
            received_bytes += chunk.len() as u64;
            on_progress(received_bytes, len)?;
            decoder.write_all(chunk)
        })
        .await?;
        Ok(decoder.finish().map_err(Failure::Permanent)?.file)
    }

    /// Requests the object, and waits for the head of the response.
    async fn request(&self) -> Result<HttpResponse, Failure> {
        let mut request = HttpRequest::new(HttpRequestBody::empty());
        let url = self.url.parse();
        *request.uri_mut() =
            url.map_err(|_| Failure::Permanent(invalid_request("not a valid URL")))?;
        let identity = HeaderValue::from_static("identity");
        request.headers_mut().insert(ACCEPT_ENCODING, identity);
        self.transport.count_request();
        let response = self.client.execute(request).await?;
        match response.status() {
            status if status.is_success() => Ok(response),
            status => {
                let name = status.canonical_reason().unwrap_or_default();
                Err(Failure::from_status(status.as_u16(), name))
            }
        }
    }
}

/// Decodes the content of a response. Some servers compress it although that was not requested.
enum Decoder {
    Identity(LimitedFile),
    Gzip(MultiGzDecoder<LimitedFile>),
}

impl Decoder {
    /// Creates the decoder for a response with these `headers`.
    fn new(headers: &HeaderMap, file: LimitedFile) -> Result<Self, Failure> {
        let encoding = header(headers, CONTENT_ENCODING).unwrap_or_default();
        match encoding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => Ok(Self::Identity(file)),
            "gzip" | "x-gzip" => Ok(Self::Gzip(MultiGzDecoder::new(file))),
            other => {
                let message =
                    format!("the server sends it as `{other}`, which is not supported");
                Err(permanent(message))
            }
        }
    }

    /// Writes the rest, and returns the file.
    fn finish(self) -> io::Result<LimitedFile> {
        match self {
            Self::Identity(file) => Ok(file),
            Self::Gzip(decoder) => decoder.finish().map_err(not_gzip),
        }
    }
}

impl Write for Decoder {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Identity(file) => file.write(bytes),
            Self::Gzip(decoder) => decoder.write(bytes).map_err(not_gzip),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A temporary file with a maximum length.
struct LimitedFile {
    file: TemporaryFile,
    len: u64,
    max_bytes: u64,
}

impl Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.len.saturating_add(bytes.len() as u64) > self.max_bytes {
            return Err(too_long(self.max_bytes));
        }
        let written = self.file.write(bytes)?;
        self.len += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the text of a header.
fn header(headers: &HeaderMap, name: http::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn permanent(message: String) -> Failure {
    Failure::Permanent(io::Error::other(message))
}

/// Explains an error of the decoder; those of the file stay as they are.
fn not_gzip(err: io::Error) -> io::Error {
    match err.kind() {
        io::ErrorKind::InvalidInput
        | io::ErrorKind::InvalidData
        | io::ErrorKind::UnexpectedEof => io::Error::new(
            io::ErrorKind::InvalidData,
            "the server sends it as gzip, but the data is not valid gzip",
        ),
        _ => err,
    }
}

fn too_long(max_bytes: u64) -> io::Error {
    let message = format!(
        "the server does not support range requests, and the object is longer than {max_bytes} \
         bytes: download it first"
    );
    io::Error::new(io::ErrorKind::FileTooLarge, message)
}
