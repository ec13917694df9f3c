//! What the library tells without being asked.

use super::Epoch;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// What happened. Numbers are append-only and the same in every language.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(i32)]
        pub enum EventKind { $($(#[$doc])* $variant = $code,)* }

        impl EventKind {
            /// Every kind, in order of number.
            pub const ALL: &[EventKind] = &[$(EventKind::$variant),*];

            /// The name as the C header spells it, without the prefix.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(EventKind::$variant => $name,)* }
            }
        }
    };
}

kinds! {
    /// A lease was acquired.
    LeaseGranted = 1, "LEASE_GRANTED";
    /// The session lapsed or a notice came: the lease is not valid now and may come back.
    LeaseSuspended = 2, "LEASE_SUSPENDED";
    /// A suspended lease is valid again, under the same epoch.
    LeaseResumed = 3, "LEASE_RESUMED";
    /// A lease that was granted is gone for good.
    LeaseLost = 4, "LEASE_LOST";
    /// A writer was shut out by a newer holder.
    Fenced = 5, "FENCED";
    /// The fleet's view changed.
    ViewChanged = 6, "VIEW_CHANGED";
    /// A cell's placement owner changed.
    OwnerChanged = 7, "OWNER_CHANGED";
    /// A managed cell was opened here.
    CellGained = 8, "CELL_GAINED";
    /// A managed cell is about to be handed over.
    CellLosing = 9, "CELL_LOSING";
    /// A managed cell is no longer here.
    CellLost = 10, "CELL_LOST";
    /// Somebody asks the holder to hand over.
    HandoverWanted = 11, "HANDOVER_WANTED";
    /// A dead holder's resource was recovered.
    Recovered = 12, "RECOVERED";
    /// Recovery failed so often that it now waits for a person.
    Quarantined = 13, "QUARANTINED";
    /// The session is gone for good, and every lease with it.
    SessionLost = 14, "SESSION_LOST";
    /// A line for a log.
    Log = 15, "LOG";
}

/// One thing that happened, as the event queue hands it out.
#[derive(Clone, Debug)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// The resource concerned, as `kind/name`; empty for the client as a whole.
    pub resource: String,
    /// The epoch concerned, if any.
    pub epoch: Option<Epoch>,
    /// Who holds it now, if known.
    pub holder: Option<String>,
    /// One clause for people.
    pub message: String,
}
