//! Tells an image the addresses of its parts: the relocations that LLVM makes of position-independent
//! code in the small code model.
//!
//! *S* is the address of the symbol, *A* the addend, *P* the address of the place (System V ABI, AMD64
//! supplement, 4.4; ELF for the Arm 64-bit Architecture, 5.7). What a branch cannot reach, such as the
//! functions of the process, it reaches through a *link* behind the image: a jump, and the address that
//! it jumps to, which is also the entry of the global offset table.

use std::collections::BTreeMap;

use object::elf;

use super::JitError;
use super::object::Image;

/// The machines that code can be loaded on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    X86,
    Arm,
}

/// A place in the image that holds an address, or a part of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fixup {
    /// Offset in the image.
    pub(super) place: usize,
    /// The relocation's number, of its machine.
    pub(super) kind: elf::RelocationType,
    pub(super) target: Target,
    pub(super) addend: i64,
}

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Target {
    /// An offset in the image.
    Image(usize),
    /// An address in the process.
    Process(u64),
}

/// Bytes of a link: a jump, then the address.
const LINK_BYTES: usize = 16;
const LINK_ADDRESS: usize = 8;

/// `jmp *2(%rip)`, `ud2`.
const X86_LINK: [u8; LINK_ADDRESS] = [0xff, 0x25, 0x02, 0, 0, 0, 0x0f, 0x0b];

/// `ldr x16, #8`, `br x16`.
const ARM_LINK: [u8; LINK_ADDRESS] = [0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6];

impl Machine {
    /// The machine that this runs on.
    #[cfg(target_arch = "x86_64")]
    pub(super) const HOST: Self = Self::X86;
    #[cfg(target_arch = "aarch64")]
    pub(super) const HOST: Self = Self::Arm;

    /// The machine that an object is for.
    pub(super) fn of(machine: elf::Machine) -> Result<Self, JitError> {
        match machine {
            elf::EM_X86_64 => Ok(Self::X86),
            elf::EM_AARCH64 => Ok(Self::Arm),
            other => Err(JitError::Unsupported(format!("code of machine {}", other.0))),
        }
    }

    fn link(self) -> [u8; LINK_ADDRESS] {
        match self {
            Self::X86 => X86_LINK,
            Self::Arm => ARM_LINK,
        }
    }

    /// Whether a relocation goes through a link to this target.
    fn is_linked(self, kind: elf::RelocationType, target: Target) -> bool {
        let is_far = matches!(target, Target::Process(_));
        match self {
            Self::X86 => match kind {
                elf::R_X86_64_GOTPCREL | elf::R_X86_64_GOTPCRELX | elf::R_X86_64_REX_GOTPCRELX => true,
                _ => kind == elf::R_X86_64_PLT32 && is_far,
            },
            Self::Arm => match kind {
                elf::R_AARCH64_ADR_GOT_PAGE | elf::R_AARCH64_LD64_GOT_LO12_NC => true,
                _ => matches!(kind, elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26) && is_far,
            },
        }
    }

    /// Whether a relocation wants the address in a link, not its jump.
    fn wants_address(self, kind: elf::RelocationType) -> bool {
        match self {
            Self::X86 => kind != elf::R_X86_64_PLT32,
            Self::Arm => !matches!(kind, elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26),
        }
    }
}

/// The links of an image.
#[derive(Debug)]
pub(super) struct Links {
    /// Offsets of links in the image by their targets.
    places: BTreeMap<Target, usize>,
}

impl Links {
    /// Makes room for the links behind an image.
    pub(super) fn add_to(image: &mut Image) -> Self {
        let mut places = BTreeMap::new();
        for fixup in &image.fixups {
            if image.machine.is_linked(fixup.kind, fixup.target) {
                places.entry(fixup.target).or_insert(0);
            }
        }
        for place in places.values_mut() {
            let start = image.bytes.len().next_multiple_of(LINK_BYTES);
            image.bytes.resize(start + LINK_BYTES, 0);
            *place = start;
        }
        Self { places }
    }

    fn write(&self, image: &mut Image, base: u64) {
        for (target, place) in &self.places {
            let (jump, address) = image.bytes[*place..][..LINK_BYTES].split_at_mut(LINK_ADDRESS);
            jump.copy_from_slice(&image.machine.link());
            address.copy_from_slice(&target.address(base).to_le_bytes());
        }
    }
}

impl Target {
    fn address(self, base: u64) -> u64 {
        match self {
            Self::Image(offset) => base.wrapping_add(offset as u64),
            Self::Process(address) => address,
        }
    }
}

/// Makes an image ready to run at `base`, which is at the start of a page.
pub(super) fn relocate(image: &mut Image, links: &Links, base: u64) -> Result<(), JitError> {
    links.write(image, base);
    for fixup in std::mem::take(&mut image.fixups) {
        let is_linked = image.machine.is_linked(fixup.kind, fixup.target);
        let symbol = match links.places.get(&fixup.target) {
            Some(link) if is_linked => {
                let part = if image.machine.wants_address(fixup.kind) { LINK_ADDRESS } else { 0 };
                base.wrapping_add((link + part) as u64)
            }
            _ => fixup.target.address(base),
        };
        let value = Value {
            symbol: symbol.wrapping_add_signed(fixup.addend),
            place: base.wrapping_add(fixup.place as u64),
            kind: fixup.kind,
        };
        let bytes = image.bytes.get_mut(fixup.place..).unwrap_or_default();
        match image.machine {
            Machine::X86 => value.write_x86(bytes)?,
            Machine::Arm => value.write_arm(bytes)?,
        }
    }
    Ok(())
}

/// What a place is to hold.
#[derive(Clone, Copy, Debug)]
struct Value {
    /// *S* + *A*.
    symbol: u64,
    /// *P*.
    place: u64,
    kind: elf::RelocationType,
}

impl Value {
    /// *S* + *A* − *P*.
    fn distance(self) -> i64 {
        self.symbol.wrapping_sub(self.place).cast_signed()
    }

    /// The distance from page to page, in pages.
    fn pages(self) -> i64 {
        (self.symbol >> 12).wrapping_sub(self.place >> 12).cast_signed()
    }

    fn write_x86(self, bytes: &mut [u8]) -> Result<(), JitError> {
        match self.kind {
            elf::R_X86_64_NONE => Ok(()),
            elf::R_X86_64_64 => self.write(bytes, &self.symbol.to_le_bytes()),
            elf::R_X86_64_PC64 => self.write(bytes, &self.distance().to_le_bytes()),
            elf::R_X86_64_PC32
            | elf::R_X86_64_PLT32
            | elf::R_X86_64_GOTPCREL
            | elf::R_X86_64_GOTPCRELX
            | elf::R_X86_64_REX_GOTPCRELX => {
                let near = i32::try_from(self.distance()).map_err(|_far| self.out_of_reach())?;
                self.write(bytes, &near.to_le_bytes())
            }
            other => Err(JitError::Unsupported(format!("x86-64 relocation {}", other.0))),
        }
    }

    fn write_arm(self, bytes: &mut [u8]) -> Result<(), JitError> {
        let low = self.symbol & 0xfff;
        match self.kind {
            elf::R_AARCH64_NONE => Ok(()),
            elf::R_AARCH64_ABS64 => self.write(bytes, &self.symbol.to_le_bytes()),
            elf::R_AARCH64_PREL64 => self.write(bytes, &self.distance().to_le_bytes()),
            elf::R_AARCH64_PREL32 => {
                let near = i32::try_from(self.distance()).map_err(|_far| self.out_of_reach())?;
                self.write(bytes, &near.to_le_bytes())
            }
            // Branches and literals count in instructions.
            elf::R_AARCH64_CALL26 | elf::R_AARCH64_JUMP26 => self.patch(bytes, self.words(26)?, 0x03ff_ffff),
            elf::R_AARCH64_CONDBR19 | elf::R_AARCH64_LD_PREL_LO19 => {
                self.patch(bytes, self.words(19)? << 5, 0x00ff_ffe0)
            }
            elf::R_AARCH64_TSTBR14 => self.patch(bytes, self.words(14)? << 5, 0x0007_ffe0),
            // ADR and ADRP hold two bits apart from the others.
            elf::R_AARCH64_ADR_PREL_LO21 => self.patch_adr(bytes, self.signed(self.distance(), 21)?),
            elf::R_AARCH64_ADR_PREL_PG_HI21 | elf::R_AARCH64_ADR_GOT_PAGE => {
                self.patch_adr(bytes, self.signed(self.pages(), 21)?)
            }
            elf::R_AARCH64_ADR_PREL_PG_HI21_NC => self.patch_adr(bytes, (self.pages() & 0x001f_ffff) as u32),
            // Offsets in a page count in units of what is accessed.
            elf::R_AARCH64_ADD_ABS_LO12_NC | elf::R_AARCH64_LDST8_ABS_LO12_NC => {
                self.patch_low(bytes, low, 0)
            }
            elf::R_AARCH64_LDST16_ABS_LO12_NC => self.patch_low(bytes, low, 1),
            elf::R_AARCH64_LDST32_ABS_LO12_NC => self.patch_low(bytes, low, 2),
            elf::R_AARCH64_LDST64_ABS_LO12_NC | elf::R_AARCH64_LD64_GOT_LO12_NC => {
                self.patch_low(bytes, low, 3)
            }
            elf::R_AARCH64_LDST128_ABS_LO12_NC => self.patch_low(bytes, low, 4),
            other => Err(JitError::Unsupported(format!("AArch64 relocation {}", other.0))),
        }
    }

    /// Writes all bytes of a place.
    fn write(self, bytes: &mut [u8], value: &[u8]) -> Result<(), JitError> {
        let place = bytes.get_mut(..value.len()).ok_or_else(outside)?;
        place.copy_from_slice(value);
        Ok(())
    }

    /// Writes some bits of an instruction.
    fn patch(self, bytes: &mut [u8], bits: u32, mask: u32) -> Result<(), JitError> {
        let word = bytes.first_chunk_mut::<4>().ok_or_else(outside)?;
        *word = (u32::from_le_bytes(*word) & !mask | bits & mask).to_le_bytes();
        Ok(())
    }

    fn patch_adr(self, bytes: &mut [u8], value: u32) -> Result<(), JitError> {
        self.patch(bytes, (value & 3) << 29 | (value >> 2) << 5, 0x60ff_ffe0)
    }

    fn patch_low(self, bytes: &mut [u8], low: u64, log2_unit: u32) -> Result<(), JitError> {
        if low & ((1 << log2_unit) - 1) != 0 {
            return Err(JitError::Malformed("an address is not aligned as its access".into()));
        }
        self.patch(bytes, ((low >> log2_unit) << 10) as u32, 0x003f_fc00)
    }

    /// The distance in instructions, as a field of so many bits.
    fn words(self, bits: u32) -> Result<u32, JitError> {
        if self.distance() & 3 != 0 {
            return Err(JitError::Malformed("a branch goes between instructions".into()));
        }
        self.signed(self.distance() >> 2, bits)
    }

    /// A field of so many bits.
    fn signed(self, value: i64, bits: u32) -> Result<u32, JitError> {
        let bound = 1_i64 << (bits - 1);
        // Truncated: the bits above those of the field repeat its sign.
        if (-bound..bound).contains(&value) { Ok(value as u32) } else { Err(self.out_of_reach()) }
    }

    fn out_of_reach(self) -> JitError {
        JitError::Unsupported(format!("a distance of {} in relocation {}", self.distance(), self.kind.0))
    }
}

fn outside() -> JitError {
    JitError::Malformed("a relocation reaches beyond its section".into())
}
