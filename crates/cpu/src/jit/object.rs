//! What there is to load in an object file.
//!
//! An [`Image`] is the sections that a program has at run time, one behind the other, with the places in
//! them that have to be told addresses. LLVM makes the objects, and caches that are authenticated keep
//! them, but nothing here relies on that: every number of the file is checked against what is there, and
//! what the loader does not know is refused by its name. Code and constants lie in the same pages; data
//! that could be written have no place.

use object::elf;
use object::read::elf::{ElfFile64, ElfSection64, ElfSymbol64, SectionHeader};
use object::{
    Endianness, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget, SectionIndex,
};

use super::relocate::{Fixup, Machine, Target};
use super::{JitError, symbols};

/// The largest image: branches of all machines reach as far, and offsets need no check for overflow.
const MAX_BYTES: u64 = 1 << 27;

/// The largest alignment of a section: a page of every system.
const MAX_ALIGNMENT: u64 = 4096;

/// Sections without their addresses.
#[derive(Debug)]
pub(super) struct Image {
    pub(super) machine: Machine,
    pub(super) bytes: Vec<u8>,
    pub(super) fixups: Vec<Fixup>,
    /// Where the symbol is that was asked for.
    pub(super) entry: usize,
}

/// A section's place in the image.
struct Placed {
    index: SectionIndex,
    start: usize,
    bytes: u64,
}

type Elf<'a> = ElfFile64<'a, Endianness>;

/// Reads an object that defines `entry`.
pub(super) fn read(object: &[u8], entry: &str) -> Result<Image, JitError> {
    let file = Elf::parse(object).map_err(malformed)?;
    if file.elf_header().e_type.get(file.endian()) != elf::ET_REL {
        return Err(JitError::Malformed("it is no relocatable object".into()));
    }
    if file.endian() != Endianness::Little {
        return Err(JitError::Unsupported("big-endian code".into()));
    }
    let machine = Machine::of(file.elf_header().e_machine.get(file.endian()))?;
    let mut bytes = Vec::new();
    let mut placed: Vec<Placed> = Vec::new();
    for section in file.sections().filter(|section| is_loaded(section, file.endian())) {
        let start = place(&section, file.endian(), &mut bytes)?;
        placed.push(Placed { index: section.index(), start, bytes: section.size() });
    }
    let mut fixups = Vec::new();
    for at in &placed {
        let section = file.section_by_index(at.index).map_err(malformed)?;
        read_fixups(&file, &section, at, &placed, &mut fixups)?;
    }
    let mut symbols = file.symbols().filter(|symbol| symbol.is_definition() && symbol.is_global());
    let symbol = symbols.find(|symbol| symbol.name() == Ok(entry));
    let symbol = symbol.ok_or_else(|| JitError::Unresolved(entry.escape_debug().to_string()))?;
    let entry = offset_of(&symbol, &placed)?;
    Ok(Image { machine, bytes, fixups, entry })
}

/// Whether a section has bytes at run time. Nothing unwinds through compiled code, so that the tables
/// for it are left out.
fn is_loaded(section: &ElfSection64<'_, '_, Endianness>, endian: Endianness) -> bool {
    let header = section.elf_section_header();
    let is_allocated = header.sh_flags(endian).contains(elf::SHF_ALLOC);
    is_allocated && section.size() != 0 && section.name() != Ok(".eh_frame")
}

/// Puts a section behind the others, and says where.
fn place(
    section: &ElfSection64<'_, '_, Endianness>,
    endian: Endianness,
    bytes: &mut Vec<u8>,
) -> Result<usize, JitError> {
    let header = section.elf_section_header();
    let name = section.name().map_err(malformed)?;
    let flags = header.sh_flags(endian);
    let refused = |what: &str| JitError::Unsupported(format!("{what} in section `{}`", name.escape_debug()));
    if flags.contains(elf::SHF_TLS) {
        return Err(refused("thread-local data"));
    }
    // Constants that hold addresses are written while loading only.
    if flags.contains(elf::SHF_WRITE) && !name.starts_with(".data.rel.ro") {
        return Err(refused("writable data"));
    }
    if !matches!(header.sh_type(endian), elf::SHT_PROGBITS | elf::SHT_X86_64_UNWIND) {
        return Err(refused(&format!("contents of type {:#x}", header.sh_type(endian).0)));
    }
    let alignment = section.align().max(1);
    if !alignment.is_power_of_two() || alignment > MAX_ALIGNMENT {
        return Err(refused(&format!("an alignment of {alignment}")));
    }
    let data = section.data().map_err(malformed)?;
    let start = bytes.len().next_multiple_of(alignment as usize);
    if (start + data.len()) as u64 > MAX_BYTES {
        return Err(JitError::OutOfMemory { bytes: start + data.len() });
    }
    bytes.resize(start, 0);
    bytes.extend_from_slice(data);
    Ok(start)
}

/// The places in a section that have to be told addresses.
fn read_fixups(
    file: &Elf<'_>,
    section: &ElfSection64<'_, '_, Endianness>,
    at: &Placed,
    placed: &[Placed],
    fixups: &mut Vec<Fixup>,
) -> Result<(), JitError> {
    for (offset, relocation) in section.relocations() {
        let RelocationFlags::Elf { r_type } = relocation.flags() else {
            return Err(JitError::Malformed("a relocation is not ELF's".into()));
        };
        if relocation.has_implicit_addend() {
            return Err(JitError::Unsupported(format!("relocation {} without an addend", r_type.0)));
        }
        let RelocationTarget::Symbol(index) = relocation.target() else {
            return Err(JitError::Unsupported(format!("relocation {} without a symbol", r_type.0)));
        };
        let symbol = file.symbol_by_index(index).map_err(malformed)?;
        let target = if symbol.is_undefined() {
            let name = symbol.name().map_err(malformed)?;
            let address = symbols::address(name);
            Target::Process(address.ok_or_else(|| JitError::Unresolved(name.escape_debug().to_string()))?)
        } else {
            Target::Image(offset_of(&symbol, placed)?)
        };
        let offset = usize::try_from(offset).ok().filter(|offset| *offset as u64 <= at.bytes);
        let offset =
            offset.ok_or_else(|| JitError::Malformed("a relocation is outside of its section".into()))?;
        fixups.push(Fixup { place: at.start + offset, kind: r_type, target, addend: relocation.addend() });
    }
    Ok(())
}

/// Where a symbol is in the image.
fn offset_of(symbol: &ElfSymbol64<'_, '_, Endianness>, placed: &[Placed]) -> Result<usize, JitError> {
    let unplaced = || {
        let name = symbol.name().unwrap_or_default().escape_debug();
        JitError::Unsupported(format!("symbol `{name}` outside of the sections that are loaded"))
    };
    let index = symbol.section_index().ok_or_else(unplaced)?;
    let section = placed.iter().find(|placed| placed.index == index).ok_or_else(unplaced)?;
    if symbol.address() > section.bytes {
        return Err(JitError::Malformed("a symbol is outside of its section".into()));
    }
    // The section is in memory, so its size is a `usize`.
    Ok(section.start + symbol.address() as usize)
}

fn malformed(error: object::Error) -> JitError {
    JitError::Malformed(error.to_string())
}
