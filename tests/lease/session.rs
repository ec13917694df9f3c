//! The session's table: until when may a process believe in its leases?

use crate::guarded;
use std::time::Duration;
use tenure::base::{Id128, Limits, Mono, Mutant, Protection, Version, Wall};
use tenure::decide::session::{Do, Identity, Mail, Own, Put, Session, Term, Told};
use tenure::wire::notice::Notice;
use tenure::wire::session::{SessionRecord, SessionState};

const NO: Duration = Duration::ZERO;

fn at(ms: u64) -> Mono {
    Mono(1_000_000_000_000) + Duration::from_millis(ms)
}

fn version(n: u64) -> Version {
    Version { e_tag: Some(format!("e{n}")), version: None }
}

/// soft 10 s, renewed every 5 s.
fn session(mutant: Mutant) -> Session {
    let limits = Limits::FAST;
    let (sid, node, started_at) = (Id128(7), "n".to_owned(), Wall(0));
    Session::new(Identity { sid, node, limits, started_at }, mutant)
}

/// Renews: sent at `sent`, both answers processed at `answered`.
fn renew(s: &mut Session, sent: u64, answered: u64) -> Vec<Told> {
    let step = s.next(at(sent), Id128(u128::from(sent) + 100));
    assert!(matches!(step, Do::Renew { .. }), "{step:?}");
    s.renewed(at(answered), at(sent), Put::Landed(version(sent)), Mail::Nothing, NO)
}

fn sent_record(s: &mut Session, now: u64) -> SessionRecord {
    match s.next(at(now), Id128(u128::from(now) + 100)) {
        Do::Renew { record, .. } => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_term_counts_from_the_send_of_the_renewal() {
    guarded(Protection::TermFromSend, |mutant| {
        let mut s = session(mutant);
        renew(&mut s, 0, 600);
        s.term().valid_until == at(10_000)
    });
}

#[test]
fn renewals_are_due_every_half_soft_counted_from_the_send() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 600);
    assert!(matches!(s.next(at(601), Id128(1)), Do::Sleep(t) if t == at(5_000)));
    assert!(matches!(s.next(at(5_000), Id128(1)), Do::Renew { .. }));
}

#[test]
fn an_answer_processed_after_the_term_ran_out_suspends_every_lease() {
    guarded(Protection::GapRule, |mutant| {
        let mut s = session(mutant);
        renew(&mut s, 0, 1);
        let before = s.term().generation;
        renew(&mut s, 12_000, 12_001);
        s.term().generation > before && s.last_gap() == Some(at(12_001))
    });
}

#[test]
fn a_renewal_sent_in_time_and_answered_late_is_a_gap() {
    guarded(Protection::GapAtAnswer, |mutant| {
        let mut s = session(mutant);
        renew(&mut s, 0, 1);
        let before = s.term().generation;
        renew(&mut s, 9_000, 10_000);
        s.term().generation > before
    });
}

#[test]
fn a_renewal_answered_in_time_moves_no_generation() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let before = s.term();
    renew(&mut s, 5_000, 9_999);
    assert_eq!(s.term(), Term { generation: before.generation, valid_until: at(15_000) });
}

#[test]
fn an_unread_mailbox_keeps_the_term_where_it_is() {
    guarded(Protection::Notices, |mutant| {
        let mut s = session(mutant);
        renew(&mut s, 0, 1);
        let step = s.next(at(5_000), Id128(1));
        assert!(matches!(step, Do::Renew { .. }));
        s.renewed(at(5_100), at(5_000), Put::Landed(version(5)), Mail::Failed, NO);
        s.term().valid_until == at(10_000)
    });
}

#[test]
fn when_only_the_mailbox_failed_only_the_mailbox_is_read_again() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    s.next(at(5_000), Id128(1));
    s.renewed(at(5_100), at(5_000), Put::Landed(version(5)), Mail::Failed, NO);
    assert!(matches!(s.next(at(5_500), Id128(2)), Do::ReadMail(_)));
    s.mailed(at(5_600), Mail::Nothing, NO);
    assert_eq!(s.term().valid_until, at(15_000), "counted from that attempt's send");
}

#[test]
fn a_mailbox_read_after_the_term_ran_out_is_a_gap() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let before = s.term().generation;
    s.next(at(9_000), Id128(1));
    s.renewed(at(9_100), at(9_000), Put::Landed(version(5)), Mail::Failed, NO);
    s.mailed(at(10_400), Mail::Nothing, NO);
    assert!(s.term().generation > before);
}

#[test]
fn a_notice_is_told_before_the_extension_it_came_with() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    s.next(at(5_000), Id128(1));
    let mail = Mail::New(Notice { all: true, ..Notice::default() }, version(77));
    let told = s.renewed(at(5_001), at(5_000), Put::Landed(version(5)), mail, NO);
    assert!(matches!(told[..], [Told::Notice(_), Told::Term(_)]), "{told:?}");
}

#[test]
fn an_unanswered_renewal_is_sent_again_with_the_same_bytes() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let first = sent_record(&mut s, 5_000);
    s.renewed(at(5_666), at(5_000), Put::Unknown, Mail::Failed, NO);
    let again = sent_record(&mut s, 6_000);
    assert_eq!(first, again);
}

#[test]
fn five_tries_fit_before_the_term_runs_out() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let (timeout, mut now, mut tries) = (Limits::FAST.attempt_timeout(), at(5_000), 0);
    while now + timeout <= at(10_000) {
        assert!(matches!(s.next(now, Id128(1)), Do::Renew { .. }));
        s.renewed(now + timeout, now, Put::Unknown, Mail::Failed, NO);
        let Do::Sleep(next) = s.next(now + timeout, Id128(1)) else { panic!() };
        (now, tries) = (next, tries + 1);
    }
    assert!(tries >= 5, "{tries}");
}

#[test]
fn a_refused_renewal_that_had_landed_is_adopted_and_never_extends() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let record = sent_record(&mut s, 5_000);
    s.renewed(at(5_100), at(5_000), Put::Refused, Mail::Nothing, NO);
    assert!(matches!(s.next(at(5_100), Id128(1)), Do::ReadOwn));
    s.resolved(at(5_200), Own::Present(Box::new(record), version(5)), NO);
    assert_eq!(s.term().valid_until, at(10_000));
    let step = s.next(at(5_200), Id128(2));
    assert!(matches!(step, Do::Renew { expect: Some(v), .. } if v == version(5)));
}

#[test]
fn a_conflict_with_nothing_stored_is_tried_again() {
    let mut s = session(Mutant::default());
    let first = sent_record(&mut s, 0);
    s.renewed(at(1), at(0), Put::Landed(version(0)), Mail::Nothing, NO);
    sent_record(&mut s, 5_000);
    s.renewed(at(5_100), at(5_000), Put::Refused, Mail::Nothing, NO);
    s.next(at(5_100), Id128(1));
    s.resolved(at(5_200), Own::Present(Box::new(first), version(0)), NO);
    assert!(!s.is_over());
    assert!(matches!(s.next(at(6_000), Id128(2)), Do::Renew { .. }));
}

#[test]
fn a_session_record_that_vanished_is_a_gap_and_is_written_again() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let before = s.term().generation;
    sent_record(&mut s, 5_000);
    s.renewed(at(5_100), at(5_000), Put::Refused, Mail::Nothing, NO);
    s.next(at(5_100), Id128(1));
    s.resolved(at(5_200), Own::Missing, NO);
    assert_eq!(s.term().valid_until, Mono::ZERO);
    assert!(s.term().generation > before);
    assert!(matches!(s.next(at(5_200), Id128(2)), Do::Renew { expect: None, .. }));
}

#[test]
fn a_foreign_nonce_or_an_end_written_by_others_loses_the_session() {
    for (nonce, state) in [(Id128(9_999), SessionState::Live), (Id128(100), SessionState::Ended)] {
        let mut s = session(Mutant::default());
        let mine = sent_record(&mut s, 0);
        s.renewed(at(1), at(0), Put::Landed(version(0)), Mail::Nothing, NO);
        sent_record(&mut s, 5_000);
        s.renewed(at(5_100), at(5_000), Put::Refused, Mail::Nothing, NO);
        s.next(at(5_100), Id128(1));
        let record = Box::new(SessionRecord { nonce, state, ..mine });
        let told = s.resolved(at(5_200), Own::Present(record, version(9)), NO);
        assert!(matches!(told.last(), Some(Told::Lost(_))));
        assert!(s.is_over() && s.term().valid_until == Mono::ZERO);
        assert!(matches!(s.next(at(60_000), Id128(2)), Do::Stop));
    }
}

#[test]
fn a_slow_boot_clock_pulls_the_term_in() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let term = s.pull_in(Duration::from_millis(40)).unwrap();
    assert_eq!(term.valid_until, at(9_960));
    assert!(s.pull_in(Duration::from_millis(10)).is_none(), "never out again");
}

#[test]
fn a_clock_jump_is_a_gap_and_renews_at_once() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let before = s.term().generation;
    s.doubt(at(2_000));
    assert!(s.term().generation > before && s.term().valid_until == Mono::ZERO);
    assert!(matches!(s.next(at(2_000), Id128(1)), Do::Renew { .. }));
}

#[test]
fn the_stores_time_is_known_only_for_the_latest_renewal() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 10);
    s.learn_own_time(&version(0), Wall(50_000));
    assert_eq!(s.store_time(at(110)), Some(Wall(50_100)));
    renew(&mut s, 5_000, 5_010);
    assert_eq!(s.store_time(at(5_020)), None);
    s.learn_own_time(&version(0), Wall(50_000));
    assert_eq!(s.store_time(at(5_020)), None, "a HEAD of the old version tells nothing");
}

#[test]
fn the_stores_time_counts_from_the_renewal_it_belongs_to_while_the_mailbox_is_unread() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 10);
    s.next(at(5_000), Id128(1));
    s.renewed(at(5_010), at(5_000), Put::Landed(version(5)), Mail::Failed, NO);
    s.learn_own_time(&version(5), Wall(50_000));
    assert_eq!(s.store_time(at(5_110)), Some(Wall(50_100)), "the previous answer is too early");
    s.next(at(6_000), Id128(2));
    s.mailed(at(6_000), Mail::Nothing, NO);
    assert_eq!(s.store_time(at(6_010)), Some(Wall(51_000)));
}

#[test]
fn the_stores_time_counts_from_the_read_that_found_a_disowned_renewal() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 10);
    let record = sent_record(&mut s, 5_000);
    s.renewed(at(5_100), at(5_000), Put::Refused, Mail::Nothing, NO);
    s.next(at(5_100), Id128(1));
    s.resolved(at(5_200), Own::Present(Box::new(record), version(5)), NO);
    s.learn_own_time(&version(5), Wall(50_000));
    assert_eq!(s.store_time(at(5_300)), Some(Wall(50_100)));
}

#[test]
fn a_renewal_sent_before_a_clock_jump_extends_nothing_after_it() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    s.next(at(5_000), Id128(1));
    s.renewed(at(5_100), at(5_000), Put::Landed(version(5)), Mail::Failed, NO);
    s.doubt(at(5_200));
    s.mailed(at(5_300), Mail::Nothing, NO);
    assert_eq!(s.term().valid_until, Mono::ZERO);
    assert!(matches!(s.next(at(5_300), Id128(2)), Do::Renew { .. }));
}

#[test]
fn an_ended_session_claims_nothing_and_says_so() {
    let mut s = session(Mutant::default());
    renew(&mut s, 0, 1);
    let record = s.end(at(100), Id128(3));
    assert_eq!(record.state, SessionState::Ended);
    assert_eq!(s.term().valid_until, Mono::ZERO);
}
