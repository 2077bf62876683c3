//! The ring of slots in shared memory, and who waits for whom.
//!
//! Slot `i` has two words that count arrivals (`mbarrier`): that it is full, of all copies and of one thread of each producing
//! warp, and that it is empty, of one of each warp that multiplies. Both sides go round in the same order, so each knows
//! from its own number of rounds which phase of a word it waits for.
//!
//! What multiplies reads memory by another path (*async proxy*) than what copies writes it: a fence stands between. It is
//! where the slot is waited for, as before it would wait for all copies that are under way.

use super::PRODUCERS;
use super::ask::Asks;
use super::delay::Kept;
use super::late::Lowered;
use super::plan::{Plan, Stream};
use super::slot::ALIGN;
use super::turns;
use crate::arch::Arch;
use crate::coopmat::fragment::Memory;
use crate::lower::Lower;
use inkwell::IntPredicate;
use inkwell::values::{InstructionOpcode as I, PointerValue};
use phalanx_emit_llvm::{Error, Result, V};
use phalanx_ir::{Inst, Module, Use, Var};

/// Most slots.
const MAX_SLOTS: u32 = 8;
/// Fewest.
const MIN_SLOTS: u32 = 3;
/// Bytes of the words of all slots, behind which are that of what stays and those of turns.
const SLOT_WORDS: u32 = 16 * MAX_SLOTS;
/// Where the words of turns are.
const TURN_WORDS: u32 = SLOT_WORDS + 8;
/// Bytes of all words.
const WORDS: u32 = TURN_WORDS + turns::WORDS;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Produce,
    Multiply,
}

/// The ring, and where a thread is in it.
#[derive(Clone, Debug)]
pub(crate) struct Ring<'c> {
    pub(crate) plan: Plan,
    pub(crate) role: Role,
    /// Where the words are, from the start of shared memory, and how many slots there are.
    words: u32,
    first_slot: u32,
    slots: u32,
    slot_bytes: u32,
    /// The slot and the phase of its word, in this thread.
    pub(super) at: [PointerValue<'c>; 2],
    /// The slot whose multiplication may be under way, and whether there is one.
    pub(super) behind: [PointerValue<'c>; 2],
    /// What a thread knows of turns, if groups take turns.
    pub(super) turns: Option<turns::Words<'c>>,
    /// What it keeps of a product that is put off.
    pub(super) kept: Option<Kept<'c>>,
    /// For what the statements of an addend are lowered, while they are.
    pub(super) addend: Option<Lowered<'c>>,
    /// What a thread that multiplies asks for while it does.
    pub(super) asks: Option<Asks<'c>>,
    /// Which group of four warps a thread that multiplies is of.
    pub(super) group: Option<V<'c>>,
}

/// Where the words and the first slot are, and how many slots of how many bytes there are. What stays lies before the slots.
struct Extent {
    words: u32,
    first_slot: u32,
    slots: u32,
    slot_bytes: u32,
}

fn extent(ir: &Module, arch: Arch, plan: &Plan) -> Option<Extent> {
    let of = |stream: &Stream| stream.right_at() + stream.b.bytes();
    let slot_bytes = plan.streams.iter().map(of).max()?.next_multiple_of(ALIGN);
    let words = ir.shared_bytes.next_multiple_of(16);
    let first_slot = (words + WORDS).next_multiple_of(ALIGN) + plan.bytes_that_stay();
    let room = arch.shared_bytes().checked_sub(first_slot)?;
    let slots = (room / slot_bytes).min(MAX_SLOTS);
    (slots >= MIN_SLOTS).then_some(Extent { words, first_slot, slots, slot_bytes })
}

/// Bytes of shared memory with the ring behind what the module has of its own; nothing if there is no room, so that some of that
/// may have to go elsewhere, too.
pub(super) fn shared_bytes(ir: &Module, arch: Arch, plan: &Plan) -> Option<u32> {
    let Extent { first_slot, slots, slot_bytes, .. } = extent(ir, arch, plan)?;
    Some(first_slot + slots * slot_bytes)
}

impl<'c> Lower<'_, 'c> {
    /// Makes the ring, which all threads do together.
    pub(crate) fn start_ring(&mut self, plan: Plan) -> Result<()> {
        let extent = extent(self.ir, self.arch, &plan);
        let extent = extent.ok_or_else(|| Error::bug("no room for a ring"))?;
        let Extent { words, first_slot, slots, slot_bytes } = extent;
        let i32_ty = self.e.cx.i32_type();
        let state = || self.reserve(i32_ty);
        let (at, behind) = ([state()?, state()?], [state()?, state()?]);
        for cell in at.into_iter().chain(behind) {
            self.e.b.build_store(cell, self.e.i32(0))?;
        }
        self.ring = Some(Ring {
            plan,
            role: Role::Multiply,
            words,
            first_slot,
            slots,
            slot_bytes,
            at,
            behind,
            turns: None,
            kept: None,
            addend: None,
            asks: None,
            group: None,
        });
        let thread = self.thread()?;
        let is_first = self.e.icmp(IntPredicate::EQ, thread, self.e.i32(0))?;
        let init = |l: &mut Self| {
            for slot in 0..slots {
                let fillers = l.e.i32(PRODUCERS + PRODUCERS / 32);
                let mut users = l.e.i32(l.ir.num_subgroups());
                if l.ring()?.plan.cluster.is_some() {
                    let is_pair = l.is_pair()?;
                    users = l.e.shl(users, l.e.zext_trunc(is_pair, 32)?)?;
                }
                for (word, count) in [(0, fillers), (1, users)] {
                    let slot = l.e.i32(slot);
                    let at = l.word_of(slot, word)?;
                    l.action("mbarrier.init.shared.b64 [$0], $1;", &[at, count])?;
                }
            }
            let at = l.shared_address(words + SLOT_WORDS)?;
            let staying =
                l.ring()?.plan.streams.iter().filter(|stream| stream.stays.is_some()).count() as u32;
            if staying > 0 {
                let count = l.e.i32(staying * (PRODUCERS + PRODUCERS / 32));
                l.action("mbarrier.init.shared.b64 [$0], $1;", &[at, count])?;
            }
            if l.ring()?.plan.turns.is_some() {
                l.make_turns(words + TURN_WORDS)?;
            }
            if l.ring()?.plan.cluster.is_some() {
                l.action("fence.mbarrier_init.release.cluster;", &[])?;
            }
            l.action("fence.proxy.async.shared::cta;", &[])?;
            Ok(Vec::new())
        };
        self.either(is_first, init, |_| Ok(Vec::new()))?;
        match self.ring()?.plan.cluster {
            None => self.action("barrier.sync 0;", &[]),
            Some(_) => self.wait_for_cluster(),
        }
    }

    /// At the end of all threads: their work-group's memory is there as long as the other of a cluster may write to it.
    pub(crate) fn end_ring(&mut self) -> Result<()> {
        match self.ring.as_ref().and_then(|ring| ring.plan.cluster.as_ref()) {
            None => Ok(()),
            Some(_) => self.wait_for_cluster(),
        }
    }

    /// Gives up registers, or takes those that producers gave up.
    pub(crate) fn share_registers(&mut self) -> Result<()> {
        let Some(shares) = self.ring()?.plan.registers(self.ir) else { return Ok(()) };
        let text = match self.ring()?.role {
            Role::Produce => format!("setmaxnreg.dec.sync.aligned.u32 {};", shares[0]),
            Role::Multiply => format!("setmaxnreg.inc.sync.aligned.u32 {};", shares[1]),
        };
        self.action(&text, &[])
    }

    /// What a thread that multiplies does first.
    pub(crate) fn start_multiplying(&mut self) -> Result<()> {
        self.share_registers()?;
        let group = self.find_group()?;
        if let Some(ring) = &mut self.ring {
            ring.group = Some(group);
        }
        if self.ring()?.plan.turns.is_some() {
            let start = self.ring()?.words + TURN_WORDS;
            let turns = self.start_turns(start, group)?;
            if let Some(ring) = &mut self.ring {
                ring.turns = Some(turns);
            }
        }
        if let Some(delay) = self.ring()?.plan.delay {
            let kept = self.start_delay(delay)?;
            if let Some(ring) = &mut self.ring {
                ring.kept = Some(kept);
            }
        }
        Ok(())
    }

    /// Whether this thread is a producer.
    pub(crate) fn is_producer(&mut self) -> Result<V<'c>> {
        let thread = self.hardware_thread()?;
        self.e.icmp(IntPredicate::UGE, thread, self.e.i32(self.ir.workgroup_invocations()))
    }

    /// The ring.
    pub(super) fn ring(&self) -> Result<&Ring<'c>> {
        self.ring.as_ref().ok_or_else(|| Error::bug("there is no ring"))
    }

    /// An instruction of PTX that does something.
    pub(super) fn action(&mut self, text: &str, args: &[V<'c>]) -> Result<()> {
        self.assembly(text, &[], args, Memory::Write).map(|_nothing| ())
    }

    /// The address in shared memory of a slot's word: that it is full (0), or empty (1).
    fn word_of(&mut self, slot: V<'c>, word: u32) -> Result<V<'c>> {
        let start = self.ring()?.words + 8 * word;
        let start = self.shared_address(start)?;
        let further = self.e.shl(slot, self.e.i32(4))?;
        self.e.add(start, further)
    }

    /// An address in shared memory.
    pub(super) fn shared_address(&mut self, offset: u32) -> Result<V<'c>> {
        let start = self.e.cast(I::PtrToInt, self.shared.into(), self.e.cx.i32_type())?;
        self.e.add(start, self.e.i32(offset))
    }

    /// The address of the slot that this thread is at.
    pub(super) fn slot_address(&mut self) -> Result<V<'c>> {
        let [at, _] = self.ring()?.at;
        self.address_of_slot(at)
    }

    /// The address of a slot whose number is in a cell.
    pub(super) fn address_of_slot(&mut self, cell: PointerValue<'c>) -> Result<V<'c>> {
        let (slots, bytes) = (self.ring()?.first_slot, self.ring()?.slot_bytes);
        let number = self.number(cell)?;
        let start = self.shared_address(slots)?;
        let further = self.e.mul(number, self.e.i32(bytes))?;
        self.e.add(start, further)
    }

    pub(super) fn number(&mut self, cell: PointerValue<'c>) -> Result<V<'c>> {
        Ok(self.e.b.build_load(self.e.cx.i32_type(), cell, "")?)
    }

    /// The slot behind one.
    fn next(&mut self, slot: V<'c>) -> Result<V<'c>> {
        let slots = self.ring()?.slots;
        let next = self.e.add(slot, self.e.i32(1))?;
        let is_last = self.e.icmp(IntPredicate::EQ, next, self.e.i32(slots))?;
        self.e.select(is_last, self.e.i32(0), next)
    }

    /// Goes on to the next slot.
    pub(super) fn advance(&mut self) -> Result<()> {
        let [slot, phase] = self.ring()?.at;
        let (number, old) = (self.number(slot)?, self.number(phase)?);
        let next = self.next(number)?;
        let wraps = self.e.icmp(IntPredicate::EQ, next, self.e.i32(0))?;
        let turned = self.e.xor(old, self.e.i32(1))?;
        let new = self.e.select(wraps, turned, old)?;
        self.e.b.build_store(slot, next)?;
        self.e.b.build_store(phase, new)?;
        Ok(())
    }

    /// Waits until a word of the slot has left a phase; ends the thread if the dispatch shall end.
    fn wait_for(&mut self, [slot, phase]: [PointerValue<'c>; 2], word: u32) -> Result<()> {
        let (slot, phase) = (self.number(slot)?, self.number(phase)?);
        // A word that is empty from the start has left the phase before its first.
        let phase = if word == 1 { self.e.xor(phase, self.e.i32(1))? } else { phase };
        let at = self.word_of(slot, word)?;
        let ring = self.ring()?;
        let looks = ring.role == Role::Produce || ring.turns.is_some();
        self.wait_at(at, phase, looks)
    }

    /// Waits until the word at an address has left a phase.
    pub(crate) fn wait_at(&mut self, at: V<'c>, phase: V<'c>, looks: bool) -> Result<()> {
        let text = "{ .reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }";
        let [look, wait, done] = ["look", "wait", "there"].map(|name| self.new_block(name));
        self.e.br(look)?;
        self.e.b.position_at_end(look);
        let found = self.assembly(text, &[self.e.cx.i32_type().into()], &[at, phase], Memory::Write)?[0];
        let is_there = self.e.icmp(IntPredicate::NE, found, self.e.i32(0))?;
        self.e.cond_br_likely(is_there, done, wait)?;
        self.e.b.position_at_end(wait);
        if looks {
            self.look_whether_to_stop()?;
        }
        self.e.br(look)?;
        self.e.b.position_at_end(done);
        Ok(())
    }

    /// The address of the word that the slot that this thread is at is full.
    pub(super) fn word_of_slot(&mut self) -> Result<V<'c>> {
        let [slot, _] = self.ring()?.at;
        let slot = self.number(slot)?;
        self.word_of(slot, 0)
    }

    /// One thread of each warp says that a slot is empty, to all that fill it.
    pub(super) fn give_slot_back(&mut self, slot: V<'c>) -> Result<()> {
        let at = self.word_of(slot, 1)?;
        match self.ring()?.plan.cluster {
            None => self.arrive_by_warp(at),
            Some(_) => self.arrive_in_cluster(at),
        }
    }

    /// One thread of each warp arrives at the word at an address.
    pub(super) fn arrive_by_warp(&mut self, at: V<'c>) -> Result<()> {
        let lane = self.lane()?;
        let text = "{ .reg .pred p; setp.eq.u32 p, $1, 0; @p mbarrier.arrive.shared.b64 _, [$0]; }";
        self.action(text, &[at, lane])
    }

    /// Producers: waits until the slot is empty.
    pub(super) fn wait_empty(&mut self) -> Result<()> {
        let at = self.ring()?.at;
        self.wait_for(at, 1)
    }

    /// Producers: all of the slot is asked for.
    pub(super) fn commit(&mut self) -> Result<()> {
        let at = self.word_of_slot()?;
        self.commit_to(at)?;
        self.advance()
    }

    /// The copies arrive at a word by themselves once they are there, and each warp for what its threads have stored.
    fn commit_to(&mut self, word: V<'c>) -> Result<()> {
        self.action("cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", &[word])?;
        let all = self.e.i32(u32::MAX);
        self.e.intrinsic_effect("llvm.nvvm.bar.warp.sync", &[], &[all])?;
        self.arrive_by_warp(word)
    }

    /// The word that counts arrivals of what stays.
    fn word_of_staying(&mut self) -> Result<V<'c>> {
        let start = self.ring()?.words;
        self.shared_address(start + SLOT_WORDS)
    }

    /// Where a factor that stays begins; nothing of one that goes through slots.
    pub(super) fn staying(&mut self, stream: usize) -> Result<Option<V<'c>>> {
        let ring = self.ring()?;
        let Some((offset, _)) = ring.plan.streams[stream].stays else { return Ok(None) };
        let start = ring.first_slot - ring.plan.bytes_that_stay();
        self.shared_address(start + offset).map(Some)
    }

    /// Producers, at their end: memory that is still written to is not given back.
    pub(crate) fn finish_copies(&mut self) -> Result<()> {
        self.action("cp.async.wait_all;", &[])
    }

    /// Waits until a slot is full.
    pub(super) fn wait_full_at(&mut self, at: [PointerValue<'c>; 2]) -> Result<()> {
        self.wait_for(at, 0)?;
        self.action("fence.proxy.async.shared::cta;", &[])
    }

    /// Gives a slot back as it is, once it is full.
    pub(super) fn give_back_unused(&mut self) -> Result<()> {
        let at = self.ring()?.at;
        self.wait_for(at, 0)?;
        let slot = self.number(at[0])?;
        self.give_slot_back(slot)?;
        self.advance()
    }

    /// A multiplication of the slot was begun, and those before it have ended.
    pub(super) fn release_before(&mut self) -> Result<()> {
        let ([at, _], [behind, is_one]) = (self.ring()?.at, self.ring()?.behind);
        self.release()?;
        let slot = self.number(at)?;
        self.e.b.build_store(behind, slot)?;
        self.e.b.build_store(is_one, self.e.i32(1))?;
        self.advance()
    }

    /// All multiplications have ended.
    pub(super) fn release(&mut self) -> Result<()> {
        let [behind, is_one] = self.ring()?.behind;
        let (slot, some) = (self.number(behind)?, self.number(is_one)?);
        let some = self.e.icmp(IntPredicate::NE, some, self.e.i32(0))?;
        self.either(some, |l| l.give_slot_back(slot).map(|()| Vec::new()), |_| Ok(Vec::new()))?;
        self.e.b.build_store(is_one, self.e.i32(0))?;
        Ok(())
    }

    /// What this thread does about an instruction that has to do with streams; nothing if it is to be lowered as ever.
    pub(crate) fn lower_streamed(&mut self, inst: Inst) -> Result<Option<()>> {
        let Some(ring) = &self.ring else { return Ok(None) };
        let (i, plan) = (inst.index(), &ring.plan);
        let starts = plan.starts[i].is_some();
        let product = plan.streams.iter().position(|stream| stream.mul_add == inst);
        let (fill, is_produced, is_moved) = (plan.fills[i], plan.is_produced[i], plan.is_moved[i]);
        let staying = plan.stays_from(inst);
        match ring.role {
            Role::Produce => {
                if starts {
                    self.wait_empty()?;
                }
                let done = match (product, fill) {
                    (Some(_), _) => self.commit().map(Some),
                    (_, Some((stream, use_))) => self.fill(inst, stream, use_).map(Some),
                    _ if is_produced => Ok(None),
                    _ => Ok(Some(())),
                };
                if staying.is_some() {
                    let word = self.word_of_staying()?;
                    self.commit_to(word)?;
                }
                done
            }
            Role::Multiply => match product {
                Some(stream) => self.multiply_slot(inst, stream).map(Some),
                None if self.looks_at_delayed(inst)? => self.wait_delayed().map(|()| None),
                None if staying.is_some() => {
                    let (word, phase) = (self.word_of_staying()?, self.e.i32(0));
                    self.wait_at(word, phase, false)?;
                    self.action("fence.proxy.async.shared::cta;", &[]).map(Some)
                }
                None if is_moved => Ok(Some(())),
                None => {
                    self.leave_out(inst)?;
                    self.lower_late(inst)
                }
            },
        }
    }

    /// Where a factor of a stream lies in its slot.
    pub(super) fn part(&self, stream: usize, use_: Use) -> Result<(super::slot::Part, u32)> {
        let stream = &self.ring()?.plan.streams[stream];
        Ok(match use_ {
            Use::A => (stream.a.ok_or_else(|| Error::bug("a left factor of registers is in no slot"))?, 0),
            _ => (stream.b, stream.right_at()),
        })
    }

    /// Whether a loop has two products a round, for which the threads that multiply take turns or of which they put one off.
    pub(crate) fn has_two_products(&self, inst: Inst) -> bool {
        let Some(ring) = self.ring.as_ref().filter(|ring| ring.role == Role::Multiply) else { return false };
        let takes_turns = ring.plan.turns.is_some_and(|turns| turns.around == inst);
        takes_turns || ring.plan.delay.is_some_and(|delay| delay.around == inst)
    }

    /// The sums that a loop adds to without waiting for them.
    pub(crate) fn chained_sums(&self, inst: Inst) -> Vec<Var> {
        if let Some(var) = self.fused_sums(inst) {
            return vec![var];
        }
        let ring = self.ring.as_ref().filter(|ring| ring.role == Role::Multiply);
        ring.map_or_else(Vec::new, |ring| ring.plan.settles[inst.index()].clone())
    }

    /// Behind a loop: waits for the sums that it may still be adding to.
    pub(crate) fn settle(&mut self, sums: &[Var]) -> Result<()> {
        if self.ring.is_none() {
            return self.settle_blocks();
        }
        let [_, is_one] = self.ring()?.behind;
        let some = self.number(is_one)?;
        let some = self.e.icmp(IntPredicate::NE, some, self.e.i32(0))?;
        // In a branch, `ptxas` would wait for each multiplication.
        for &var in sums {
            self.change_words(var, |l, words| l.wait_for_sums(words, &[]))?;
        }
        if self.begins_with_products() {
            let zeros = |l: &mut Self| {
                sums.iter().try_for_each(|&var| l.begin_with_zeros(var))?;
                Ok(Vec::new())
            };
            self.either(some, |_| Ok(Vec::new()), zeros)?;
        }
        self.release()
    }
}
