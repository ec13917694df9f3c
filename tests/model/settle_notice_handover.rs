//! Models E, K, H: the harder corners of the lease model: eviction, ambiguous acquires, hand-over.
//!
//! The state and the steps are those of `lease.rs`; only the configurations differ.
//!
//! **E, evict and notice.** An operator takes the record away. A holder that keeps renewing never
//! touches the record, so the swap alone would leave it valid for ever (trap 14): a notice, read
//! with each renewal, bounds that by soft. It also covers requests in flight (trap 15).
//!
//! **K, settle.** An acquire was sent and its answer is missing. It may land at any later time, so
//! nothing else is sent for the lease until none of the attempts can land any more: adopt it by
//! nonce, kill it by a swap of the same base, or see that the base moved (traps 12 and 16).
//!
//! **H, hand-over.** Writing the successor's name into the record wedges the lease if the successor
//! is alive but unaware; releasing with a reservation costs the reservation at worst (trap 17).

use crate::lease::{Flaw, HandOver, Lease};
use crate::run::{Expect, Run, reaches, run};

/// Every run of the three.
pub fn runs() -> Vec<Run> {
    use Expect::{Breaks, Holds, Wedges};
    // Truncation and drift are left to model L: the corners here are about order, not about clocks.
    let base = || Lease { grain: 1, guard: 0, lag_cap: 1, ..Lease::base() };
    let contended = || Lease { atomic_renewals_from: 1, ..base() };
    let quick = || Lease { atomic_renewals_from: 0, ..base() };
    let evict = |flaw| Lease { evict: true, flaw, ..contended() };
    let settle = |abandoned, flaw| Lease { settle: true, abandoned, flaw, ..quick() };
    let direct = |flaw| Lease { hand_over: HandOver::Direct, abandoned: 1, flaw, ..quick() };
    let three = |hand_over, crashes, unaware_successor| Lease {
        clients: 3,
        hand_over,
        crashes,
        unaware_successor,
        ..quick()
    };
    vec![
        run("E1 evict and notice: one valid holder again within soft", evict(None), Holds)
            .states(2_088_946)
            .large(),
        run("E0 the same, renewals in one step", Lease { evict: true, ..quick() }, Holds),
        run("mutation: evict without a notice", evict(Some(Flaw::NoNotice)), Breaks("P4")),
        run(
            "mutation: a notice covers held leases only",
            evict(Some(Flaw::NoticeForHeldOnly)),
            Breaks("P4"),
        ),
        run("K1b settle, 2 abandoned acquires", settle(2, None), Holds),
        run("K0 settle, 1 abandoned acquire", settle(1, None), Holds),
        reaches(
            "K2 settle: a live contender can always acquire",
            Lease { crashes: 1, ..settle(2, None) },
            |m, w| m.alive(w, 1),
            |m, w| m.valid(w, 1),
            Holds,
        )
        .large(),
        run(
            "mutation: settle without killing the attempt",
            settle(2, Some(Flaw::NoKill)),
            Breaks("PS"),
        ),
        run(
            "mutation: adopt under the present generation",
            settle(1, Some(Flaw::AdoptNow)),
            Breaks("P5"),
        ),
        run(
            "mutation: adopt whatever names me",
            settle(2, Some(Flaw::AdoptForeign)),
            Breaks("P4b"),
        ),
        run(
            "H2 hand-over by offer, 1 abandoned PUT",
            Lease { hand_over: HandOver::Offer, abandoned: 1, ..contended() },
            Holds,
        )
        .states(3_707_291)
        .large(),
        run(
            "H0 the same, renewals in one step",
            Lease { hand_over: HandOver::Offer, abandoned: 1, ..quick() },
            Holds,
        ),
        reaches(
            "H4 an offer to an unaware session wedges nobody",
            three(HandOver::Offer, 1, true),
            |m, w| m.alive(w, 2),
            |m, w| m.valid(w, 2),
            Holds,
        ),
        reaches(
            "mutation: direct hand-over to an unaware session",
            three(HandOver::Direct, 0, true),
            |m, w| m.alive(w, 2),
            |m, w| m.valid(w, 2),
            Wedges,
        ),
        run(
            "mutation: the successor adopts by a read",
            direct(Some(Flaw::AdoptByGet)),
            Breaks("P4b"),
        ),
    ]
}
