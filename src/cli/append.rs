//! `tenure file append`: a local file or stdin becomes the end of a file, durable before the
//! command says so.
//!
//! Reading blocks a thread of its own, so that a signal is noticed while stdin is silent: what was
//! read so far is flushed, the lease is given back, and nobody has to wait a soft limit for a
//! writer that is gone.

use super::args::Append;
use super::exit::{Failure, USAGE};
use super::show::Show;
use super::units::{bytes, grouped};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::json;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use tenure::{Client, Config, CreateOptions, FileWriter, Status};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

/// Bytes read at a time.
const CHUNK: usize = 256 << 10;
/// A progress bar below this size would only flicker.
const LARGE: u64 = 8 << 20;
/// After this long without input what was read is sent, however little it is.
const IDLE: Duration = Duration::from_millis(100);
/// How long a command that is told to stop may take to make what it read durable.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Appends, waits until everything is acked, and prints the acked length.
pub async fn append(order: Append, config: Config, show: &Show) -> Result<ExitCode, Failure> {
    let (size, mut input) = open_input(&order.input)?;
    let mut term = listen(SignalKind::terminate())?;
    let mut interrupt = listen(SignalKind::interrupt())?;
    let client = Client::open(&order.url, config).await?;
    let writer = tokio::select! {
        opened = open_writer(&client, &order) => opened,
        () = either(&mut term, &mut interrupt) => {
            give_back(&client).await;
            return Ok(ExitCode::from(130));
        }
    };
    let writer = match writer {
        Ok(writer) => writer,
        Err(error) => {
            give_back(&client).await;
            return Err(error.into());
        }
    };
    let base = writer.position();
    let bar = bar(size);
    let mut stopped = false;
    loop {
        let piece = tokio::select! {
            piece = input.recv() => piece,
            () = either(&mut term, &mut interrupt) => { stopped = true; None }
            () = tokio::time::sleep(IDLE), if writer.acked() < writer.position() => {
                if let Err(error) = send_now(&writer).await {
                    return Err(after_loss(&client, &writer, base, error, show).await);
                }
                continue;
            }
        };
        let Some(piece) = piece else { break };
        let piece = piece.map_err(|e| Failure::io(order.input.display().to_string(), e));
        let (taken, outcome) = match piece {
            Ok(piece) => tokio::select! {
                written = writer.write(&piece, None) => written,
                // The window is full and the store does not take more: no reason to stay deaf.
                () = either(&mut term, &mut interrupt) => { stopped = true; break }
            },
            Err(failure) => {
                finish(&client, &writer, &order, Some(LAST_WORDS)).await?;
                return Err(failure);
            }
        };
        bar.inc(taken as u64);
        if let Err(error) = outcome {
            return Err(after_loss(&client, &writer, base, error, show).await);
        }
    }
    let ended = if stopped {
        finish(&client, &writer, &order, Some(LAST_WORDS)).await
    } else {
        tokio::select! {
            ended = finish(&client, &writer, &order, None) => ended,
            () = either(&mut term, &mut interrupt) => {
                stopped = true;
                finish(&client, &writer, &order, Some(LAST_WORDS)).await
            }
        }
    };
    if let Err(error) = ended {
        return Err(after_loss(&client, &writer, base, error, show).await);
    }
    bar.finish_and_clear();
    told(&writer, base, &order, show)?;
    Ok(if stopped { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

async fn open_writer(client: &Client, order: &Append) -> tenure::Result<FileWriter> {
    let wait = order.waiting.limit();
    match client.append(&order.path, wait).await {
        Err(e) if order.create && e.status() == Status::NotFound => {}
        answer => return answer,
    }
    match client.create(&order.path, CreateOptions::default(), wait).await {
        // Somebody else created it between the two calls.
        Err(e) if e.status() == Status::AlreadyExists => client.append(&order.path, wait).await,
        answer => answer,
    }
}

/// A slow producer's line is stored while it thinks about the next one.
async fn send_now(writer: &FileWriter) -> tenure::Result<()> {
    match writer.hflush(Some(Duration::ZERO)).await {
        Err(e) if e.status() == Status::TimedOut => Ok(()),
        sent => sent,
    }
}

/// Waits for what the client still has: a lease acquired for a file that turned out to be missing
/// is released in the background, and this process is about to end.
async fn give_back(client: &Client) {
    let _ = client.close(Some(LAST_WORDS)).await;
}

async fn finish(
    client: &Client,
    writer: &FileWriter,
    order: &Append,
    wait: Option<Duration>,
) -> tenure::Result<()> {
    writer.hflush(wait).await?;
    match order.leave_open {
        true => writer.abort(),
        false => writer.close(wait).await?,
    }
    client.close(Some(LAST_WORDS)).await
}

/// The error, after a note about how far the file got.
async fn after_loss(
    client: &Client,
    writer: &FileWriter,
    base: u64,
    error: tenure::Error,
    show: &Show,
) -> Failure {
    let acked = writer.acked();
    show.note(&format!(
        "{} of these bytes are durable (file length {}), {} are not known to be",
        grouped(acked.saturating_sub(base)),
        grouped(acked),
        grouped(writer.position().saturating_sub(acked))
    ));
    writer.abort();
    give_back(client).await;
    error.into()
}

fn told(writer: &FileWriter, base: u64, order: &Append, show: &Show) -> Result<(), Failure> {
    let acked = writer.acked();
    let added = acked.saturating_sub(base);
    let facts = vec![
        ("path", order.path.clone()),
        ("appended", format!("{} bytes ({})", grouped(added), bytes(added))),
        ("acked length", grouped(acked)),
        ("epoch", writer.epoch().to_string()),
    ];
    let value = json!({
        "path": order.path,
        "appended_bytes": added,
        "acked_bytes": acked,
        "epoch": writer.epoch().0,
        "closed": !order.leave_open,
    });
    show.facts(facts, &value)
}

/// What the reading thread has read.
type Pieces = mpsc::Receiver<std::io::Result<Vec<u8>>>;

/// The input's size, if it has one, and its pieces as a thread of their own reads them.
fn open_input(path: &Path) -> Result<(Option<u64>, Pieces), Failure> {
    let (source, size): (Box<dyn Read + Send>, Option<u64>) = if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            super::show::prompt("reading from the terminal; Ctrl-D ends the input");
        }
        (Box::new(std::io::stdin()), None)
    } else {
        let named = |e| Failure::io(path.display().to_string(), e);
        let file = std::fs::File::open(path).map_err(named)?;
        let meta = file.metadata().map_err(named)?;
        if meta.is_dir() {
            return Err(Failure::own(USAGE, format!("{}: it is a directory", path.display())));
        }
        (Box::new(file), meta.is_file().then_some(meta.len()))
    };
    let (sender, receiver) = mpsc::channel(4);
    std::thread::spawn(move || pump(source, &sender));
    Ok((size, receiver))
}

fn pump(mut source: Box<dyn Read + Send>, pieces: &mpsc::Sender<std::io::Result<Vec<u8>>>) {
    loop {
        let mut piece = vec![0; CHUNK];
        let read = match source.read(&mut piece) {
            Ok(0) => return,
            Ok(n) => {
                piece.truncate(n);
                Ok(piece)
            }
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(e) => Err(e),
        };
        let last = read.is_err();
        if pieces.blocking_send(read).is_err() || last {
            return;
        }
    }
}

/// Shown only for a large input and a person at the terminal.
fn bar(size: Option<u64>) -> ProgressBar {
    let Some(size) = size.filter(|n| *n >= LARGE && std::io::stderr().is_terminal()) else {
        return ProgressBar::hidden();
    };
    let bar = ProgressBar::with_draw_target(Some(size), ProgressDrawTarget::stderr());
    let shape = "{bar:32.cyan/dim} {bytes} of {total_bytes}  {bytes_per_sec}  {eta} left";
    if let Ok(style) = ProgressStyle::with_template(shape) {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}

fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|e| Failure::io("signals", e))
}

async fn either(one: &mut Signal, other: &mut Signal) {
    tokio::select! { _ = one.recv() => {}, _ = other.recv() => {} }
}
