//! Which instructions the kernels may use.
//!
//! A [`KernelSet`] says which kernels a processor has, wherever it is. An [`Isa`] can only be obtained for
//! instructions that the running processor has, so holding one is the proof that its kernels may be called.

#[cfg(target_arch = "x86_64")]
use crate::arch::x86_64::amx;
use crate::processor::Processor;
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// The vector extension that the kernels are written in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Plain Rust, whatever the target's base instruction set is.
    Portable,
    /// 128-bit vectors of aarch64.
    Neon,
    /// 256-bit vectors with FMA and F16C.
    Avx2,
    /// 512-bit vectors: F, BW, VL and DQ.
    Avx512,
}

/// Which kernels there are for a processor: what tells how matrices lie and which kernels are planned, here or on
/// another machine.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct KernelSet {
    level: Level,
    bf16_dot: bool,
    vnni: bool,
    amx: bool,
    fp16: bool,
    halves: bool,
    i8mm: bool,
}

/// Kernels that the running processor has the instructions for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Isa(KernelSet);

impl Isa {
    /// Runs everywhere.
    pub const PORTABLE: Self = Self(KernelSet::new(Level::Portable, false, false));

    /// The kernels of this machine's processor, [`Processor::native`]; those that run everywhere on one so old that no
    /// code is generated for it.
    #[must_use]
    pub fn native() -> Self {
        Processor::native().isa().unwrap_or(Self::PORTABLE)
    }

    /// Everything this machine can run, the best last.
    #[must_use]
    pub fn available() -> Vec<Self> {
        let mut list = vec![Self::PORTABLE];
        #[cfg(target_arch = "x86_64")]
        {
            let (avx2, avx512) = (has_avx2(), has_avx512());
            let variants = |level, bf16_dot: bool, vnni: bool| {
                [(false, false), (true, false), (false, true), (true, true)]
                    .into_iter()
                    .filter(move |&(bf16, int8)| (!bf16 || bf16_dot) && (!int8 || vnni))
                    .map(move |(bf16_dot, vnni)| Self(KernelSet::new(level, bf16_dot, vnni)))
            };
            if avx2 {
                list.extend(variants(Level::Avx2, false, is_x86_feature_detected!("avxvnni")));
            }
            if avx2 && avx512 {
                let bf16 = is_x86_feature_detected!("avx512bf16");
                let vnni = is_x86_feature_detected!("avx512vnni");
                list.extend(variants(Level::Avx512, bf16, vnni));
                if bf16 && vnni && amx::is_here() {
                    list.push(Self(KernelSet::new(Level::Avx512, true, true).with_amx()));
                }
                if is_x86_feature_detected!("avx512fp16") {
                    let best = list.last().copied().filter(|best| best.amx);
                    let others = variants(Level::Avx512, bf16, vnni).filter(|_| best.is_none());
                    let sets: Vec<_> = best.into_iter().chain(others).collect();
                    list.extend(sets.into_iter().map(|isa| Self(isa.0.with_fp16())));
                }
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            let neon = KernelSet::new(Level::Neon, false, false);
            list.push(Self(neon));
            if std::arch::is_aarch64_feature_detected!("dotprod") {
                list.push(Self(KernelSet { vnni: true, ..neon }));
                let bf16 = std::arch::is_aarch64_feature_detected!("bf16");
                if bf16 && std::arch::is_aarch64_feature_detected!("i8mm") {
                    list.push(Self(KernelSet { vnni: true, bf16_dot: true, ..neon }.with_i8mm()));
                }
            }
        }
        list
    }

    /// Readies this thread for kernels of these instructions. They may be called until what is returned is dropped,
    /// which must be on this thread, and no other call of this function may come between.
    pub fn ready(self) -> Ready {
        Ready {
            // SAFETY: an `Isa` exists only where its instructions do.
            #[cfg(target_arch = "x86_64")]
            before: self.amx.then(|| unsafe { amx::configure() }),
            of_this_thread: PhantomData,
        }
    }

    /// These kernels for programs of which all sums of f16 are f16: [`KernelSet::for_sums_of_f16`].
    #[must_use]
    pub const fn for_sums_of_f16(self) -> Self {
        Self(self.0.for_sums_of_f16())
    }

    /// Which they are.
    #[must_use]
    pub const fn kernels(self) -> KernelSet {
        self.0
    }
}

/// A thread that may call kernels; see [`Isa::ready`].
#[must_use = "kernels may be called until it is dropped"]
#[derive(Debug)]
pub struct Ready {
    /// The shape of the thread's matrix registers before, if they have another one now.
    #[cfg(target_arch = "x86_64")]
    before: Option<amx::Shape>,
    of_this_thread: PhantomData<*const ()>,
}

impl Drop for Ready {
    fn drop(&mut self) {
        #[cfg(target_arch = "x86_64")]
        if let Some(before) = &self.before {
            // SAFETY: `ready` has found the instructions and got the shape.
            unsafe { amx::restore(before) };
        }
    }
}

impl Deref for Isa {
    type Target = KernelSet;

    fn deref(&self) -> &KernelSet {
        &self.0
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl KernelSet {
    pub(crate) const fn new(level: Level, bf16_dot: bool, vnni: bool) -> Self {
        Self { level, bf16_dot, vnni, amx: false, fp16: false, halves: false, i8mm: false }
    }

    /// The set with multiplications of f16.
    pub(crate) const fn with_fp16(self) -> Self {
        Self { fp16: true, ..self }
    }

    /// The set for programs in which factors of f16 have sums of f16 only: where there are multiplications of f16, such
    /// factors are not widened to f32. They lie otherwise then, so one program has one of the two sets throughout.
    #[must_use]
    pub const fn for_sums_of_f16(self) -> Self {
        Self { halves: self.fp16, ..self }
    }

    /// The set with products of squares of bytes of Arm; it has dot products of them.
    pub(crate) const fn with_i8mm(self) -> Self {
        Self { i8mm: true, ..self }
    }

    /// The set with the matrix registers of x86; it has both dot products.
    pub(crate) const fn with_amx(self) -> Self {
        Self { amx: true, ..self }
    }

    /// The vector extension.
    #[must_use]
    pub const fn level(self) -> Level {
        self.level
    }

    /// Whether pairs of bf16 are multiplied as such.
    #[must_use]
    pub const fn bf16_dot(self) -> bool {
        self.bf16_dot
    }

    /// Whether quads of bytes are multiplied by one instruction.
    #[must_use]
    pub const fn vnni(self) -> bool {
        self.vnni
    }

    /// Whether bf16 and bytes, and large grids of f16 and floats of 8 bits, are multiplied in matrix registers.
    #[must_use]
    pub const fn amx(self) -> bool {
        self.amx
    }

    /// Whether squares of bytes are multiplied by one instruction.
    #[must_use]
    pub const fn i8mm(self) -> bool {
        self.i8mm
    }

    /// Whether f16 are multiplied and added as such.
    #[must_use]
    pub const fn fp16(self) -> bool {
        self.fp16
    }

    /// Whether factors of f16 are kept as such; see [`Self::for_sums_of_f16`].
    pub(crate) const fn keeps_halves(self) -> bool {
        self.halves
    }

    /// 32-bit elements in one vector.
    #[must_use]
    pub const fn lanes(self) -> usize {
        match self.level {
            Level::Portable | Level::Neon => 4,
            Level::Avx2 => 8,
            Level::Avx512 => 16,
        }
    }
}

impl fmt::Display for KernelSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.level {
            Level::Portable => "portable",
            Level::Neon => "neon",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
        })?;
        if self.bf16_dot {
            f.write_str("-bf16")?;
        }
        if self.vnni {
            f.write_str(if self.level == Level::Neon { "-dot" } else { "-vnni" })?;
        }
        if self.i8mm {
            f.write_str("-i8mm")?;
        }
        if self.amx {
            f.write_str("-amx")?;
        }
        if self.fp16 {
            f.write_str("-fp16")?;
        }
        if self.halves {
            f.write_str("-sums")?;
        }
        Ok(())
    }
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512dq")
}
