//! A compiled pipeline as bytes, for the cache on disk.

use phalanx_back_llvm::Meta;
use phalanx_back_llvm::abi::{Family, Site};
use phalanx_host::bytes::{Reader, Writer};
use phalanx_ir::BindingInfo;

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
    /// That of the special form, if there is one.
    pub(crate) special: Option<Vec<u8>>,
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
            frame_bytes,
            frame_align,
            stops,
            runs_groups,
            block,
            aligned,
            uses_addresses,
            subgroup_size,
            workgroup_size,
            formats,
            places,
            sites,
        } = &self.meta;
        let mut out = Writer::default();
        out.text(&self.name);
        out.u64(*scratch_bytes);
        out.u64(*leader_scratch_bytes);
        out.u64(*common_bytes);
        out.u64(*note_bytes);
        [stack_bytes, frame_bytes, frame_align].iter().for_each(|&&bytes| out.u64(bytes));
        for word in [*shared_bytes, *push_bytes, *num_bindings, u32::from(*stops)] {
            out.u32(word);
        }
        out.u32(u32::from(*runs_groups));
        out.list(block.as_slice(), |out, block| block.iter().for_each(|&groups| out.u32(groups)));
        out.list(aligned, |out, &(at, log2)| [at, log2].iter().for_each(|&word| out.u32(word)));
        out.u32(u32::from(*uses_addresses));
        out.u32(*subgroup_size);
        workgroup_size.iter().for_each(|&size| out.u32(size));
        out.list(formats, |out, format| out.text(format));
        out.list(places, |out, place| out.text(place));
        out.list(sites, write_site);
        out.list(&self.bindings, Writer::binding);
        out.bytes(&self.object);
        out.list(self.special.as_slice(), |out, object| out.bytes(object));
        out.into_bytes()
    }

    /// Reads bytes that `to_bytes` wrote; `None` if they cannot be.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader::new(bytes);
        let binary = Self {
            name: input.text()?,
            meta: Meta {
                scratch_bytes: input.u64()?,
                leader_scratch_bytes: input.u64()?,
                common_bytes: input.u64()?,
                note_bytes: input.u64()?,
                stack_bytes: input.u64()?,
                frame_bytes: input.u64()?,
                frame_align: input.u64()?,
                shared_bytes: input.u32()?,
                push_bytes: input.u32()?,
                num_bindings: input.u32()?,
                stops: input.flag()?,
                runs_groups: input.flag()?,
                block: input.list(|input| Some([input.u32()?, input.u32()?]))?.first().copied(),
                aligned: input.list(|input| Some((input.u32()?, input.u32()?)))?,
                uses_addresses: input.flag()?,
                subgroup_size: input.u32()?,
                workgroup_size: [input.u32()?, input.u32()?, input.u32()?],
                formats: input.list(Reader::text)?,
                places: input.list(Reader::text)?,
                sites: input.list(read_site)?,
            },
            bindings: input.list(Reader::binding)?,
            object: input.bytes()?.to_vec(),
            special: input.list(|input| Some(input.bytes()?.to_vec()))?.pop(),
        };
        input.is_at_end().then_some(binary)
    }
}

/// What code says of a place in it.
fn write_site(out: &mut Writer, site: &Site) {
    let Site { file, line, word, function, operation, family } = site;
    out.text(file);
    out.u32(*line);
    out.u32(*word);
    out.text(function);
    out.text(operation);
    out.text(family.name());
}

fn read_site(input: &mut Reader<'_>) -> Option<Site> {
    let (file, line, word) = (input.text()?, input.u32()?, input.u32()?);
    let (function, operation, family) = (input.text()?, input.text()?, input.text()?);
    let family = Family::ALL.into_iter().find(|known| known.name() == family)?;
    Some(Site { file, line, word, function, operation, family })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::BindingKind;

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
                frame_bytes: 640,
                frame_align: 64,
                shared_bytes: 1,
                push_bytes: 2,
                num_bindings: 2,
                stops: true,
                runs_groups: true,
                block: Some([4, 2]),
                aligned: vec![(8, 5)],
                uses_addresses: true,
                subgroup_size: 32,
                workgroup_size: [8, 4, 2],
                formats: vec!["a %d".into(), String::new()],
                places: vec!["a.comp:7".into()],
                sites: vec![Site { line: 7, family: Family::Memory, ..Site::default() }],
            },
            bindings: vec![binding(Some(3), BindingKind::Storage), binding(None, BindingKind::Uniform)],
            object: vec![1, 2, 3],
            special: Some(vec![4, 5]),
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
