//! Who does what to whom. A writes first; B and C ask and are told who holds the file. B waits for
//! A's end, C for B's, so that every play tells the same story.
//!
//! Rule: each step waits for something observed, never for time to pass; a signal is sent only
//! while bytes are under way; every wait has an end, and every way out ends the processes that were
//! started here (their `Drop`).

use super::actor::{Actor, Heard};
use super::ledger::{Entries, written};
use super::message::{Check, Findings, Message};
use super::stage::Stage;
use super::timeline::{Event, Timeline, seconds};
use crate::cli::exit::{BUG, Failure, LOST};
use crate::cli::show::Tint;
use crate::cli::units::{bytes, duration};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tenure::Client;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// How often a writer is frozen until it is caught with a PUT under way.
const CATCHES: usize = 50;
/// One request, at most, when nothing is known of the store: for the bound on a takeover.
const REQUEST: Duration = Duration::from_millis(100);

/// The play.
#[derive(Debug)]
pub struct Story<'a> {
    /// What a person sees.
    pub timeline: Timeline<'a>,
    stage: &'a Stage,
    client: &'a Client,
    actors: Vec<Actor>,
    mouth: UnboundedSender<Heard>,
    ears: UnboundedReceiver<Heard>,
    bound: Duration,
    checks: Vec<Check>,
    admitted: Vec<Admitted>,
}

/// A writer that was admitted.
#[derive(Clone, Copy, Debug)]
struct Admitted {
    role: char,
    epoch: u64,
    base: u64,
}

impl<'a> Story<'a> {
    /// Sets the scene.
    pub fn begin(
        stage: &'a Stage,
        client: &'a Client,
        timeline: Timeline<'a>,
        guard: Duration,
        grain: Duration,
    ) -> Result<Story<'a>, Failure> {
        let (mouth, ears) = unbounded_channel();
        // A contender waits up to a guard longer than it must, by chance, not to meet the others.
        let bound = stage.config.limits.soft + guard * 2 + grain;
        Ok(Story {
            timeline,
            stage,
            client,
            actors: Vec::new(),
            mouth,
            ears,
            bound,
            checks: Vec::new(),
            admitted: Vec::new(),
        })
    }

    /// Plays it to its end.
    pub async fn play(&mut self) -> Result<(), Failure> {
        self.start('A')?;
        let first = self.await_admission(|_| "to a new file".into()).await?.0;
        self.start('B')?;
        self.start('C')?;
        self.hear_refusals().await?;
        self.actor(first.role)?.order("go")?;
        self.note(first, Tint::Plain, "writes", String::new())?;
        self.until_under_way(first).await?;
        let killed = self.kill(first)?;
        let second = self.await_takeover("kill", killed).await?;
        self.actor('C')?.order("go")?;
        self.until_under_way(second).await?;
        let stopped = self.freeze(second).await?;
        let third = self.await_takeover("stop", stopped).await?;
        let length = self.stage.size.max(third.base + self.stage.size / 3);
        self.actor(third.role)?.order(&format!("finish {length}"))?;
        self.actor(second.role)?.resume()?;
        self.note(second, Tint::Warn, "SIGCONT", "and it goes on as if nothing had been".into())?;
        self.hear_the_end(second, third).await
    }

    fn start(&mut self, role: char) -> Result<(), Failure> {
        let mut command = self.stage.command("demo-writer", role)?;
        let limit = (self.stage.size * 16).max(1 << 30);
        command.args(["--role", &role.to_string(), "--limit", &limit.to_string()]);
        command.args(["--parent", &std::process::id().to_string()]);
        match role {
            'A' => drop(command.arg("--create")),
            'C' => drop(command.arg("--patient")),
            _ => {}
        }
        self.actors.push(Actor::start(role, command, self.mouth.clone())?);
        Ok(())
    }

    fn actor(&mut self, role: char) -> Result<&mut Actor, Failure> {
        let found = self.actors.iter_mut().find(|a| a.role == role);
        found.ok_or_else(|| Failure::own(BUG, format!("there is no process {role}")))
    }

    /// The next thing a writer says. A writer that ends when it should not is an error with its
    /// last words.
    async fn hear(&mut self, what: &str, until: Instant) -> Result<Heard, Failure> {
        let heard = tokio::select! {
            heard = self.ears.recv() => heard,
            () = tokio::time::sleep_until(until.into()) => None,
            _ = tokio::signal::ctrl_c() => return Err(Failure::own(130, "interrupted")),
        };
        heard.ok_or_else(|| {
            let words: Vec<String> =
                self.actors.iter().map(|a| self.stage.stderr(a.role)).collect();
            Failure::own(LOST, format!("{what} did not happen in time {}", words.join(" ")))
        })
    }

    /// The next writer that is admitted, and when it said so.
    async fn await_admission(
        &mut self,
        text: impl Fn(Instant) -> String,
    ) -> Result<(Admitted, Instant), Failure> {
        let until = Instant::now() + self.stage.patience();
        loop {
            let Heard { role, at, message } = self.hear("an admission", until).await?;
            match message {
                Some(Message::Admitted { epoch, base }) => {
                    let admitted = Admitted { role, epoch, base };
                    self.admitted.push(admitted);
                    self.tell(admitted, at, Some(base), Tint::Good, "ADMITTED", text(at))?;
                    return Ok((admitted, at));
                }
                Some(Message::Ended { text, .. }) => return Err(self.ended(role, &text)),
                None if self.is_waiting(role) => return Err(self.ended(role, "")),
                _ => {}
            }
        }
    }

    fn is_waiting(&self, role: char) -> bool {
        self.admitted.iter().all(|a| a.role != role)
    }

    fn ended(&self, role: char, text: &str) -> Failure {
        let words = self.stage.stderr(role);
        Failure::own(LOST, format!("process {role} ended too early: {text} {words}"))
    }

    /// B and C ask once and are told who holds the file; then they wait.
    async fn hear_refusals(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + self.stage.patience();
        let mut left = 2;
        while left > 0 {
            let Heard { role, at, message } = self.hear("a refusal", until).await?;
            match message {
                Some(Message::Held { holder, retry_after_ms, .. }) => {
                    left -= 1;
                    let wait = duration(Duration::from_millis(retry_after_ms));
                    // node/session: the node says it all here, and the row fits the page.
                    let node = holder.split('/').next().unwrap_or(&holder);
                    let text = format!("by {node}; may ask again in {wait}");
                    self.timeline.event(Event {
                        at,
                        role,
                        epoch: None,
                        acked: None,
                        word: "HELD",
                        tint: Tint::Dim,
                        text,
                    })?;
                }
                Some(Message::Ended { text, .. }) => return Err(self.ended(role, &text)),
                None => return Err(self.ended(role, "")),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Until a third of the text is acked and at least a segment is not.
    async fn until_under_way(&mut self, who: Admitted) -> Result<(), Failure> {
        let until = Instant::now() + self.stage.patience();
        let enough = who.base + self.stage.size / 3;
        loop {
            let Heard { role, message, .. } = self.hear("a third of the text", until).await?;
            match message {
                Some(Message::Progress { acked, written })
                    if role == who.role
                        && acked >= enough
                        && written >= acked + self.stage.segment() =>
                {
                    return Ok(());
                }
                Some(Message::Ended { text, .. }) => return Err(self.ended(role, &text)),
                None => return Err(self.ended(role, "")),
                _ => {}
            }
        }
    }

    fn kill(&mut self, who: Admitted) -> Result<Instant, Failure> {
        self.actor(who.role)?.kill()?;
        let at = Instant::now();
        let acked = self.acked(who)?;
        let under_way = written(self.stage.ledgers(), who.role).saturating_sub(acked);
        let text = format!("with {} under way, not acked", bytes(under_way));
        self.tell(who, at, Some(acked), Tint::Bad, "SIGKILL", text.clone())?;
        self.checks.push(Check::new(
            format!("{} was killed with PUTs in flight", who.role),
            under_way > 0,
            text,
        ));
        Ok(at)
    }

    /// Stops a writer so that a segment is sent and not stored: what readers see must end before
    /// what it wrote (and see `slots`). If it does not, it goes on a little.
    async fn freeze(&mut self, who: Admitted) -> Result<Instant, Failure> {
        let mut under_way = 0;
        let mut at = Instant::now();
        for catch in 0..CATCHES {
            if catch > 0 {
                self.actor(who.role)?.resume()?;
                tokio::time::sleep(Duration::from_millis(3)).await;
            }
            self.actor(who.role)?.stop()?;
            at = Instant::now();
            let reader = self.client.open_file(&self.stage.path).await?;
            let visible = reader.refresh().await?;
            under_way = written(self.stage.ledgers(), who.role).saturating_sub(visible);
            if under_way >= self.stage.segment() && self.stage.is_caught(who.epoch) {
                break;
            }
        }
        let acked = self.acked(who)?;
        let text = format!("with {} under way, not stored", bytes(under_way));
        self.tell(who, at, Some(acked), Tint::Warn, "SIGSTOP", text.clone())?;
        self.checks.push(Check::new(
            format!("{} was stopped with PUTs in flight", who.role),
            under_way > 0,
            text,
        ));
        Ok(at)
    }

    /// The next writer's admission, and how long it took.
    async fn await_takeover(&mut self, what: &str, since: Instant) -> Result<Admitted, Failure> {
        let bound = duration(self.bound);
        let took = |at: Instant| at.saturating_duration_since(since);
        let told = |at| format!("{} after the {what} (bound {bound})", seconds(took(at)));
        let (admitted, at) = self.await_admission(told).await?;
        let took = took(at);
        self.checks.push(Check::new(
            format!("{} took over in time", admitted.role),
            took <= self.bound + REQUEST * 12,
            format!("{} after the {what}; {bound} and 12 requests allowed", seconds(took)),
        ));
        Ok(admitted)
    }

    /// The zombie must be told, and the lawful writer must finish, in either order.
    async fn hear_the_end(&mut self, zombie: Admitted, last: Admitted) -> Result<(), Failure> {
        let until = Instant::now() + self.stage.patience();
        let (mut told, mut closed) = (false, false);
        while !told || !closed {
            let Heard { role, at, message } = self.hear("the end", until).await?;
            match message {
                Some(Message::Ended { status, fenced, text, acked, .. }) if role == zombie.role => {
                    told = true;
                    let fenced = fenced && status == "FENCED";
                    let tint = if fenced { Tint::Good } else { Tint::Bad };
                    self.tell(zombie, at, Some(acked), tint, &status, text)?;
                    let name = format!("{role} was told that it is fenced");
                    self.checks.push(Check::new(name, fenced, status));
                }
                Some(Message::Closed { acked }) if role == last.role => {
                    closed = true;
                    self.tell(last, at, Some(acked), Tint::Good, "CLOSED", String::new())?;
                }
                Some(Message::Ended { text, .. }) => return Err(self.ended(role, &text)),
                None if role == zombie.role && !told => return Err(self.ended(role, "")),
                None if role == last.role && !closed => return Err(self.ended(role, "")),
                _ => {}
            }
        }
        self.actor(zombie.role)?.reap()?;
        self.actor(last.role)?.reap()
    }

    /// Has a process of its own compare file and ledgers, and adds what was seen here.
    pub fn verify(&mut self) -> Result<(Findings, Vec<Check>), Failure> {
        let mut command = self.stage.command("demo-check", 'K')?;
        let output = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .output()
            .map_err(|e| Failure::io("the checker", e))?;
        let found: Findings = serde_json::from_slice(&output.stdout).map_err(|_| {
            let words = self.stage.stderr('K');
            Failure::own(LOST, format!("the checker could not compare: {words}"))
        })?;
        let mut checks = self.checks.clone();
        checks.extend(found.checks.iter().cloned());
        Ok((found, checks))
    }

    fn acked(&self, who: Admitted) -> Result<u64, Failure> {
        let entries = Entries::read(self.stage.ledgers(), who.role);
        entries.map(|e| e.acked()).map_err(|e| Failure::io(format!("ledger of {}", who.role), e))
    }

    fn note(&mut self, who: Admitted, tint: Tint, word: &str, text: String) -> Result<(), Failure> {
        self.tell(who, Instant::now(), None, tint, word, text)
    }

    fn tell(
        &mut self,
        who: Admitted,
        at: Instant,
        acked: Option<u64>,
        tint: Tint,
        word: &str,
        text: String,
    ) -> Result<(), Failure> {
        let epoch = Some(who.epoch);
        self.timeline.event(Event { at, role: who.role, epoch, acked, word, tint, text })
    }
}
