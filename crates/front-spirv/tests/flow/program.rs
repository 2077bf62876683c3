//! Random structured programs and their meaning.
//!
//! The state of a lane is three words. A program is executed for all lanes at once, with the mask of
//! those that are there, so that it also says how many lanes a count at some place must find: those
//! that SPIR-V's structure lets meet there.

use super::LANES;

/// Words of state.
pub(crate) const STATE: usize = 3;

/// A condition on the state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cond {
    pub(crate) var: usize,
    pub(crate) modulus: u32,
    pub(crate) less_than: u32,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    /// `state[var] = state[var] * 31 + state[from] + k`.
    Mix {
        var: usize,
        from: usize,
        k: u32,
    },
    /// Exchanges two words.
    Swap(usize, usize),
    /// Adds the number of active lanes.
    Count(usize),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    /// Repeats the body at most `times` times; tests before or after the body. The tail is the
    /// continue construct.
    Loop {
        times: u32,
        test_first: bool,
        body: Vec<Stmt>,
        tail: Vec<Stmt>,
    },
    /// Cases by `state[var] % modulus`; each with its literals and whether it falls through.
    Switch {
        var: usize,
        modulus: u32,
        cases: Vec<Case>,
        default: usize,
    },
    BreakIf(Cond),
    ContinueIf(Cond),
    ReturnIf(Cond),
    /// A break out of the loop or switch, a continue, a return; nothing follows.
    Break,
    Continue,
    Return,
    /// Calls a function with `state[0]`; its result replaces that. It returns early if the
    /// condition holds at its start, and runs the statements else.
    Call {
        early: Cond,
        body: Vec<Stmt>,
    },
}

/// A case of a switch.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) literals: Vec<u32>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) falls_through: bool,
}

/// A set of lanes.
type Mask = [bool; LANES];

/// Where lanes went that left a construct.
#[derive(Clone, Copy)]
struct Exits {
    broke: Mask,
    continued: Mask,
    returned: Mask,
}

const NONE: Mask = [false; LANES];

/// The reference.
pub(crate) struct Reference {
    pub(crate) state: [[u32; STATE]; LANES],
    /// Constructs executed, to bound the time.
    pub(crate) fuel: u32,
}

impl Reference {
    /// Runs a program for all lanes.
    pub(crate) fn run(&mut self, body: &[Stmt]) {
        let mut exits = Exits { broke: NONE, continued: NONE, returned: NONE };
        self.body(body, [true; LANES], &mut exits);
    }

    /// Runs statements for the lanes of a mask; gives those that reach the end.
    fn body(&mut self, body: &[Stmt], mut mask: Mask, exits: &mut Exits) -> Mask {
        for stmt in body {
            mask = self.stmt(stmt, mask, exits);
        }
        mask
    }

    fn holds(&self, c: &Cond, mask: &Mask) -> Mask {
        std::array::from_fn(|l| mask[l] && self.state[l][c.var] % c.modulus < c.less_than)
    }

    fn stmt(&mut self, stmt: &Stmt, mask: Mask, exits: &mut Exits) -> Mask {
        if mask == NONE {
            return mask;
        }
        let leave = |set: &mut Mask, who: Mask| {
            *set = or(*set, who);
            minus(mask, who)
        };
        match stmt {
            Stmt::Mix { var, from, k } => {
                for s in self.active(&mask) {
                    s[*var] = s[*var].wrapping_mul(31).wrapping_add(s[*from]).wrapping_add(*k);
                }
                mask
            }
            Stmt::Swap(a, b) => {
                self.active(&mask).for_each(|s| s.swap(*a, *b));
                mask
            }
            Stmt::Count(var) => {
                let n = mask.iter().filter(|m| **m).count() as u32;
                self.active(&mask).for_each(|s| s[*var] = s[*var].wrapping_add(n));
                mask
            }
            Stmt::If(cond, then, otherwise) => {
                let yes = self.holds(cond, &mask);
                let a = self.body(then, yes, exits);
                let b = self.body(otherwise, minus(mask, yes), exits);
                or(a, b)
            }
            Stmt::Loop { times, test_first, body, tail } => {
                self.repeat(*times, *test_first, (body, tail), mask, exits)
            }
            Stmt::Switch { var, modulus, cases, default } => {
                self.switch((*var, *modulus), cases, *default, mask, exits)
            }
            Stmt::BreakIf(c) => leave(&mut exits.broke, self.holds(c, &mask)),
            Stmt::ContinueIf(c) => leave(&mut exits.continued, self.holds(c, &mask)),
            Stmt::ReturnIf(c) => leave(&mut exits.returned, self.holds(c, &mask)),
            Stmt::Break => leave(&mut exits.broke, mask),
            Stmt::Continue => leave(&mut exits.continued, mask),
            Stmt::Return => leave(&mut exits.returned, mask),
            Stmt::Call { early, body } => {
                let saved = self.state;
                for s in self.active(&mask) {
                    *s = [s[0], 7, 9];
                }
                let yes = self.holds(early, &mask);
                let mut inner = Exits { broke: NONE, continued: NONE, returned: NONE };
                self.body(body, minus(mask, yes), &mut inner);
                for (l, s) in self.state.iter_mut().enumerate() {
                    *s = if mask[l] { [s[0], saved[l][1], saved[l][2]] } else { saved[l] };
                }
                mask
            }
        }
    }

    fn active(&mut self, mask: &Mask) -> impl Iterator<Item = &mut [u32; STATE]> {
        self.state.iter_mut().zip(*mask).filter(|(_, m)| *m).map(|(s, _)| s)
    }

    fn repeat(
        &mut self,
        times: u32,
        test_first: bool,
        (body, tail): (&[Stmt], &[Stmt]),
        mask: Mask,
        exits: &mut Exits,
    ) -> Mask {
        let mut left = NONE;
        let mut running = mask;
        let mut round = 0;
        while running != NONE {
            self.fuel = self.fuel.saturating_sub(1);
            if test_first && round >= times {
                left = or(left, running);
                break;
            }
            let mut inner = Exits { broke: NONE, continued: NONE, returned: exits.returned };
            let end = self.body(body, running, &mut inner);
            exits.returned = inner.returned;
            left = or(left, inner.broke);
            running = or(end, inner.continued);
            let mut none = Exits { broke: NONE, continued: NONE, returned: NONE };
            running = self.body(tail, running, &mut none);
            round += 1;
            if !test_first && round >= times {
                left = or(left, running);
                break;
            }
        }
        left
    }

    fn switch(
        &mut self,
        (var, modulus): (usize, u32),
        cases: &[Case],
        default: usize,
        mask: Mask,
        exits: &mut Exits,
    ) -> Mask {
        let target = |s: &[u32; STATE]| {
            let value = s[var] % modulus;
            cases.iter().position(|c| c.literals.contains(&value)).unwrap_or(default)
        };
        let targets: Vec<usize> = self.state.iter().map(target).collect();
        let (mut left, mut falling) = (NONE, NONE);
        let outer = exits.broke;
        exits.broke = NONE;
        for (i, case) in cases.iter().enumerate() {
            let here: Mask = std::array::from_fn(|l| mask[l] && targets[l] == i);
            let end = self.body(&case.body, or(here, falling), exits);
            falling = if case.falls_through { end } else { NONE };
            left = or(left, if case.falls_through { NONE } else { end });
        }
        left = or(or(left, falling), exits.broke);
        exits.broke = outer;
        left
    }
}

fn or(a: Mask, b: Mask) -> Mask {
    std::array::from_fn(|l| a[l] || b[l])
}

fn minus(a: Mask, b: Mask) -> Mask {
    std::array::from_fn(|l| a[l] && !b[l])
}
