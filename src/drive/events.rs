//! The event queue: bounded, pollable, never in anybody's way.
//!
//! Rule: pushing never blocks and never fails; when 4,096 events wait, the oldest is dropped and
//! the next event told says so. The descriptor is an eventfd that stays readable while events are
//! queued (level-triggered until drained).

use crate::base::{Event, EventKind};
use std::collections::VecDeque;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};
use tokio::sync::Notify;

/// Most events waiting.
pub const CAPACITY: usize = 4_096;

/// One client's events.
#[derive(Debug)]
pub struct Events {
    queue: Mutex<Queue>,
    arrived: Notify,
    descriptor: Option<OwnedFd>,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: VecDeque<Event>,
    dropped: u64,
}

impl Events {
    /// An empty queue.
    #[must_use]
    pub fn new() -> Events {
        use rustix::event::{EventfdFlags, eventfd};
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).ok();
        Events { queue: Mutex::default(), arrived: Notify::new(), descriptor }
    }

    /// Adds one. Never blocks.
    pub fn push(&self, event: Event) {
        {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.waiting.len() == CAPACITY {
                queue.waiting.pop_front();
                queue.dropped += 1;
            }
            queue.waiting.push_back(event);
            if queue.waiting.len() == 1
                && let Some(fd) = &self.descriptor
            {
                let _ = rustix::io::write(fd, &1_u64.to_ne_bytes());
            }
        }
        self.arrived.notify_one();
    }

    /// The oldest, if any. Never blocks.
    pub fn pop(&self) -> Option<Event> {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if queue.dropped > 0 {
            let message =
                format!("{} older events were dropped", std::mem::take(&mut queue.dropped));
            let (kind, resource) = (EventKind::Log, String::new());
            return Some(Event { kind, resource, epoch: None, holder: None, message });
        }
        let event = queue.waiting.pop_front()?;
        if queue.waiting.is_empty()
            && let Some(fd) = &self.descriptor
        {
            let _ = rustix::io::read(fd, &mut [0_u8; 8]);
        }
        Some(event)
    }

    /// Waits until there is one.
    pub async fn next(&self) -> Event {
        loop {
            let arrived = self.arrived.notified();
            if let Some(event) = self.pop() {
                return event;
            }
            arrived.await;
        }
    }

    /// The descriptor, or -1 if the system had none left.
    #[must_use]
    pub fn descriptor(&self) -> RawFd {
        self.descriptor.as_ref().map_or(-1, AsRawFd::as_raw_fd)
    }
}

impl Default for Events {
    fn default() -> Events {
        Events::new()
    }
}
