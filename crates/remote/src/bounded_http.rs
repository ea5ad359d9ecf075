//! HTTP requests whose responses end. A server cannot make the client wait or store data without
//! end, whichever request it is, and responses have the headers that `object_store` needs.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_RANGE, RANGE},
};
use http_body::{Body, Frame};
use object_store::{
    ClientOptions,
    client::{
        HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
        HttpResponseBody, HttpService, ReqwestConnector,
    },
};
use tokio::time::{self, Sleep};

use crate::{limits::Limits, transfer_rate::TransferRate};

/// The maximum size of the description of an error; the rest is ignored.
const MAX_ERROR_BYTES: u64 = 64 << 10;

/// Creates clients whose responses end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundedConnector {
    pub(crate) limits: Limits,
    /// The maximum size of a response to a request without a range, e.g. of a list of objects.
    /// Such responses are collected in memory.
    pub(crate) max_bytes: u64,
}

/// A client whose responses end.
#[derive(Debug)]
struct BoundedService {
    client: HttpClient,
    bounds: BoundedConnector,
}

impl HttpConnector for BoundedConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let client = ReqwestConnector::default().connect(options)?;
        Ok(HttpClient::new(BoundedService { client, bounds: *self }))
    }
}

#[async_trait]
impl HttpService for BoundedService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let BoundedConnector { limits, max_bytes } = self.bounds;
        let time = limits.upload_time(request.body().content_length() as u64);
        let has_range = request.headers().contains_key(RANGE);
        let response = time::timeout(time, self.client.execute(request)).await;
        let response = response
            .map_err(|_| timeout("the server does not answer".to_owned()))??;
        let (mut head, body) = response.into_parts();
        if has_range && head.status == StatusCode::PARTIAL_CONTENT {
            head.status = complete_range(&mut head.headers);
        }
        let is_error = !head.status.is_success();
        let max_bytes = match (is_error, has_range) {
            (true, _) => MAX_ERROR_BYTES,
            // The caller compares it with the range.
            (false, true) => u64::MAX,
            (false, false) => max_bytes,
        };
        let body = BoundedBody {
            body,
            limits,
            rate: TransferRate::new(&limits),
            pause: None,
            max_bytes,
            received_bytes: 0,
            is_error,
        };
        Ok(HttpResponse::from_parts(head, HttpResponseBody::new(body)))
    }
}

/// Adds the length to the headers of a response with a range, because chunked responses do not
/// have it. Returns the status of the response: if it does not state the range and the length of
/// the object, the server does not support ranges.
fn complete_range(headers: &mut HeaderMap) -> StatusCode {
    let range = headers.get(CONTENT_RANGE).and_then(|range| range.to_str().ok());
    let Some(len) = range.and_then(range_len) else { return StatusCode::OK };
    if !headers.contains_key(CONTENT_LENGTH) {
        headers.insert(CONTENT_LENGTH, len.into());
    }
    StatusCode::PARTIAL_CONTENT
}

/// Returns the number of bytes in `range`, e.g. 5 for `bytes 0-4/100`.
fn range_len(range: &str) -> Option<u64> {
    let (range, len) = range.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    let len: u64 = len.parse().ok()?;
    (first <= last && last < len).then(|| last - first + 1)
}

/// The body of a response, which fails if the server sends nothing, too slowly or too much.
#[derive(Debug)]
struct BoundedBody {
    body: HttpResponseBody,
    limits: Limits,
    rate: TransferRate,
    /// Ends when the server has sent nothing for too long.
    pause: Option<Pin<Box<Sleep>>>,
    max_bytes: u64,
    received_bytes: u64,
    /// Whether it describes an error. The start of the description is enough.
    is_error: bool,
}

impl BoundedBody {
    /// Counts the bytes of `frame`, and returns it unless there are too many.
    fn count(
        &mut self,
        frame: Frame<Bytes>,
    ) -> Result<Option<Frame<Bytes>>, HttpError> {
        let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
        self.received_bytes += bytes;
        if !self.rate.add(bytes) {
            let message = format!(
                "the server sends less than {} bytes per second",
                self.limits.min_bytes_per_second
            );
            return Err(timeout(message));
        }
        match self.received_bytes <= self.max_bytes {
            true => Ok(Some(frame)),
            false if self.is_error => Ok(None),
            false => {
                let message =
                    format!("the server sends more than {} bytes", self.max_bytes);
                Err(HttpError::new(HttpErrorKind::Decode, io::Error::other(message)))
            }
        }
    }
}

impl Body for BoundedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let this = &mut *self;
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) else {
            let Limits { timeout: max_pause, .. } = this.limits;
            let received_bytes = this.received_bytes;
            let pause =
                this.pause.get_or_insert_with(|| Box::pin(time::sleep(max_pause)));
            return pause.as_mut().poll(context).map(|()| {
                let message =
                    format!("the response stalled after {received_bytes} bytes");
                Some(Err(timeout(message)))
            });
        };
        this.pause = None;
        Poll::Ready(match frame {
            Some(Ok(frame)) => this.count(frame).transpose(),
            end => end,
        })
    }
}

fn timeout(message: String) -> HttpError {
    let error = io::Error::new(io::ErrorKind::TimedOut, message);
    HttpError::new(HttpErrorKind::Timeout, error)
}

#[cfg(test)]
mod tests;
