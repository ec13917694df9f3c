//! The demo's processes, seen from the orchestrator: started here, heard here, ended here on every
//! way out.

use super::message::Message;
use crate::cli::exit::Failure;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Instant;
use tokio::sync::mpsc::UnboundedSender;

/// A line from a writer, with its arrival.
#[derive(Debug)]
pub struct Heard {
    /// Who.
    pub role: char,
    /// When it was read here.
    pub at: Instant,
    /// What; `None` when its stdout ended.
    pub message: Option<Message>,
}

/// One writer process. Dropping it kills it, also if it is stopped, and reaps it.
#[derive(Debug)]
pub struct Actor {
    /// Its letter.
    pub role: char,
    child: Child,
    stdin: Option<ChildStdin>,
    pid: Pid,
    reaped: bool,
}

impl Actor {
    /// Starts it; its messages go to `ears`.
    pub fn start(
        role: char,
        mut command: Command,
        ears: UnboundedSender<Heard>,
    ) -> Result<Actor, Failure> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|e| Failure::io(format!("process {role}"), e))?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let pid = Pid::from_child(&child);
        std::thread::spawn(move || {
            let lines = stdout.into_iter().flat_map(|out| BufReader::new(out).lines());
            for line in lines.map_while(Result::ok) {
                // A line cut off by a kill is no message.
                let Ok(message) = serde_json::from_str(&line) else { continue };
                let heard = Heard { role, at: Instant::now(), message: Some(message) };
                if ears.send(heard).is_err() {
                    return;
                }
            }
            let _ = ears.send(Heard { role, at: Instant::now(), message: None });
        });
        Ok(Actor { role, child, stdin, pid, reaped: false })
    }

    /// Sends it a line.
    pub fn order(&mut self, line: &str) -> Result<(), Failure> {
        let name = format!("process {}", self.role);
        let mut pipe = self.stdin.as_mut().into_iter();
        pipe.try_for_each(|p| writeln!(p, "{line}").and_then(|()| p.flush()))
            .map_err(|e| Failure::Machine(name, e))
    }

    /// SIGKILL, and waits until it is gone.
    pub fn kill(&mut self) -> Result<(), Failure> {
        self.signal(Signal::KILL)?;
        self.reap()
    }

    /// SIGSTOP, and waits until the kernel says that it stands still.
    pub fn stop(&mut self) -> Result<(), Failure> {
        self.signal(Signal::STOP)?;
        let name = format!("process {}", self.role);
        match waitpid(Some(self.pid), WaitOptions::UNTRACED) {
            Ok(Some((_, status))) if status.stopped() => Ok(()),
            Ok(_) => {
                self.reaped = true;
                Err(Failure::own(crate::cli::exit::BUG, format!("{name} ended by itself")))
            }
            Err(e) => Err(Failure::Machine(name, e.into())),
        }
    }

    /// SIGCONT.
    pub fn resume(&mut self) -> Result<(), Failure> {
        self.signal(Signal::CONT)
    }

    /// Waits until it has ended by itself.
    pub fn reap(&mut self) -> Result<(), Failure> {
        let ended = self.child.wait().map_err(|e| Failure::io(format!("process {}", self.role), e));
        self.reaped = true;
        ended.map(|_| ())
    }

    fn signal(&self, signal: Signal) -> Result<(), Failure> {
        let sent = kill_process(self.pid, signal);
        sent.map_err(|e| Failure::Machine(format!("process {}", self.role), e.into()))
    }
}

impl Drop for Actor {
    /// SIGKILL also ends a stopped process.
    fn drop(&mut self) {
        if !self.reaped && matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
