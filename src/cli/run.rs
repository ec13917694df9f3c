//! `tenure run`: a command that runs only while its lease is valid.
//!
//! Rule: the command is gone before anybody else can be admitted. The deadline counts from the last
//! renewal that was answered, on this machine's boot clock; SIGTERM comes `grace + margin` before
//! it and SIGKILL `margin` before it. Why not after the loss is noticed: then command and successor
//! run side by side for as long as noticing takes (consul#1843: minutes). A lease that is suspended
//! or lost has passed its deadline or was taken away: SIGKILL at once.

use super::args::Run;
use super::exit::{Failure, LOST};
use super::show::prompt;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::io::IsTerminal;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tenure::drive::authority::Validity;
use tenure::{Client, Config, Lease};
use tokio::signal::unix::{Signal as Notice, SignalKind, signal};

/// How often the lease is looked at: memory and one clock read.
const LOOK: Duration = Duration::from_millis(20);

/// Acquires, runs, releases. The exit code is the command's, or 4 if it had to be stopped.
pub async fn run(order: Run, config: Config) -> Result<ExitCode, Failure> {
    let limits = Stops::new(config.limits.soft, order.grace)?;
    let mut notices = Notices::listen()?;
    let client = Client::open(&order.url, config).await?;
    let acquired = tokio::select! {
        lease = client.acquire(&order.resource, order.waiting.limit()) => lease.map_err(Err),
        name = notices.next() => Err(Ok(ExitCode::from(signalled(name.as_raw())))),
    };
    let lease = match acquired {
        Ok(lease) => lease,
        Err(answer) => {
            // What was sent may still land; nobody is left to renew it.
            let _ = client.close(Some(order.release_timeout)).await;
            return answer.map_err(Failure::from);
        }
    };
    let outcome = match Ward::start(&order, &lease) {
        Ok(ward) => ward.guard(&lease, &limits, &mut notices).await,
        Err(failure) => Err(failure),
    };
    if let Err(error) = give_back(&client, &lease, order.release_timeout).await {
        prompt(&format!("tenure: {}: not given back: {error}", order.resource));
    }
    outcome
}

async fn give_back(client: &Client, lease: &Lease, limit: Duration) -> tenure::Result<()> {
    lease.release(Some(limit)).await?;
    client.close(Some(limit)).await
}

/// When a command whose lease is not renewed is stopped, counted back from the deadline.
#[derive(Debug)]
struct Stops {
    term: Duration,
    kill: Duration,
}

impl Stops {
    /// A renewal every soft/2 leaves soft/2 on a good day: stopping must begin below that.
    fn new(soft: Duration, grace: Option<Duration>) -> Result<Stops, Failure> {
        let longest = soft / 4;
        let grace = grace.unwrap_or(longest.min(Duration::from_secs(10)));
        if grace > longest {
            return Err(Failure::own(
                super::exit::USAGE,
                format!(
                    "--grace {} ms: expected at most a quarter of soft_ms ({} ms)",
                    grace.as_millis(),
                    longest.as_millis()
                ),
            ));
        }
        let kill = (soft / 20).clamp(Duration::from_millis(50), Duration::from_secs(1));
        Ok(Stops { term: kill + grace, kill })
    }
}

/// The command, while it runs.
#[derive(Debug)]
struct Ward {
    child: Child,
    pid: Pid,
    own_group: bool,
}

impl Ward {
    fn start(order: &Run, lease: &Lease) -> Result<Ward, Failure> {
        let myself = std::env::current_exe().map_err(|e| Failure::io("own program", e))?;
        // A command that reads the terminal must stay in its foreground group.
        let own_group = !std::io::stdin().is_terminal();
        let mut command = Command::new(myself);
        command
            .args(["exec", "--parent", &std::process::id().to_string(), "--"])
            .args(&order.command)
            .env("TENURE_RESOURCE", lease.name())
            .env("TENURE_EPOCH", lease.epoch().to_string())
            .env("TENURE_DEADLINE_MS", deadline_ms(lease.remaining()).to_string());
        if own_group {
            command.process_group(0);
        }
        let child = command.spawn().map_err(|e| Failure::io("the command", e))?;
        let pid = Pid::from_child(&child);
        Ok(Ward { child, pid, own_group })
    }

    /// Watches command and lease until the command is gone.
    async fn guard(
        mut self,
        lease: &Lease,
        stops: &Stops,
        notices: &mut Notices,
    ) -> Result<ExitCode, Failure> {
        let mut told: Option<Signal> = None;
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            let ended = self.child.try_wait().map_err(|e| Failure::io("the command", e))?;
            if let Some(status) = ended {
                return Ok(if told.is_some() { ExitCode::from(LOST) } else { code(status) });
            }
            let due = match lease.check() {
                Validity::Valid(left) if left > stops.term => None,
                Validity::Valid(left) if left > stops.kill => Some(Signal::TERM),
                _ => Some(Signal::KILL),
            };
            // Once told to stop it stops, even if the lease comes back.
            if let Some(due) = due.filter(|due| told != Some(*due) && told != Some(Signal::KILL)) {
                explain(lease, due);
                self.send(due);
                told = Some(due);
            }
            tokio::select! {
                _ = look.tick() => {}
                notice = notices.next() => self.pass_on(notice),
            }
        }
    }

    /// The terminal sends SIGINT and SIGQUIT to the whole foreground group by itself.
    fn pass_on(&self, notice: Signal) {
        let by_terminal = !self.own_group && matches!(notice, Signal::INT | Signal::QUIT);
        if !by_terminal && notice != Signal::CHILD {
            self.send(notice);
        }
    }

    /// Safe against reuse of the number: the child is not reaped but by `guard`, which then
    /// returns.
    fn send(&self, signal: Signal) {
        if self.own_group {
            let _ = kill_process_group(self.pid, signal);
        } else {
            let _ = kill_process(self.pid, signal);
        }
    }
}

impl Drop for Ward {
    /// Whatever went wrong here, the command does not outlive its lease.
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.send(Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// The signals a wrapper passes on.
#[derive(Debug)]
struct Notices(Vec<(Signal, Notice)>);

impl Notices {
    fn listen() -> Result<Notices, Failure> {
        let wanted = [
            (Signal::TERM, SignalKind::terminate()),
            (Signal::INT, SignalKind::interrupt()),
            (Signal::HUP, SignalKind::hangup()),
            (Signal::QUIT, SignalKind::quit()),
            (Signal::USR1, SignalKind::user_defined1()),
            (Signal::USR2, SignalKind::user_defined2()),
            (Signal::CHILD, SignalKind::child()),
        ];
        let open =
            |(name, kind)| signal(kind).map(|s| (name, s)).map_err(|e| Failure::io("signals", e));
        Ok(Notices(wanted.into_iter().map(open).collect::<Result<_, _>>()?))
    }

    /// The next one that arrives.
    async fn next(&mut self) -> Signal {
        let each = self.0.iter_mut().map(|(name, notice)| {
            Box::pin(async move {
                notice.recv().await;
                *name
            })
        });
        futures::future::select_all(each).await.0
    }
}

fn explain(lease: &Lease, due: Signal) {
    let name = if due == Signal::KILL { "SIGKILL" } else { "SIGTERM" };
    let why = match lease.check() {
        Validity::Valid(_) => "was not renewed in time".to_owned(),
        Validity::Suspended => "is suspended".to_owned(),
        Validity::Lost => {
            lease.loss().map_or_else(|| "is lost".into(), |e| format!("is lost: {e}"))
        }
    };
    let (lease, epoch) = (lease.name(), lease.epoch());
    prompt(&format!("tenure: lease {lease} (epoch {epoch}) {why}; {name} to the command"));
}

fn code(status: ExitStatus) -> ExitCode {
    let raw = match (status.code(), status.signal()) {
        (Some(code), _) => u8::try_from(code).unwrap_or(u8::MAX),
        (None, Some(signal)) => signalled(signal),
        (None, None) => u8::MAX,
    };
    ExitCode::from(raw)
}

/// As shells do: 128 + signal.
fn signalled(signal: i32) -> u8 {
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

/// Milliseconds since 1970 at which the lease ends if nothing renews it.
fn deadline_ms(left: Duration) -> u128 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    (now + left).as_millis()
}
