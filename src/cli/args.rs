//! What can be typed. Help texts are the reference: one line what, then what it costs or risks.

use super::units;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use std::time::Duration;

const AFTER: &str = "\
Exit codes: 0 done, 1 usage or no such thing, 2 the store does not answer or is refused, 3 not
owner or held by somebody else, 4 lease lost while running, 5 fenced, 6 outcome unknown, 7 not
recovered yet, 8 a check of the demo failed, 70 a bug; `run`: else the child's.

Configuration: --set key=value, or TENURE_<KEY> in the environment (TENURE_SOFT_MS=10000; store
options as TENURE_STORE_<KEY>). Cloud credentials come from the cloud's own standard variables.";

const RUN: &str = "\
The command finds in its environment:
  TENURE_RESOURCE     the lease's name
  TENURE_EPOCH        the fencing token, larger than every token given out before; pass it on
                      with every write, so that what it guards can refuse a stale one
  TENURE_DEADLINE_MS  milliseconds since 1970: the lease is good until then even if it is never
                      renewed; it is renewed while the command runs

SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on, SIGINT and SIGQUIT too unless the terminal
sends them itself. When the lease cannot be renewed the command gets SIGTERM --grace before the
deadline and SIGKILL shortly before it; when the lease is gone, SIGKILL at once. It also ends
when tenure itself is killed (Linux). When stdin is no terminal the command gets a process group
of its own and signals reach all of it.";

/// Who may write? Leases, fencing and append files over an object store.
#[derive(Debug, Parser)]
#[command(name = "tenure", version, after_help = AFTER, arg_required_else_help = true)]
pub struct Args {
    /// A configuration key, e.g. soft_ms=10000; wins over the environment. Repeatable.
    #[arg(long, global = true, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Tables for people, or JSON for programs.
    #[arg(long, global = true, value_enum, default_value_t = Output::Table)]
    pub output: Output,
    /// When to use colours; NO_COLOR is honoured.
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto)]
    pub color: Color,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// How answers are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Output {
    /// Aligned columns.
    Table,
    /// One JSON value.
    Json,
    /// One JSON object a line.
    Jsonl,
}

/// When colours are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// A family of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// Append-only files.
    File,
    /// Cells.
    Cell,
    /// Bare leases.
    Lease,
}

impl From<KindArg> for tenure::Kind {
    fn from(kind: KindArg) -> tenure::Kind {
        match kind {
            KindArg::File => tenure::Kind::File,
            KindArg::Cell => tenure::Kind::Cell,
            KindArg::Lease => tenure::Kind::Lease,
        }
    }
}

/// The nouns.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Asks a store for everything this library depends on. Writes probe objects under the base.
    Doctor {
        /// Base URL: file:///dir, s3://bucket/base, gs://…, az://…
        url: String,
    },
    /// Kills, stops and fences real writers, and checks every byte.
    Demo(Demo),
    /// Runs a command under a lease; stops it before the lease's deadline when the lease is lost.
    Run(Run),
    /// Lease records.
    Lease {
        /// What to do.
        #[command(subcommand)]
        command: LeaseCommand,
    },
    /// Append-only files.
    File {
        /// What to do.
        #[command(subcommand)]
        command: FileCommand,
    },
    /// One writer of the demo.
    #[command(hide = true)]
    DemoWriter(DemoWriter),
    /// The checker of the demo.
    #[command(hide = true)]
    DemoCheck(DemoCheck),
    /// Becomes the command of `run`, bound to its parent's life.
    #[command(hide = true)]
    Exec {
        /// The parent's process id.
        #[arg(long)]
        parent: i32,
        /// The command.
        #[arg(last = true, required = true)]
        command: Vec<std::ffi::OsString>,
    },
}

/// Whether to wait for a holder.
#[derive(Clone, Copy, Debug, ClapArgs)]
pub struct Waiting {
    /// Do not wait: exit 3 if somebody holds the lease.
    #[arg(short = 'n', long)]
    pub no_wait: bool,
    /// Wait at most this long (5s, 500ms, 2m); without -n and -w: for ever.
    #[arg(short, long, value_parser = units::parse_duration, conflicts_with = "no_wait")]
    pub wait: Option<Duration>,
}

impl Waiting {
    /// As the library takes it.
    pub fn limit(self) -> Option<Duration> {
        if self.no_wait { Some(Duration::ZERO) } else { self.wait }
    }
}

/// `tenure run`.
#[derive(Debug, ClapArgs)]
#[command(after_help = RUN)]
pub struct Run {
    /// Base URL.
    pub url: String,
    /// Name of the lease.
    pub resource: String,
    /// Whether to wait.
    #[command(flatten)]
    pub waiting: Waiting,
    /// SIGTERM comes this long before SIGKILL; default a quarter of the soft limit, which is also
    /// its maximum.
    #[arg(long, value_parser = units::parse_duration)]
    pub grace: Option<Duration>,
    /// How long giving the lease back may take after the command ended.
    #[arg(long, value_parser = units::parse_duration, default_value = "10s")]
    pub release_timeout: Duration,
    /// The command and its arguments.
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// `tenure lease`.
#[derive(Debug, Subcommand)]
pub enum LeaseCommand {
    /// Every lease record.
    Ls {
        /// Base URL.
        url: String,
        /// Only this family.
        #[arg(long, value_enum)]
        kind: Option<KindArg>,
    },
    /// One lease record.
    Show {
        /// Base URL.
        url: String,
        /// The resource's name.
        name: String,
        /// Its family.
        #[arg(long, value_enum, default_value_t = KindArg::Lease)]
        kind: KindArg,
    },
    /// Takes a lease away from a holder that shows no life while it is observed.
    Break(Break),
}

/// `tenure lease break`.
#[derive(Debug, ClapArgs)]
pub struct Break {
    /// Base URL.
    pub url: String,
    /// The resource's name.
    pub name: String,
    /// Its family.
    #[arg(long, value_enum, default_value_t = KindArg::Lease)]
    pub kind: KindArg,
    /// Watch this long first; any sign of life ends with exit 3 and changes nothing.
    #[arg(long, value_parser = units::parse_duration, default_value = "10s")]
    pub observe: Duration,
    /// Why; kept in the record for the next person.
    #[arg(long, default_value = "")]
    pub note: String,
}

/// `tenure file`.
#[derive(Debug, Subcommand)]
pub enum FileCommand {
    /// Appends a local file or stdin, waits until it is durable, prints the acked length.
    Append(Append),
    /// Writes a file to stdout.
    Cat(Cat),
    /// Files under a prefix.
    Ls {
        /// Base URL.
        url: String,
        /// Only paths that start with this.
        #[arg(default_value = "")]
        prefix: String,
    },
    /// One file.
    Stat {
        /// Base URL.
        url: String,
        /// The file's path.
        path: String,
    },
}

/// `tenure file append`.
#[derive(Debug, ClapArgs)]
pub struct Append {
    /// Base URL.
    pub url: String,
    /// The file's path under the base.
    pub path: String,
    /// What to append; `-` is stdin.
    #[arg(default_value = "-")]
    pub input: PathBuf,
    /// Create the file if there is none.
    #[arg(short, long)]
    pub create: bool,
    /// Do not finalise the file: followers go on waiting, the next writer recovers its tail.
    #[arg(long)]
    pub leave_open: bool,
    /// Whether to wait.
    #[command(flatten)]
    pub waiting: Waiting,
}

/// `tenure file cat`.
#[derive(Debug, ClapArgs)]
pub struct Cat {
    /// Base URL.
    pub url: String,
    /// The file's path.
    pub path: String,
    /// Go on until the file is closed.
    #[arg(short, long)]
    pub follow: bool,
    /// Begin at this byte (64KiB, 1MiB are understood).
    #[arg(long, value_parser = units::parse_bytes, default_value = "0")]
    pub offset: u64,
}

/// `tenure demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Base URL; without it a temporary directory that is removed at the end.
    #[arg(long)]
    pub url: Option<String>,
    /// How much text the three writers produce, at least.
    #[arg(long, value_parser = units::parse_bytes, default_value = "64MiB")]
    pub size: u64,
    /// Keep base and ledgers, and print where they are.
    #[arg(long)]
    pub keep: bool,
}

/// One writer of the demo.
#[derive(Debug, ClapArgs)]
pub struct DemoWriter {
    /// Base URL.
    pub url: String,
    /// The file's path.
    pub path: String,
    /// Which letter this writer puts before each line.
    #[arg(long)]
    pub role: char,
    /// Where its ledger goes.
    #[arg(long)]
    pub ledgers: PathBuf,
    /// Create the file, and write only when `go` comes on stdin.
    #[arg(long)]
    pub create: bool,
    /// After being refused once, wait for the word `go`.
    #[arg(long)]
    pub patient: bool,
    /// Give up at this length: a bound on disk space if `finish` never comes.
    #[arg(long)]
    pub limit: u64,
    /// The orchestrator's process id.
    #[arg(long)]
    pub parent: i32,
}

/// The checker of the demo.
#[derive(Debug, ClapArgs)]
pub struct DemoCheck {
    /// Base URL.
    pub url: String,
    /// The file's path.
    pub path: String,
    /// Where the ledgers are.
    #[arg(long)]
    pub ledgers: PathBuf,
}
