use std::{future::pending, time::Duration};

use futures_util::TryStreamExt as _;
use http::HeaderValue;
use object_store::client::HttpRequestBody;
use tokio::time::Instant;

use super::*;

/// A server that sends `piece` bytes in each second, without end or until `end`.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    status: u16,
    is_silent: bool,
    piece: usize,
    end: Option<Duration>,
    stall: Option<Duration>,
}

#[async_trait]
impl HttpService for Server {
    async fn call(&self, _: HttpRequest) -> Result<HttpResponse, HttpError> {
        if self.is_silent {
            pending::<()>().await;
        }
        let (server, start) = (*self, Instant::now());
        let body = ServedBody { server, start, pause: None };
        let mut response = HttpResponse::new(HttpResponseBody::new(body));
        *response.status_mut() = StatusCode::from_u16(self.status.max(200)).unwrap();
        Ok(response)
    }
}

struct ServedBody {
    server: Server,
    start: Instant,
    pause: Option<Pin<Box<Sleep>>>,
}

impl Body for ServedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        let (server, elapsed) = (self.server, self.start.elapsed());
        if server.end.is_some_and(|end| elapsed >= end) {
            return Poll::Ready(None);
        }
        if server.stall.is_some_and(|stall| elapsed >= stall) {
            return Poll::Pending;
        }
        let second = Duration::from_secs(1);
        let pause = self.pause.get_or_insert_with(|| Box::pin(time::sleep(second)));
        if pause.as_mut().poll(context).is_pending() {
            return Poll::Pending;
        }
        self.pause = None;
        Poll::Ready(Some(Ok(Frame::data(vec![7; server.piece].into()))))
    }
}

/// Requests an object of `server`, and returns the number of its bytes or the last cause of the
/// error, and the time that it took in seconds.
async fn receive(server: Server) -> (Result<usize, String>, u64) {
    let bounds = BoundedConnector { limits: Limits::default(), max_bytes: 1 << 20 };
    let service = BoundedService { client: HttpClient::new(server), bounds };
    let start = Instant::now();
    let received = async {
        let request = HttpRequest::new(HttpRequestBody::empty());
        let body = service.call(request).await?.into_body();
        let len = |len, chunk: Bytes| async move { Ok(len + chunk.len()) };
        body.bytes_stream().try_fold(0, len).await
    };
    let received: Result<usize, HttpError> = received.await;
    let received =
        received.map_err(|err| std::error::Error::source(&err).unwrap().to_string());
    (received, start.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn body_that_drips_without_end_fails_after_a_minute() {
    let drip = Server { piece: 1, ..Server::default() };
    let error = "the server sends less than 1000 bytes per second".to_owned();
    assert_eq!(receive(drip).await, (Err(error), 60));
}

#[tokio::test(start_paused = true)]
async fn slow_body_that_progresses_is_received() {
    let end = Some(Duration::from_secs(600));
    let slow = Server { piece: 1_100, end, ..Server::default() };
    let (received, seconds) = receive(slow).await;
    assert_eq!((received.unwrap() / 1_100 / 10, seconds), (59, 600));
}

#[tokio::test(start_paused = true)]
async fn silence_fails_after_the_timeout() {
    let silent = Server { is_silent: true, ..Server::default() };
    let error = "the server does not answer".to_owned();
    assert_eq!(receive(silent).await, (Err(error), 30));
    // Pieces arrive in the first four seconds.
    let stall = Some(Duration::from_secs(5));
    let stalled = Server { piece: 1_000, stall, ..Server::default() };
    let error = "the response stalled after 4000 bytes".to_owned();
    assert_eq!(receive(stalled).await, (Err(error), 34));
}

#[tokio::test(start_paused = true)]
async fn endless_body_fails_at_the_maximum_size() {
    let endless = Server { piece: 1 << 19, ..Server::default() };
    let error = "the server sends more than 1048576 bytes".to_owned();
    assert_eq!(receive(endless).await, (Err(error), 3));
}

#[tokio::test(start_paused = true)]
async fn endless_description_of_an_error_is_cut() {
    let endless = Server { status: 503, piece: 40 << 10, ..Server::default() };
    assert_eq!(receive(endless).await, (Ok(40 << 10), 2));
}

// RFC 9110, section 14.4.
#[test]
fn length_of_a_range_is_completed_from_the_range() {
    for (range, len) in [
        (Some("bytes 0-4/100"), Some("5")),
        (Some("bytes 10-99/100"), Some("90")),
        // The length of the object is unknown, so that it cannot be read by ranges.
        (Some("bytes 0-4/*"), None),
        (Some("bytes */100"), None),
        (Some("bytes 5-4/100"), None),
        (Some("bytes 0-18446744073709551615/100"), None),
        (Some("lines 0-4/100"), None),
        (None, None),
    ] {
        let mut headers = HeaderMap::new();
        if let Some(range) = range {
            headers.insert(CONTENT_RANGE, HeaderValue::from_static(range));
        }
        let status = complete_range(&mut headers);
        assert_eq!(status == StatusCode::PARTIAL_CONTENT, len.is_some(), "{range:?}");
        let completed = headers.get(CONTENT_LENGTH).map(|len| len.to_str().unwrap());
        assert_eq!(completed, len, "{range:?}");
    }
}
