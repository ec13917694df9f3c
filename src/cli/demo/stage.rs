//! Where the demo is played: base URL, ledgers, and how the processes are configured.

use super::slots;
use crate::cli::args::Demo;
use crate::cli::exit::{Failure, USAGE};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tenure::Config;
use tenure::base::config::PACKET;
use url::Url;

/// The smallest text that keeps eight segments in flight for a while.
const SIZE_MIN: u64 = 1 << 20;
/// Segment PUTs in flight per writer.
const IN_FLIGHT: usize = 8;

/// The place and the configuration. Dropping it removes the temporary directory, unless it is to be
/// kept.
#[derive(Debug)]
pub struct Stage {
    /// Base URL.
    pub url: String,
    /// The file's path under it.
    pub path: String,
    /// What every client of the demo is told.
    pub config: Config,
    /// How much text.
    pub size: u64,
    /// Whether the store is a directory of this machine.
    pub local: bool,
    directory: PathBuf,
    own_base: bool,
    keep: bool,
    environment: Vec<(String, String)>,
}

impl Stage {
    /// Chooses base, limits and segment size, and makes the directory for ledgers.
    pub fn build(order: &Demo, mut config: Config, set: &[String]) -> Result<Stage, Failure> {
        if order.size < SIZE_MIN {
            return Err(Failure::own(USAGE, "--size: expected at least 1MiB"));
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name = format!("tenure-demo-{}-{}", now.as_millis(), std::process::id());
        let directory = std::env::temp_dir().join(&name);
        std::fs::create_dir(&directory)
            .map_err(|e| Failure::io(directory.display().to_string(), e))?;
        let own_base = order.url.is_none();
        let url = match &order.url {
            Some(url) => url.clone(),
            None => base_inside(&directory)?,
        };
        let local = url.starts_with("file:");
        let mut environment = Vec::new();
        // What somebody chose stays; the demo's own limits are short, because a person waits for
        // them.
        let chosen = |key: &str| {
            set.iter().any(|pair| pair.starts_with(&format!("{key}=")))
                || std::env::var_os(variable(key)).is_some()
        };
        let mut put = |key: &str, value: String| -> Result<(), Failure> {
            if chosen(key) {
                return Ok(());
            }
            config.set(key, &value)?;
            environment.push((variable(key), value));
            Ok(())
        };
        if !chosen("limits") {
            put("soft_ms", if local { "2000" } else { "10000" }.into())?;
        }
        let segment = usize::try_from(order.size / 64).unwrap_or(1 << 20).clamp(PACKET, 1 << 20);
        put("segment_max", segment.to_string())?;
        put("in_flight", IN_FLIGHT.to_string())?;
        put("max_packets", (2 * IN_FLIGHT * segment / PACKET).to_string())?;
        for pair in set.iter().filter_map(|pair| pair.split_once('=')) {
            environment.push((variable(pair.0.trim()), pair.1.trim().to_owned()));
        }
        Ok(Stage {
            url,
            path: format!("demo/{}", now.as_millis()),
            config,
            size: order.size,
            local,
            directory,
            own_base,
            keep: order.keep,
            environment,
        })
    }

    /// A process of this program, configured through its environment (command lines are visible to
    /// everybody, and options may be secrets).
    pub fn command(&self, verb: &str, node: char) -> Result<Command, Failure> {
        let myself = std::env::current_exe().map_err(|e| Failure::io("own program", e))?;
        let log = self.directory.join(format!("{node}.stderr"));
        let log = std::fs::File::create(&log).map_err(|e| Failure::io("a log", e))?;
        let mut command = Command::new(myself);
        command.args([verb, &self.url, &self.path, "--ledgers"]).arg(&self.directory);
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        command.env("TENURE_NODE", format!("demo-{node}")).stderr(log);
        Ok(command)
    }

    /// Where the ledgers are.
    pub fn ledgers(&self) -> &Path {
        &self.directory
    }

    /// The last words of a process.
    pub fn stderr(&self, node: char) -> String {
        let text = std::fs::read_to_string(self.directory.join(format!("{node}.stderr")));
        text.unwrap_or_default().trim().to_owned()
    }

    /// A writer counts as in flight with at least this many bytes not acked.
    pub fn segment(&self) -> u64 {
        self.config.segment_max as u64
    }

    /// Whether the frozen writer with this epoch certainly waits for an answer; a bucket cannot
    /// tell, and requests take so much longer there that it does.
    pub fn is_caught(&self, epoch: u64) -> bool {
        let directory = Url::parse(&self.url).ok().and_then(|url| url.to_file_path().ok());
        directory.is_none_or(|base| slots::all_wait(&base, epoch, self.config.in_flight))
    }

    /// How long a writer may take for its share.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(if self.local { 60 } else { 300 }) + self.config.limits.soft * 3
    }

    /// What stays behind, for people.
    pub fn kept(&self) -> String {
        match (self.keep, self.own_base) {
            (true, true) => self.directory.display().to_string(),
            (true, false) => format!("{} and {}", self.url, self.directory.display()),
            (false, true) => String::new(),
            (false, false) => format!("{} (path {})", self.url, self.path),
        }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if !self.keep {
            let _ = std::fs::remove_dir_all(&self.directory);
        }
    }
}

fn base_inside(directory: &Path) -> Result<String, Failure> {
    let base = directory.join("base");
    std::fs::create_dir(&base).map_err(|e| Failure::io(base.display().to_string(), e))?;
    let url = Url::from_file_path(&base);
    url.map(String::from)
        .map_err(|()| Failure::own(USAGE, "the temporary directory is not absolute"))
}

fn variable(key: &str) -> String {
    format!("TENURE_{}", key.replace('.', "_").to_uppercase())
}
