//! A compiled pipeline as bytes, for the cache on disk.
//!
//! Numbers are little-endian, lists and texts start with their length. Reading checks every length
//! against what is left, so that no file can ask for more memory than it has.

use phalanx_back_llvm::Meta;
use phalanx_back_llvm::abi::{Family, Site};
use phalanx_ir::{BindingInfo, BindingKind};

/// A compiled pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Binary {
    /// Name of the entry point.
    pub(crate) name: String,
    /// What the host has to know to run it.
    pub(crate) meta: Meta,
    /// The buffers that it may access.
    pub(crate) bindings: Vec<BindingInfo>,
    /// The object file.
    pub(crate) object: Vec<u8>,
}

impl Binary {
    /// The bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Meta {
            scratch_bytes,
            leader_scratch_bytes,
            common_bytes,
            note_bytes,
            stack_bytes,
            shared_bytes,
            push_bytes,
            num_bindings,
            has_workgroup_barrier,
            uses_addresses,
            subgroup_size,
            workgroup_size,
            formats,
            places,
            sites,
        } = &self.meta;
        let mut out = Writer(Vec::with_capacity(self.object.len() + 512));
        out.text(&self.name);
        out.u64(*scratch_bytes);
        out.u64(*leader_scratch_bytes);
        out.u64(*common_bytes);
        out.u64(*note_bytes);
        out.u64(*stack_bytes);
        for word in [*shared_bytes, *push_bytes, *num_bindings, u32::from(*has_workgroup_barrier)] {
            out.u32(word);
        }
        out.u32(u32::from(*uses_addresses));
        out.u32(*subgroup_size);
        workgroup_size.iter().for_each(|&size| out.u32(size));
        out.u32(formats.len() as u32);
        formats.iter().for_each(|format| out.text(format));
        out.u32(places.len() as u32);
        places.iter().for_each(|place| out.text(place));
        out.u32(sites.len() as u32);
        sites.iter().for_each(|site| out.site(site));
        out.u32(self.bindings.len() as u32);
        self.bindings.iter().for_each(|binding| out.binding(binding));
        out.bytes(&self.object);
        out.0
    }

    /// Reads bytes that `to_bytes` wrote; `None` if they cannot be.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader(bytes);
        let binary = Self {
            name: input.text()?,
            meta: Meta {
                scratch_bytes: input.u64()?,
                leader_scratch_bytes: input.u64()?,
                common_bytes: input.u64()?,
                note_bytes: input.u64()?,
                stack_bytes: input.u64()?,
                shared_bytes: input.u32()?,
                push_bytes: input.u32()?,
                num_bindings: input.u32()?,
                has_workgroup_barrier: input.flag()?,
                uses_addresses: input.flag()?,
                subgroup_size: input.u32()?,
                workgroup_size: [input.u32()?, input.u32()?, input.u32()?],
                formats: input.list(Reader::text)?,
                places: input.list(Reader::text)?,
                sites: input.list(Reader::site)?,
            },
            bindings: input.list(Reader::binding)?,
            object: input.bytes()?.to_vec(),
        };
        input.0.is_empty().then_some(binary)
    }
}

struct Writer(Vec<u8>);

impl Writer {
    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    fn site(&mut self, site: &Site) {
        let Site { file, line, word, function, operation, family } = site;
        self.text(file);
        self.u32(*line);
        self.u32(*word);
        self.text(function);
        self.text(operation);
        self.text(family.name());
    }

    fn binding(&mut self, info: &BindingInfo) {
        let BindingInfo { set, binding, count, kind, writable, name } = info;
        self.u32(*set);
        self.u32(*binding);
        self.u32(u32::from(count.is_some()));
        self.u32(count.unwrap_or(0));
        self.text(&kind.name());
        self.u32(u32::from(*writable));
        self.text(name);
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.u32()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u64()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// Grows with what is really there, whatever length is stated.
    fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.u32()?;
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(item(self)?);
        }
        Some(list)
    }

    fn site(&mut self) -> Option<Site> {
        let (file, line, word) = (self.text()?, self.u32()?, self.u32()?);
        let (function, operation, family) = (self.text()?, self.text()?, self.text()?);
        let family = Family::ALL.into_iter().find(|known| known.name() == family)?;
        Some(Site { file, line, word, function, operation, family })
    }

    fn binding(&mut self) -> Option<BindingInfo> {
        let (set, binding, counted, count) = (self.u32()?, self.u32()?, self.flag()?, self.u32()?);
        if !counted && count != 0 {
            return None;
        }
        let kind = BindingKind::from_name(std::str::from_utf8(self.bytes()?).ok()?)?;
        let (writable, name) = (self.flag()?, self.text()?);
        Some(BindingInfo { set, binding, count: counted.then_some(count), kind, writable, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Binary {
        let binding = |count, kind| BindingInfo {
            set: 1,
            binding: 2,
            count,
            kind,
            writable: true,
            name: "data".into(),
        };
        Binary {
            name: "main".into(),
            meta: Meta {
                scratch_bytes: 1 << 40,
                leader_scratch_bytes: 1 << 41,
                common_bytes: 1 << 39,
                note_bytes: 1 << 38,
                stack_bytes: 1 << 20,
                shared_bytes: 1,
                push_bytes: 2,
                num_bindings: 2,
                has_workgroup_barrier: true,
                uses_addresses: true,
                subgroup_size: 32,
                workgroup_size: [8, 4, 2],
                formats: vec!["a %d".into(), String::new()],
                places: vec!["a.comp:7".into()],
                sites: vec![Site { line: 7, family: Family::Memory, ..Site::default() }],
            },
            bindings: vec![binding(Some(3), BindingKind::Storage), binding(None, BindingKind::Uniform)],
            object: vec![1, 2, 3],
        }
    }

    #[test]
    fn bytes_lead_back() {
        for binary in [sample(), Binary::default()] {
            assert_eq!(Binary::from_bytes(&binary.to_bytes()), Some(binary));
        }
    }

    #[test]
    fn damaged_bytes_are_refused_or_read_as_something_else() {
        let bytes = sample().to_bytes();
        for length in 0..bytes.len() {
            assert_eq!(Binary::from_bytes(&bytes[..length]), None, "{length}");
        }
        for index in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[index] ^= 0xff;
            assert_ne!(Binary::from_bytes(&damaged), Some(sample()), "{index}");
        }
    }
}
