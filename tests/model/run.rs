//! The table of runs: what is searched, what must come out, and how it is printed.
//!
//! A *run* explores every reachable state of one small configuration. A correct protocol must
//! **hold**; a protocol with one rule taken out must **break**, with the named property and in the
//! named kind: a model that cannot fail proves nothing. Where PROTOCOL §12 gives the number of
//! states of the same configuration, the run must reach exactly that many: a port that lost a step
//! would show here first.

use stateright::{Checker, Expectation, HasDiscoveries, Model};
use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

/// What must come out of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expect {
    /// Every property holds in every state.
    Holds,
    /// Some property whose name begins so is violated.
    Breaks(&'static str),
    /// From some state the goal cannot be reached any more.
    Wedges,
}

/// What came out of a run.
#[derive(Debug)]
pub struct Outcome {
    /// Whether it is what was expected.
    pub passed: bool,
    /// States seen.
    pub states: usize,
    /// One clause for the table.
    pub note: String,
}

/// One row of the table.
pub struct Run {
    /// Its name; the letter and number are those of PROTOCOL §12.
    pub name: &'static str,
    /// Whether it is too large for every day.
    pub large: bool,
    expected_states: Option<usize>,
    search: Box<dyn Fn() -> Outcome + Send + Sync>,
}

impl Run {
    /// Marks a run that only the full set includes.
    pub fn large(mut self) -> Run {
        self.large = true;
        self
    }

    /// The exact number of states this configuration has.
    pub fn states(mut self, exactly: usize) -> Run {
        self.expected_states = Some(exactly);
        self
    }

    /// Searches and judges.
    pub fn go(&self) -> Outcome {
        let mut outcome = (self.search)();
        if let Some(expected) = self.expected_states.filter(|n| *n != outcome.states) {
            outcome.passed = false;
            outcome.note = format!("expected {expected} states; {}", outcome.note);
        }
        outcome
    }
}

/// Searches every state of a model for violations of its properties.
pub fn run<M>(name: &'static str, model: M, expect: Expect) -> Run
where
    M: Model + Clone + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let search = move || explore(model.clone(), expect);
    Run { name, large: false, expected_states: None, search: Box::new(search) }
}

fn explore<M>(model: M, expect: Expect) -> Outcome
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Debug + Hash + PartialEq + Send + Sync + 'static,
    M::Action: Clone + Debug + PartialEq + Send + Sync + 'static,
{
    let builder = model.checker().threads(1);
    let checked = match expect {
        Expect::Holds => builder.spawn_bfs().join(),
        _ => builder.finish_when(HasDiscoveries::AnyFailures).spawn_bfs().join(),
    };
    let found = checked.discoveries();
    let mut broken: Vec<(&str, usize)> = Vec::new();
    let mut never: Vec<&str> = Vec::new();
    for property in checked.model().properties() {
        let path = found.get(property.name);
        match (&property.expectation, path) {
            (Expectation::Always, Some(path)) => {
                let actions = path.clone().into_actions();
                if std::env::var_os("TENURE_MODEL_TRACE").is_some() {
                    println!("  {}: {actions:?}", property.name);
                }
                broken.push((property.name, actions.len()));
            }
            (Expectation::Sometimes, None) => never.push(property.name),
            _ => {}
        }
    }
    let passed = match expect {
        // A search that never saw the interesting case proves nothing either.
        Expect::Holds => broken.is_empty() && never.is_empty(),
        Expect::Breaks(prefix) => broken.iter().any(|(name, _)| name.starts_with(prefix)),
        Expect::Wedges => false,
    };
    let note = match (expect, broken.first()) {
        (_, Some((name, steps))) => format!("breaks {name:?}, a trace of {steps} steps"),
        (Expect::Holds, None) if !never.is_empty() => format!("never reached: {never:?}"),
        (Expect::Holds, None) => "holds".to_owned(),
        (_, None) => "nothing was broken".to_owned(),
    };
    Outcome { passed, states: checked.unique_state_count(), note }
}

/// Searches for states that satisfy `start` and from which no path leads to `goal`. (A path exists;
/// not that every fair run takes it.)
pub fn reaches<M>(
    name: &'static str,
    model: M,
    start: fn(&M, &M::State) -> bool,
    goal: fn(&M, &M::State) -> bool,
    expect: Expect,
) -> Run
where
    M: Model + Send + Sync + 'static,
    M::State: Clone + Eq + Hash,
{
    let search = move || {
        let (states, starts, wedged) = wedges(&model, start, goal);
        let passed = (wedged > 0) == (expect == Expect::Wedges);
        Outcome { passed, states, note: format!("{wedged} of {starts} starts wedged") }
    };
    Run { name, large: false, expected_states: None, search: Box::new(search) }
}

/// Builds the whole graph, then walks it backwards from the goals.
fn wedges<M>(
    model: &M,
    start: fn(&M, &M::State) -> bool,
    goal: fn(&M, &M::State) -> bool,
) -> (usize, usize, usize)
where
    M: Model,
    M::State: Clone + Eq + Hash,
{
    let mut ids: HashMap<M::State, usize> = HashMap::new();
    let mut states: Vec<M::State> = Vec::new();
    let mut before: Vec<Vec<u32>> = Vec::new();
    for state in model.init_states() {
        ids.insert(state.clone(), states.len());
        states.push(state);
        before.push(Vec::new());
    }
    let mut at = 0;
    let mut actions = Vec::new();
    while at < states.len() {
        let state = states[at].clone();
        model.actions(&state, &mut actions);
        for action in actions.drain(..) {
            let Some(next) = model.next_state(&state, action) else { continue };
            let id = *ids.entry(next.clone()).or_insert_with(|| {
                states.push(next);
                before.push(Vec::new());
                states.len() - 1
            });
            before[id].push(u32::try_from(at).expect("fewer than 2^32 states fit in memory"));
        }
        at += 1;
    }
    let mut good: Vec<bool> = states.iter().map(|s| goal(model, s)).collect();
    let mut open: Vec<usize> = (0..states.len()).filter(|i| good[*i]).collect();
    while let Some(id) = open.pop() {
        for from in before[id].iter().map(|f| *f as usize) {
            if !good[from] {
                good[from] = true;
                open.push(from);
            }
        }
    }
    let starts: Vec<usize> = (0..states.len()).filter(|i| start(model, &states[*i])).collect();
    let wedged = starts.iter().filter(|i| !good[**i]).count();
    (states.len(), starts.len(), wedged)
}

/// How long something took, for the table.
pub fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}
