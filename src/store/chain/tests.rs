//! The races of the argument in `super`, each played step by step on a directory.

use super::*;

struct Rig {
    _dir: tempfile::TempDir,
    inner: Inner,
}

fn rig() -> Rig {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let inner = Inner { base: Base::new(dir.path().join("base"), false), past: Past::default() };
    Rig { _dir: dir, inner }
}

impl Rig {
    fn swap(&self, expect: Option<&Version>, body: &str) -> Outcome {
        let body = Bytes::from(body.to_owned());
        self.inner.swap("k", expect, &body).unwrap_or_else(Outcome::Unknown)
    }

    fn land(&self, expect: Option<&Version>, body: &str) -> Version {
        match self.swap(expect, body) {
            Outcome::Landed(version) => version,
            other => panic!("expected a landing, got {other:?}"),
        }
    }

    /// Swaps until number `n` is the head; tells its version.
    fn grow(&self, n: u64) -> Version {
        let mut version = self.land(None, "0");
        for i in 1..=n {
            version = self.land(Some(&version), &i.to_string());
        }
        version
    }

    fn path(&self) -> std::path::PathBuf {
        self.inner.base.path("k").expect("a key")
    }

    fn dir(&self) -> ChainDir {
        ChainDir::open(&self.path()).expect("it opens").expect("it is there")
    }

    fn value(&self) -> String {
        let value = self.inner.value("k").expect("a read is answered").expect("it is there");
        String::from_utf8(value.body.to_vec()).expect("text")
    }
}

#[test]
fn a_swap_stopped_before_its_link_is_refused_when_it_wakes() {
    let rig = rig();
    let zero = rig.land(None, "0");
    let (dir, next) =
        rig.inner.above(&rig.path(), "k", &zero).expect("answered").expect("zero is the head");
    rig.land(Some(&zero), "winner");
    assert!(!dir.place(next, b"sleeper", false).expect("answered"));
    assert_eq!(rig.value(), "winner");
}

#[test]
fn a_landing_that_others_built_on_is_still_told_as_landed() {
    let rig = rig();
    let zero = rig.land(None, "0");
    let (dir, next) =
        rig.inner.above(&rig.path(), "k", &zero).expect("answered").expect("zero is the head");
    assert!(dir.place(next, b"1", false).expect("answered"));
    let mut version = dir::version(next, b"1");
    for i in 2..=16 {
        version = rig.land(Some(&version), &i.to_string());
    }
    assert!(rig.inner.confirm(&rig.path(), "k", &dir, next).is_ok());
    rig.land(Some(&version), "17");
    let error = rig.inner.confirm(&rig.path(), "k", &dir, next).expect_err("too old to know");
    assert_eq!(error.status(), Status::OutcomeUnknown);
}

#[test]
fn a_collected_number_linked_again_is_unknown_and_never_a_value() {
    let rig = rig();
    let zero = rig.land(None, "0");
    let (dir, next) =
        rig.inner.above(&rig.path(), "k", &zero).expect("answered").expect("zero is the head");
    let mut version = rig.land(Some(&zero), "1");
    for i in 2..=20 {
        version = rig.land(Some(&version), &i.to_string());
    }
    dir.drop_number(1).expect("collected");
    assert!(dir.place(next, b"sleeper", false).expect("the name is free again"));
    let error = rig.inner.confirm(&rig.path(), "k", &dir, next).expect_err("not a landing");
    assert_eq!(error.status(), Status::OutcomeUnknown);
    assert_eq!(rig.value(), "20");
    rig.land(Some(&version), "21");
}

#[test]
fn a_register_moved_away_under_a_swap_is_unknown_and_not_revived() {
    let rig = rig();
    let zero = rig.land(None, "0");
    let (dir, next) =
        rig.inner.above(&rig.path(), "k", &zero).expect("answered").expect("zero is the head");
    std::fs::rename(rig.path(), rig.path().with_extension("gone")).expect("moved");
    assert!(dir.place(next, b"late", false).expect("it lands in the directory moved away"));
    let error = rig.inner.confirm(&rig.path(), "k", &dir, next).expect_err("not here");
    assert_eq!(error.status(), Status::OutcomeUnknown);
    assert!(rig.inner.value("k").expect("answered").is_none());
    assert!(matches!(rig.swap(Some(&zero), "late"), Outcome::Refused));
    assert!(!rig.path().exists(), "only a create makes the directory");
    rig.land(None, "new");
    assert!(matches!(rig.swap(Some(&zero), "late"), Outcome::Refused), "same number, other value");
}

#[test]
fn a_create_that_comes_late_is_refused_for_all_time() {
    let rig = rig();
    rig.grow(40);
    for n in 1..=20 {
        rig.dir().drop_number(n).expect("collected");
    }
    assert!(matches!(rig.swap(None, "late"), Outcome::Refused));
    assert!(!rig.dir().place(0, b"later", false).expect("number 0 is never collected"));
}

#[test]
fn a_create_stopped_after_its_directory_leaves_nothing_in_the_way() {
    let rig = rig();
    std::fs::create_dir_all(rig.path()).expect("made");
    std::fs::write(rig.path().join(".,0.1.1.1"), "half").expect("written");
    assert!(rig.inner.value("k").expect("answered").is_none());
    assert!(rig.inner.list("").expect("answered").is_empty());
    rig.land(None, "first");
    assert_eq!(rig.value(), "first");
}

#[test]
fn temporary_files_of_the_dead_are_swept_and_those_of_the_living_stay() {
    let rig = rig();
    let zero = rig.land(None, "0");
    let (old, young) = (rig.path().join(".,1.1.1.1"), rig.path().join(".,1.1.1.2"));
    for path in [&old, &young] {
        std::fs::write(path, "half").expect("written");
    }
    let two_hours = std::time::Duration::from_secs(7_200);
    let file = std::fs::File::options().write(true).open(&old).expect("opened");
    let then = file.metadata().and_then(|m| m.modified()).expect("a time") - two_hours;
    file.set_modified(then).expect("set");
    rig.land(Some(&zero), "1");
    assert!(!old.exists());
    assert!(young.exists());
}

#[test]
fn a_number_the_scan_did_not_show_is_found_by_following_the_head() {
    let rig = rig();
    rig.grow(3);
    let scan = rig.dir().scan().expect("scanned");
    assert_eq!(scan.head, Some(3));
    // Names that are not numbers of ours are never values.
    for name in ["4", "00000000000000000004x", "99999999999999999999"] {
        std::fs::write(rig.path().join(name), "x").expect("written");
    }
    std::fs::create_dir(rig.path().join("00000000000000000005")).expect("made");
    assert_eq!(rig.dir().scan().expect("scanned").head, Some(3));
}

#[test]
fn the_last_number_is_corrupt_not_an_overflow() {
    let rig = rig();
    rig.land(None, "0");
    rig.dir().place(u64::MAX, b"end", false).expect("placed");
    let last = dir::version(u64::MAX, b"end");
    let Outcome::Unknown(error) = rig.swap(Some(&last), "beyond") else { panic!("no next number") };
    assert_eq!(error.status(), Status::Corrupt);
}
