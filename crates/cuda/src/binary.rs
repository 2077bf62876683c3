//! Code of a GPU as bytes, to be kept.

use phalanx_back_nvptx::abi::{Layout, Map, Place, Stride};
use phalanx_back_nvptx::report::{Report, Warning};
use phalanx_host::bytes::{Reader, Writer};
use phalanx_ir::BindingInfo;

/// Code, and what the host has to know to run it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Binary {
    /// Name of the entry point.
    pub(crate) name: String,
    /// What it is bound to.
    pub(crate) bindings: Vec<BindingInfo>,
    /// What its warnings and lines say.
    pub(crate) formats: Vec<String>,
    /// Invocations of a work-group along x, y and z.
    pub(crate) workgroup_size: [u32; 3],
    /// What its entry takes.
    pub(crate) layout: Layout,
    /// What the driver loads.
    pub(crate) image: Vec<u8>,
}

impl Binary {
    /// The bytes.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let Self { name, bindings, formats, workgroup_size, layout, image } = self;
        let mut out = Writer::default();
        out.text(name);
        out.list(bindings, Writer::binding);
        out.list(formats, |out, format| out.text(format));
        workgroup_size.iter().for_each(|&size| out.u32(size));
        write_layout(&mut out, layout);
        out.bytes(image);
        out.into_bytes()
    }

    /// Reads bytes that `to_bytes` wrote; `None` if they cannot be.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut input = Reader::new(bytes);
        let binary = Self {
            name: input.text()?,
            bindings: input.list(Reader::binding)?,
            formats: input.list(Reader::text)?,
            workgroup_size: [input.u32()?, input.u32()?, input.u32()?],
            layout: read_layout(&mut input)?,
            image: input.bytes()?.to_vec(),
        };
        input.is_at_end().then_some(binary)
    }
}

fn write_layout(out: &mut Writer, layout: &Layout) {
    let Layout {
        bindings,
        push,
        push_bytes,
        bytes,
        threads,
        shared_bytes,
        spilled_bytes,
        report,
        waits,
        maps,
        maps_at,
        pairs,
    } = layout;
    out.list(bindings, |out, &Place { offset, inline }| {
        out.u64(offset);
        write_option(out, inline);
    });
    [*push, *bytes, *spilled_bytes].iter().for_each(|&number| out.u64(number));
    [*push_bytes, *threads, *shared_bytes].iter().for_each(|&number| out.u32(number));
    let Report { warnings, record_bytes, head_bytes, bytes } = report;
    out.list(warnings, |out, &Warning { format, at, count }| {
        out.u32(format);
        out.u64(at);
        out.u64(count as u64);
    });
    [*record_bytes, *head_bytes, *bytes].iter().for_each(|&number| out.u64(number));
    out.u32(u32::from(*waits));
    out.list(maps, |out, &Map { binding, element, stride, lines, span, box_lines }| {
        [binding, element, lines, span, box_lines].iter().for_each(|&number| out.u32(number));
        out.u64(stride.scale);
        write_option(out, stride.push);
    });
    out.u64(*maps_at);
    write_option(out, *pairs);
}

fn write_option(out: &mut Writer, number: Option<u32>) {
    out.u32(u32::from(number.is_some()));
    out.u32(number.unwrap_or(0));
}

fn read_option(input: &mut Reader<'_>) -> Option<Option<u32>> {
    let (is_some, number) = (input.flag()?, input.u32()?);
    (is_some || number == 0).then_some(is_some.then_some(number))
}

fn read_layout(input: &mut Reader<'_>) -> Option<Layout> {
    let place = |input: &mut Reader<'_>| Some(Place { offset: input.u64()?, inline: read_option(input)? });
    let warning = |input: &mut Reader<'_>| {
        Some(Warning { format: input.u32()?, at: input.u64()?, count: input.u64()?.try_into().ok()? })
    };
    let bindings = input.list(place)?;
    let [push, bytes, spilled_bytes] = [input.u64()?, input.u64()?, input.u64()?];
    let [push_bytes, threads, shared_bytes] = [input.u32()?, input.u32()?, input.u32()?];
    let warnings = input.list(warning)?;
    let [record_bytes, head_bytes, report_bytes] = [input.u64()?, input.u64()?, input.u64()?];
    let report = Report { warnings, record_bytes, head_bytes, bytes: report_bytes };
    let waits = input.flag()?;
    let maps = input.list(|input| {
        let [binding, element, lines] = [input.u32()?, input.u32()?, input.u32()?];
        let [span, box_lines] = [input.u32()?, input.u32()?];
        let stride = Stride { scale: input.u64()?, push: read_option(input)? };
        Some(Map { binding, element, stride, lines, span, box_lines })
    })?;
    let (maps_at, pairs) = (input.u64()?, read_option(input)?);
    Some(Layout {
        bindings,
        push,
        push_bytes,
        bytes,
        threads,
        shared_bytes,
        spilled_bytes,
        report,
        waits,
        maps,
        maps_at,
        pairs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use phalanx_ir::BindingKind;

    fn sample() -> Binary {
        let binding = |count| BindingInfo {
            set: 1,
            binding: 2,
            count,
            kind: BindingKind::Storage,
            writable: true,
            name: "data".into(),
        };
        let map = |push| Map {
            binding: 1,
            element: 2,
            stride: Stride { scale: 1 << 33, push },
            lines: 64,
            span: 128,
            box_lines: 32,
        };
        let warnings = vec![Warning { format: 3, at: 8, count: 2 }];
        let report = Report { warnings, record_bytes: 24, head_bytes: 32, bytes: 1 << 20 };
        let layout = Layout {
            bindings: vec![Place { offset: 64, inline: Some(3) }, Place { offset: 112, inline: None }],
            push: 128,
            push_bytes: 20,
            bytes: 160,
            threads: 256,
            shared_bytes: 1 << 16,
            spilled_bytes: 1 << 33,
            report,
            waits: true,
            maps: vec![map(Some(4)), map(None)],
            maps_at: 192,
            pairs: Some(1),
        };
        Binary {
            name: "main".into(),
            bindings: vec![binding(Some(3)), binding(None)],
            formats: vec!["a %d".into(), String::new()],
            workgroup_size: [8, 4, 2],
            layout,
            image: vec![1, 2, 3],
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
