//! One writer of the demo, in a process of its own: it waits, is admitted, streams, and believes
//! only its acks.
//!
//! It does nothing special when it is stopped, continued or shut out: the same calls as any
//! application, and an error ends it. Whatever `acked()` says goes into the ledger, also after the
//! end: that is the promise the checker holds against the file.

use super::ledger::{Ledger, Mark};
use super::message::Message;
use super::text::Text;
use crate::cli::args::DemoWriter;
use crate::cli::exec::die_with_parent;
use crate::cli::exit::{self, Failure};
use crate::cli::units::millis;
use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use tenure::base::config::PACKET;
use tenure::{Client, Config, CreateOptions, Error, FileWriter, Status};

/// How often the ledger looks for acks.
const LOOK: Duration = Duration::from_millis(1);
/// How often progress is told.
const TELL: Duration = Duration::from_millis(10);
/// How long the ledger goes on after the writer's end: answers of requests in flight may still
/// come.
const AFTERMATH: Duration = Duration::from_millis(300);

/// Runs one writer to its end.
pub async fn write(order: DemoWriter, config: Config) -> Result<ExitCode, Failure> {
    die_with_parent(order.parent)?;
    let orders = Orders::listen();
    let client = Client::open(&order.url, config).await?;
    let file = match admission(&client, &order, &orders).await {
        Ok(file) => Arc::new(file),
        Err(Failure::Library(error)) => {
            tell(&ended(&error, 0, 0))?;
            return Err(error.into());
        }
        Err(other) => return Err(other),
    };
    let (epoch, base) = (file.epoch().0, file.position());
    let ledger = Ledger::begin(&order.ledgers, order.role, epoch, base);
    let ledger = ledger.map_err(|e| Failure::io("ledger", e))?;
    tell(&Message::Admitted { epoch, base })?;
    if order.create {
        orders.wait_for_go()?;
    }
    let clerk = Clerk::start(&file, ledger, base);
    let outcome = stream(&file, &order, &orders, &clerk.written).await;
    match outcome {
        Ok(()) => {
            clerk.finish()?;
            tell(&Message::Closed { acked: file.acked() })?;
            client.close(Some(Duration::from_secs(10))).await?;
            Ok(ExitCode::SUCCESS)
        }
        Err(failure) => {
            if let Failure::Library(error) = &failure {
                tell(&ended(error, file.acked(), file.position()))?;
            }
            std::thread::sleep(AFTERMATH);
            clerk.finish()?;
            match failure {
                Failure::Library(error) => Ok(ExitCode::from(exit::code(&error))),
                other => Err(other),
            }
        }
    }
}

/// Creates the file, or asks once, tells who holds it, and waits.
async fn admission(
    client: &Client,
    order: &DemoWriter,
    orders: &Orders,
) -> Result<FileWriter, Failure> {
    if order.create {
        return Ok(client.create(&order.path, CreateOptions::default(), None).await?);
    }
    let mut wait = Some(Duration::ZERO);
    loop {
        match client.append(&order.path, wait).await {
            Err(e) if matches!(e.status(), Status::LeaseHeld | Status::TimedOut) => {
                if wait.take().is_some() {
                    let _ = tell(&Message::Held {
                        holder: e.holder().unwrap_or("?").to_owned(),
                        epoch: e.epoch().map_or(0, |epoch| epoch.0),
                        retry_after_ms: e.retry_after_hint().map_or(0, millis),
                    });
                    if order.patient {
                        orders.wait_for_go()?;
                    }
                }
            }
            answer => return Ok(answer?),
        }
    }
}

/// Writes until it is told that the file is long enough, then closes it.
async fn stream(
    file: &FileWriter,
    order: &DemoWriter,
    orders: &Orders,
    written: &AtomicU64,
) -> Result<(), Failure> {
    let mark = Mark::begin(&order.ledgers, order.role).map_err(|e| Failure::io("mark", e))?;
    let mut text = Text::of(order.role);
    let mut piece = Vec::with_capacity(PACKET);
    while file.position() < orders.length() {
        if file.position() >= order.limit {
            return Err(Failure::own(exit::BUG, "nobody stopped this writer in time"));
        }
        text.fill(&mut piece, PACKET);
        let (_, outcome) = file.write(&piece, None).await;
        outcome?;
        let position = file.position();
        mark.set(position).map_err(|e| Failure::io("mark", e))?;
        written.store(position, Ordering::Relaxed);
    }
    file.hflush(None).await?;
    Ok(file.close(None).await?)
}

/// The thread that keeps the ledger and tells progress.
#[derive(Debug)]
struct Clerk {
    written: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<Result<(), Failure>>,
}

impl Clerk {
    fn start(file: &Arc<FileWriter>, mut ledger: Ledger, base: u64) -> Clerk {
        let (written, over) = (Arc::new(AtomicU64::new(base)), Arc::new(AtomicBool::new(false)));
        let (file, position, end) = (file.clone(), written.clone(), over.clone());
        let thread = std::thread::spawn(move || {
            let (mut known, mut told) = (base, Instant::now());
            loop {
                // Read before the last look: what was acked by then is in the ledger.
                let last = end.load(Ordering::Acquire);
                let acked = file.acked();
                if acked > known {
                    ledger.ack(acked).map_err(|e| Failure::io("ledger", e))?;
                    known = acked;
                }
                if last {
                    return Ok(());
                }
                if told.elapsed() >= TELL {
                    told = Instant::now();
                    let written = position.load(Ordering::Relaxed);
                    tell(&Message::Progress { acked: known, written })?;
                }
                std::thread::sleep(LOOK);
            }
        });
        Clerk { written, over, thread }
    }

    fn finish(self) -> Result<(), Failure> {
        self.over.store(true, Ordering::Release);
        self.thread.join().unwrap_or_else(|_| Err(Failure::own(exit::BUG, "the ledger's thread")))
    }
}

fn ended(error: &Error, acked: u64, written: u64) -> Message {
    let status = error.status();
    Message::Ended {
        status: status.name().into(),
        fenced: status.is_fenced(),
        text: error.message().to_owned(),
        acked,
        written,
    }
}

/// What the orchestrator asks for on stdin: `go`, `finish <length>`.
#[derive(Debug)]
struct Orders {
    go: mpsc::Receiver<()>,
    length: Arc<AtomicU64>,
}

impl Orders {
    fn listen() -> Orders {
        let (sender, go) = mpsc::channel();
        let length = Arc::new(AtomicU64::new(u64::MAX));
        let heard = length.clone();
        std::thread::spawn(move || {
            for line in std::io::stdin().lines().map_while(Result::ok) {
                match line.strip_prefix("finish ").and_then(|n| n.parse().ok()) {
                    Some(n) => heard.store(n, Ordering::Relaxed),
                    None => drop(sender.send(())),
                }
            }
        });
        Orders { go, length }
    }

    fn wait_for_go(&self) -> Result<(), Failure> {
        self.go.recv().map_err(|_| Failure::own(exit::BUG, "the orchestrator is gone"))
    }

    fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }
}

fn tell(message: &Message) -> Result<(), Failure> {
    let line = serde_json::to_string(message)
        .map_err(|e| Failure::own(exit::BUG, format!("a message: {e}")))?;
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).map_err(|e| Failure::io("stdout", e))
}
