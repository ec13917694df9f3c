//! What is secret stays secret: no key, token, signature or password of a store reaches an error's
//! text, its chain, or any `Debug`.
#![allow(missing_docs, clippy::unwrap_used, clippy::disallowed_methods)]

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use tenure::base::{Config, Error, Status};
use tenure::store::{Outcome, Store};

const KEY_ID: &str = "AKIDHUNTER2";
const SECRET: &str = "s3cr3t-hunter2-key";
const SIGNATURE: &str = "c2lnbmF0dXJlaHVudGVyMg";
const SECRETS: &[&str] = &[KEY_ID, SECRET, SIGNATURE, "hunter2", "HUNTER2"];

/// A server that gives every request this answer, for as long as the process lives. Tells its port.
fn serve(status: &'static str, body: &'static str) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let mut length = 0_usize;
            let mut line = String::new();
            while reader.read_line(&mut line).is_ok_and(|n| n > 2) {
                let lower = line.to_ascii_lowercase();
                if let Some(n) = lower.strip_prefix("content-length:") {
                    length = n.trim().parse().unwrap_or(0);
                }
                line.clear();
            }
            let mut sent = vec![0; length];
            if reader.read_exact(&mut sent).is_err() {
                continue;
            }
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/xml\r\n\
                 content-length: {}\r\nconnection: close\r\n\r\n{body}",
                body.len()
            );
            // A client that has gone wants no answer.
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    port
}

fn s3(port: u16) -> (Store, Config) {
    let mut config = Config::default();
    let endpoint = format!("http://127.0.0.1:{port}");
    for (key, value) in [
        ("store.aws_endpoint", endpoint.as_str()),
        ("store.aws_access_key_id", KEY_ID),
        ("store.aws_secret_access_key", SECRET),
        ("store.aws_region", "us-east-1"),
    ] {
        config.set(key, value).expect("a store option");
    }
    (Store::open("s3://bucket/base", &config).expect("it opens"), config)
}

fn clean(text: &str) {
    for secret in SECRETS {
        assert!(!text.contains(secret), "{secret} is told in {text}");
    }
}

fn whole(error: &Error) -> String {
    let mut text = format!("{error} {error:?} {error:#?}");
    let mut cause = std::error::Error::source(error);
    while let Some(next) = cause {
        text.push_str(&format!(" | {next} {next:?}"));
        cause = next.source();
    }
    text
}

/// Every verb's error under this answer.
async fn errors(store: &Store) -> Vec<Error> {
    let unknown = |outcome| match outcome {
        Outcome::Unknown(error) => error,
        other => panic!("expected no usable answer, got {other:?}"),
    };
    vec![
        store.leases.read("k", None).await.expect_err("GET"),
        store.leases.modified("k").await.expect_err("HEAD"),
        store.leases.list("k/").await.expect_err("LIST"),
        store.blobs.read("k", Some(0..4)).await.expect_err("GET of a range"),
        unknown(store.leases.swap("k", None, "v".into()).await),
        unknown(store.blobs.create("k", "v".into()).await),
    ]
}

#[tokio::test]
async fn a_refused_signature_is_told_without_what_was_signed() {
    let port = serve(
        "403 Forbidden",
        "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code>\
         <Message>The signature does not match</Message>\
         <AWSAccessKeyId>AKIDHUNTER2</AWSAccessKeyId><StringToSign>AWS4 hunter2</StringToSign>\
         <SignatureProvided>c2lnbmF0dXJlaHVudGVyMg</SignatureProvided></Error>",
    );
    let (store, config) = s3(port);
    clean(&format!("{store:?} {config:?}"));
    let errors = errors(&store).await;
    for error in &errors {
        assert_eq!(error.status(), Status::AccessDenied, "{error:?}");
        clean(&whole(error));
    }
    let put = whole(&errors[4]);
    assert!(put.contains("SignatureDoesNotMatch The signature does not match"), "{put}");
}

#[tokio::test]
async fn a_missing_bucket_is_not_a_missing_object() {
    let port = serve(
        "404 Not Found",
        "<?xml version=\"1.0\"?><Error><Code>NoSuchBucket</Code>\
         <Message>The specified bucket does not exist</Message></Error>",
    );
    let (store, _) = s3(port);
    let error = store.leases.read("k", None).await.expect_err("not absent: unknown");
    assert_eq!(error.status(), Status::BucketNotFound, "{error:?}");
    let missing = tenure::base::Version { e_tag: Some("\"x\"".into()), version: None };
    let Outcome::Unknown(error) = store.leases.swap("k", Some(&missing), "v".into()).await else {
        panic!("a missing bucket refuses nothing");
    };
    assert_eq!(error.status(), Status::BucketNotFound, "{error:?}");
}

#[tokio::test]
async fn an_answer_of_500_is_unknown_and_sent_once() {
    let port = serve("500 Internal Server Error", "<Error><Code>InternalError</Code></Error>");
    let (store, _) = s3(port);
    let begun = std::time::Instant::now();
    for error in errors(&store).await {
        assert_eq!(error.status(), Status::StoreUnavailable, "{error:?}");
        clean(&whole(&error));
    }
    assert!(begun.elapsed().as_secs() < 5, "nothing is retried below us");
}

#[tokio::test]
async fn an_unoffered_request_is_told_as_unsupported() {
    let port = serve("501 Not Implemented", "<Error><Code>NotImplemented</Code></Error>");
    let (store, _) = s3(port);
    let Outcome::Unknown(error) = store.leases.swap("k", None, "v".into()).await else {
        panic!("nothing landed");
    };
    assert_eq!(error.status(), Status::StoreUnsupported, "{error:?}");
}

#[tokio::test]
async fn a_shared_access_signature_is_never_told() {
    // Nobody listens: the client's error carries the whole URL, signature included.
    let free =
        TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound").port();
    let down = format!("http://127.0.0.1:{free}/account");
    let refusing = format!(
        "http://127.0.0.1:{}/account",
        serve("403 Forbidden", "sig=c2lnbmF0dXJlaHVudGVyMg%3D")
    );
    for endpoint in [down, refusing] {
        let mut config = Config::default();
        let sas = format!("sv=2024-01-01&sp=rwl&sig={SIGNATURE}%3D");
        for (key, value) in [
            ("store.azure_storage_account_name", "account"),
            ("store.azure_storage_endpoint", endpoint.as_str()),
            ("store.azure_storage_sas_key", sas.as_str()),
        ] {
            config.set(key, value).expect("a store option");
        }
        let store = Store::open("az://container/base", &config).expect("it opens");
        clean(&format!("{store:?} {config:?}"));
        for error in errors(&store).await {
            clean(&whole(&error));
        }
    }
}

#[test]
fn options_a_client_refuses_are_told_without_their_values() {
    let mut config = Config::default();
    config.set("store.google_service_account_key", "{\"hunter2\": tru}").expect("any option");
    let error = Store::open("gs://bucket", &config).expect_err("not JSON");
    assert_eq!(error.status(), Status::InvalidArgument);
    clean(&whole(&error));
}
