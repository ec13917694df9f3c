//! Configuration: one table of string keys, the same in every language, on the command line and as
//! `TENURE_*` in the environment.
//!
//! Rule: an unknown key, a malformed value or an impossible combination is refused with key, value
//! and allowed range. Store options (`store.<key>`) are passed to the store's client and never
//! shown: they may be secrets. What is not here: reading the environment (`api::client`), cloud
//! credentials (the store's own standard variables).

use super::name::check_node;
use super::{Error, Limits, Result, Status};
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Everything a client can be told. `Config::default()` is safe for production.
#[derive(Clone)]
pub struct Config {
    /// The lease's limits: keys `limits`, `soft_ms`, `hard_ms`, `renew_ms`.
    pub limits: Limits,
    /// Key `node`: how this process is named to others; default `<host>`-independent `client`.
    pub node: String,
    /// Key `in_flight`: segment PUTs of one writer in flight, 1 to 64; default 8.
    pub in_flight: usize,
    /// Key `segment_max`: bytes of the largest segment, 64 KiB to 64 MiB; default 4 MiB.
    pub segment_max: usize,
    /// Key `max_packets`: packets a writer may hold un-acked, 2 to 65536; default `in_flight x
    /// segment_max + 80 packets`.
    pub max_packets: Option<usize>,
    /// Key `memory_budget`: bytes of un-acked data over all writers of the process, at least 1 MiB;
    /// default 1 GiB.
    pub memory_budget: usize,
    /// Key `request_timeout_ms`: one data request, 100 ms to 10 min; default 30 s.
    pub request_timeout: Duration,
    /// Key `ack_timeout_ms`: how long a segment may be resent before its writer gives up, 1 s to 1
    /// h; default 8 min (HDFS).
    pub ack_timeout: Duration,
    /// Key `data_workers`: threads of the data runtime, 2 to 256; the first client of the process
    /// decides; default min(4, cores), at least 2.
    pub data_workers: Option<usize>,
    /// Key `fsync`: whether `file://` flushes file and directory before it acknowledges; default
    /// true. False loses acked data on power failure.
    pub fsync: bool,
    /// Keys `store.*`: options of the store's own client, e.g. `store.aws_endpoint`. Never printed.
    pub store: BTreeMap<String, String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::DEFAULT,
            node: "client".into(),
            in_flight: 8,
            segment_max: 4 << 20,
            max_packets: None,
            memory_budget: 1 << 30,
            request_timeout: Duration::from_secs(30),
            ack_timeout: Duration::from_secs(480),
            data_workers: None,
            fsync: true,
            store: BTreeMap::new(),
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let store: Vec<&String> = self.store.keys().collect();
        f.debug_struct("Config")
            .field("limits", &self.limits)
            .field("node", &self.node)
            .field("store_keys", &store)
            .finish_non_exhaustive()
    }
}

/// Bytes of user data in a packet (PARITY W44, W46).
pub const PACKET: usize = 64 << 10;

impl Config {
    /// Every key with its meaning, for documentation and `--help`.
    pub const KEYS: &[(&str, &str)] = &[
        ("limits", "preset of soft, hard and renew: default, fast or hdfs3"),
        ("soft_ms", "a holder silent this long may be replaced; 1000 or more (60000)"),
        ("hard_ms", "a holder silent this long is recovered unasked; 2 x soft or more (3600000)"),
        ("renew_ms", "renewal period; 100 to soft / 2 (soft / 2)"),
        ("node", "how others see this process; letters, digits, _ . - (client)"),
        ("in_flight", "segment PUTs in flight per writer; 1 to 64 (8)"),
        ("segment_max", "largest segment in bytes; 65536 to 67108864 (4194304)"),
        (
            "max_packets",
            "un-acked 64 KiB packets per writer; 2 to 65536 (in_flight x segment_max + 80 packets)",
        ),
        (
            "memory_budget",
            "un-acked bytes of all writers of the process; 1048576 or more (1073741824)",
        ),
        ("request_timeout_ms", "one data request; 100 to 600000 (30000)"),
        (
            "ack_timeout_ms",
            "how long a segment is resent before the writer gives up; 1000 to 3600000 (480000)",
        ),
        ("data_workers", "threads of the data runtime; 2 to 256 (cores, 2 to 4)"),
        ("fsync", "file://: flush to disk before acknowledging; true or false (true)"),
        ("store.*", "option of the store's own client, e.g. store.aws_endpoint"),
    ];

    /// Sets one key. Setting `soft_ms` also moves `renew_ms` to its half; set `renew_ms` afterwards
    /// to override.
    pub fn set(&mut self, key: &str, value: &str) -> Result<()> {
        match key {
            "limits" => self.limits = preset(value)?,
            "soft_ms" => {
                self.limits.soft = millis(key, value, 1_000, 604_800_000)?;
                self.limits.renew = self.limits.soft / 2;
            }
            "hard_ms" => self.limits.hard = millis(key, value, 2_000, 6_048_000_000)?,
            "renew_ms" => self.limits.renew = millis(key, value, 100, 302_400_000)?,
            "node" => {
                check_node(value)?;
                self.node = value.to_owned();
            }
            "in_flight" => self.in_flight = number(key, value, 1, 64)?,
            "segment_max" => self.segment_max = number(key, value, PACKET, 64 << 20)?,
            "max_packets" => self.max_packets = Some(number(key, value, 2, 65_536)?),
            "memory_budget" => self.memory_budget = number(key, value, 1 << 20, usize::MAX)?,
            "request_timeout_ms" => self.request_timeout = millis(key, value, 100, 600_000)?,
            "ack_timeout_ms" => self.ack_timeout = millis(key, value, 1_000, 3_600_000)?,
            "data_workers" => self.data_workers = Some(number(key, value, 2, 256)?),
            "fsync" => self.fsync = boolean(key, value)?,
            _ => match key.strip_prefix("store.") {
                Some(option) if !option.is_empty() => {
                    drop(self.store.insert(option.to_owned(), value.to_owned()))
                }
                _ => return Err(unknown(key)),
            },
        }
        Ok(())
    }

    /// Refuses combinations that cannot work. Called when a client is opened.
    pub fn check(&self) -> Result<()> {
        self.limits.check()
    }

    /// Bytes one writer may hold un-acked (PARITY W48).
    #[must_use]
    pub fn window(&self) -> usize {
        match self.max_packets {
            Some(packets) => packets * PACKET,
            None => self.in_flight * self.segment_max + 80 * PACKET,
        }
    }
}

fn unknown(key: &str) -> Error {
    let known: Vec<&str> = Config::KEYS.iter().map(|(k, _)| *k).collect();
    Error::new(
        Status::InvalidArgument,
        format!("unknown key {key:?}: expected one of {}", known.join(", ")),
    )
}

fn refused(key: &str, value: &str, expected: impl fmt::Display) -> Error {
    Error::new(Status::InvalidArgument, format!("{key} = {value:?}: expected {expected}"))
}

fn preset(value: &str) -> Result<Limits> {
    match value {
        "default" => Ok(Limits::DEFAULT),
        "fast" => Ok(Limits::FAST),
        "hdfs3" => Ok(Limits::HDFS3),
        _ => Err(refused("limits", value, "default, fast or hdfs3")),
    }
}

fn number(key: &str, value: &str, low: usize, high: usize) -> Result<usize> {
    let range = || {
        if high == usize::MAX {
            format!("a whole number of at least {low}")
        } else {
            format!("a whole number from {low} to {high}")
        }
    };
    let n: usize = value.parse().map_err(|_| refused(key, value, range()))?;
    if (low..=high).contains(&n) { Ok(n) } else { Err(refused(key, value, range())) }
}

fn millis(key: &str, value: &str, low: u64, high: u64) -> Result<Duration> {
    let range = || format!("whole milliseconds from {low} to {high}");
    let n: u64 = value.parse().map_err(|_| refused(key, value, range()))?;
    if (low..=high).contains(&n) {
        Ok(Duration::from_millis(n))
    } else {
        Err(refused(key, value, range()))
    }
}

fn boolean(key: &str, value: &str) -> Result<bool> {
    match value {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(refused(key, value, "true or false")),
    }
}
