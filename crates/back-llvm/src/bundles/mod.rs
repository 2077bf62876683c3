//! Bundles: scalars of all lanes that stay in the order of memory.
//!
//! Lanes that read a `vec4` each, one behind the other, read registers full of memory in which the components of each lane
//! follow one another. Other code wants a vector for each component, which takes two shuffles for each register, and as
//! many where they are stored again. Where all components are treated alike nothing cares where they are:
//!
//! ```text
//! memory:  x0 y0 z0 w0 x1 y1 z1 w1 ...        of lanes 0, 1, ...
//!   exp:   e^x0 e^y0 e^z0 e^w0 e^x1 ...       one operation on 4 * lanes elements
//! ```
//!
//! [`find()`] says which scalars are kept so; whoever wants a single one takes it out.

mod dense;
mod find;

pub(crate) use find::{Bundles, find};

use crate::emit::V;
use crate::error::{Error, Result};
use crate::lower::Lower;
use crate::memory::Access;
use crate::value::Val;
use find::Role;
use inkwell::values::PointerValue;
use phalanx_ir::{Inst, MemFlags, Op, Type, Value, Var};
use smallvec::SmallVec;

/// What became of bundles.
#[derive(Debug, Default)]
pub(crate) struct State<'c> {
    found: Bundles,
    /// The elements of each bundle, once they are computed: lane by lane, the members of each one behind the other.
    whole: Vec<Option<V<'c>>>,
    /// The members of bundles of which single ones are wanted where they are computed.
    single: Vec<Vec<V<'c>>>,
    /// Where variables lie that are kept in this order.
    slots: Vec<Option<PointerValue<'c>>>,
}

impl State<'_> {
    pub(crate) fn new(found: Bundles) -> Self {
        let count = found.members.len();
        Self {
            whole: vec![None; count],
            single: vec![vec![]; count],
            slots: vec![None; found.vars.len()],
            found,
        }
    }
}

impl<'c> Lower<'_, 'c> {
    /// Lowers an instruction that has to do with a bundle, if it is one.
    pub(crate) fn lower_bundled(&mut self, inst: Inst) -> Result<bool> {
        let Some(role) = self.bundles.found.roles.get(&inst).cloned() else { return Ok(false) };
        match role {
            Role::Nothing => {}
            Role::Make => self.make_bundle(inst)?,
            Role::ReadOne(element) => {
                let var = self.bundled_var(inst)?;
                let (count, all) = (self.f.var(var).count, self.read_bundle(var)?);
                let one = self.member(all, count, element)?;
                self.set(inst, one);
            }
            Role::Write(values) => {
                let var = self.bundled_var(inst)?;
                let all = self.bundle_or_splat(values[0], values.len() as u32)?;
                self.write_bundle(var, all)?;
            }
            Role::Store(flags) => self.store_bundle(inst, flags)?,
        }
        Ok(true)
    }

    /// A scalar that is a member of a bundle.
    pub(crate) fn bundled(&self, v: Value) -> Result<Option<Val<'c>>> {
        let Some(place) = self.bundles.found.places.get(&v) else { return Ok(None) };
        if let Some(&one) = self.bundles.single[place.bundle].get(place.member) {
            return Ok(Some(Val::varying(one)));
        }
        let Some(all) = self.bundles.whole[place.bundle] else { return Ok(None) };
        let count = self.bundles.found.members[place.bundle].len() as u32;
        self.member(all, count, place.member as u32).map(Some)
    }

    /// Whether a scalar is a member of a bundle.
    pub(crate) fn is_bundled(&self, v: Value) -> bool {
        self.bundles.found.places.contains_key(&v)
    }

    fn member(&self, all: V<'c>, count: u32, member: u32) -> Result<Val<'c>> {
        Ok(Val::varying(self.e.permute(all, (0..self.w).map(|lane| lane * count + member))?))
    }

    /// All elements of a bundle, or of as many as one value has that is the same everywhere.
    fn bundle_or_splat(&mut self, member: Value, count: u32) -> Result<V<'c>> {
        if let Some(place) = self.bundles.found.places.get(&member) {
            return self.bundles.whole[place.bundle]
                .ok_or_else(|| Error::bug(format!("{member} is used before its bundle is there")));
        }
        let one = self.scalar(member)?;
        let one = self.first(one)?;
        self.e.splat(one, count * self.w)
    }

    /// Computes all members of a bundle, of which an instruction gives the first one in program order.
    fn make_bundle(&mut self, inst: Inst) -> Result<()> {
        let f = self.f;
        let info = f.inst(inst);
        let place = info.results.first().and_then(|v| self.bundles.found.places.get(v)).copied();
        let place = place.ok_or_else(|| Error::bug("an instruction makes no bundle"))?;
        let count = self.bundles.found.members[place.bundle].len() as u32;
        let all = match info.op {
            Op::Load(flags) => {
                let access = self.load_access(inst, flags)?;
                let is_copy = !self.bundles.found.parted[place.bundle];
                self.load_bundle(&Access { is_copy, ..access })?
            }
            Op::VarLoad(var) => self.read_bundle(var)?,
            _ => {
                let args = info.args.iter().map(|&v| self.bundle_or_splat(v, count));
                let args = args.collect::<Result<SmallVec<[_; 4]>>>()?;
                self.apply(info, &args)?
            }
        };
        self.bundles.whole[place.bundle] = Some(all);
        if self.bundles.found.parted[place.bundle] {
            self.bundles.single[place.bundle] = self.each_member(all, count)?;
        }
        Ok(())
    }

    /// All members of a bundle.
    fn each_member(&mut self, all: V<'c>, count: u32) -> Result<Vec<V<'c>>> {
        if let Some(members) = self.take_apart_by_registers(all, count)? {
            return Ok(members);
        }
        (0..count).map(|k| self.e.permute(all, (0..self.w).map(|lane| lane * count + k))).collect()
    }

    fn load_bundle(&mut self, access: &Access<'c>) -> Result<V<'c>> {
        if let Some(all) = self.read_dense(access)? {
            return Ok(all);
        }
        let values = self.load_scalars(access)?;
        let registers = self.registers_of(access, &values)?;
        self.e.concat(registers)
    }

    fn store_bundle(&mut self, inst: Inst, flags: MemFlags) -> Result<()> {
        let access = Access { is_copy: true, ..self.store_access(inst, flags)? };
        let first = self.args(inst)[1];
        let all = self.bundle_or_splat(first, access.n)?;
        if self.write_dense(&access, all)? {
            return Ok(());
        }
        let values = (0..access.n).map(|k| self.member(all, access.n, k)).collect::<Result<Vec<_>>>()?;
        self.are_together(&access, all, &values)?;
        self.store_scalars(&access, &values)
    }
}

/// Variables.
impl<'c> Lower<'_, 'c> {
    /// Makes room for a variable that is kept as a bundle, if it is.
    pub(crate) fn declare_bundle(&mut self, var: Var, is_filled: bool) -> Result<bool> {
        if !self.bundles.found.vars[var.index()] {
            return Ok(false);
        }
        let info = self.f.var(var);
        let Type::Scalar(scalar) = info.ty else { return Ok(false) };
        let ty = self.e.vec_of(self.e.scalar_ty(scalar), info.count * self.w);
        let at = self.alloca(ty, "bundle")?;
        if !is_filled {
            self.e.b.build_store(at, ty.const_zero())?;
        }
        self.bundles.slots[var.index()] = Some(at);
        Ok(true)
    }

    fn bundled_var(&self, inst: Inst) -> Result<Var> {
        self.f.inst(inst).op.var().ok_or_else(|| Error::bug("no variable is accessed"))
    }

    fn bundle_slot(&self, var: Var) -> Result<PointerValue<'c>> {
        self.bundles.slots[var.index()].ok_or_else(|| Error::bug(format!("{var} is no bundle")))
    }

    fn read_bundle(&mut self, var: Var) -> Result<V<'c>> {
        let (at, info) = (self.bundle_slot(var)?, self.f.var(var));
        let Type::Scalar(scalar) = info.ty else { return Err(Error::bug(format!("{var} has no scalars"))) };
        let ty = self.e.vec_of(self.e.scalar_ty(scalar), info.count * self.w);
        Ok(self.e.b.build_load(ty, at, "")?)
    }

    fn write_bundle(&mut self, var: Var, all: V<'c>) -> Result<()> {
        let at = self.bundle_slot(var)?;
        // Lanes that do not exist, or have returned, may hold anything.
        let all = match self.exec.mask {
            Some(mask) if self.exec != self.alive => {
                let count = self.f.var(var).count;
                let mask = self.e.permute(mask, (0..count * self.w).map(|i| i / count))?;
                self.e.select(mask, all, self.e.b.build_load(all.get_type(), at, "")?)?
            }
            _ => all,
        };
        self.e.b.build_store(at, all)?;
        Ok(())
    }
}
