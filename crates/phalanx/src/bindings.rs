//! Puts buffers, images and samplers where a shader wants them, and says what does not fit.

use std::fmt;
use std::ops::Range;

use phalanx_host::{Descriptor, ImageView, MemoryError, Part};
use phalanx_ir::{BindingInfo, BindingKind, ImageLayout, Sampler};

use crate::buffer::Buffer;

/// Offsets of bindings are multiples of this number of bytes.
pub const OFFSET_ALIGNMENT: u64 = 16;

/// A buffer, an image or a sampler at its place in a shader.
#[derive(Clone, Copy, Debug)]
pub struct Binding<'a> {
    /// Descriptor set.
    pub set: u32,
    /// Binding number in the set.
    pub binding: u32,
    /// Index in the descriptor array; 0 where there is none.
    pub index: u32,
    /// The buffer; none where there is only a sampler.
    pub buffer: Option<&'a Buffer>,
    /// First byte that the shader sees: a multiple of [`OFFSET_ALIGNMENT`].
    pub offset: u64,
    /// Bytes that the shader sees; all up to the end without it.
    pub size: Option<u64>,
    /// How texels lie in the buffer, where the shader has an image or a texel buffer.
    pub image: Option<&'a ImageLayout>,
    /// The sampler, where the shader has one, or an image with one.
    pub sampler: Option<&'a Sampler>,
}

impl<'a> Binding<'a> {
    /// A whole buffer at a binding.
    pub fn new(set: u32, binding: u32, buffer: &'a Buffer) -> Self {
        Self { buffer: Some(buffer), ..Self::nothing(set, binding) }
    }

    /// A sampler at a binding.
    pub fn of_sampler(set: u32, binding: u32, sampler: &'a Sampler) -> Self {
        Self { sampler: Some(sampler), ..Self::nothing(set, binding) }
    }

    /// The same at an index of a descriptor array.
    pub fn at_index(self, index: u32) -> Self {
        Self { index, ..self }
    }

    /// The same as an image.
    pub fn as_image(self, layout: &'a ImageLayout) -> Self {
        Self { image: Some(layout), ..self }
    }

    /// A binding with nothing at it yet.
    fn nothing(set: u32, binding: u32) -> Self {
        Self { set, binding, index: 0, buffer: None, offset: 0, size: None, image: None, sampler: None }
    }

    /// The same with a sampler, for an image that is read through it.
    pub fn with_sampler(self, sampler: &'a Sampler) -> Self {
        Self { sampler: Some(sampler), ..self }
    }

    /// Whether it is what a shader has. Texture and sampler may be two variables at the place of one image.
    fn is(&self, kind: BindingKind) -> bool {
        match kind {
            BindingKind::Storage | BindingKind::Uniform => self.image.is_none() && self.sampler.is_none(),
            BindingKind::Image(_) => self.buffer.is_some() && self.image.is_some(),
            BindingKind::Sampler => self.sampler.is_some(),
        }
    }

    fn place(&self) -> Place {
        Place { set: self.set, binding: self.binding, index: self.index }
    }
}

/// A place for a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// Descriptor set.
    pub set: u32,
    /// Binding number in the set.
    pub binding: u32,
    /// Index in the descriptor array.
    pub index: u32,
}

impl Place {
    /// Whether it is one of a shader's binding.
    fn is_of(&self, info: &BindingInfo) -> bool {
        (info.set, info.binding) == (self.set, self.binding)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.set, self.binding)?;
        if self.index != 0 { write!(f, "[{}]", self.index) } else { Ok(()) }
    }
}

/// Buffers that do not fit the shader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingError {
    /// What does not fit.
    pub problem: BindingProblem,
    /// What the shader has.
    pub expected: Vec<BindingInfo>,
    /// What was bound.
    pub found: Vec<Place>,
}

/// What does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BindingProblem {
    /// Nothing is bound where the shader reads or writes.
    Missing(Place),
    /// Something is bound where the shader has nothing.
    Unknown(Place),
    /// Something is bound beyond the end of a descriptor array.
    Index(Place),
    /// Two buffers are bound at one place.
    Twice(Place),
    /// An offset is no multiple of [`OFFSET_ALIGNMENT`].
    Alignment(Place, u64),
    /// Of a buffer, an image and a sampler, one is bound and the shader has another.
    Kind(Place),
    /// A range lies outside of its buffer.
    Range(Place, MemoryError),
}

impl fmt::Display for BindingProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(place) => write!(f, "nothing is bound at {place}"),
            Self::Unknown(place) => write!(f, "a buffer is bound at {place}, where the shader has none"),
            Self::Index(place) => write!(f, "a buffer is bound at {place}, beyond the end of the array"),
            Self::Twice(place) => write!(f, "two buffers are bound at {place}"),
            Self::Alignment(place, offset) => {
                write!(f, "the offset {offset} at {place} is no multiple of {OFFSET_ALIGNMENT}")
            }
            Self::Kind(place) => {
                write!(
                    f,
                    "of a buffer, an image and a sampler, the shader has one at {place}, and another is bound"
                )
            }
            Self::Range(place, error) => write!(f, "at {place}: {error}"),
        }
    }
}

impl fmt::Display for BindingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; expected ", self.problem)?;
        list(f, &self.expected, describe)?;
        f.write_str("; found ")?;
        list(f, &self.found, |f, place| place.fmt(f))
    }
}

impl std::error::Error for BindingError {}

fn list<T>(
    f: &mut fmt::Formatter<'_>,
    items: &[T],
    write: impl Fn(&mut fmt::Formatter<'_>, &T) -> fmt::Result,
) -> fmt::Result {
    if items.is_empty() {
        return f.write_str("none");
    }
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            f.write_str(", ")?;
        }
        write(f, item)?;
    }
    Ok(())
}

fn describe(f: &mut fmt::Formatter<'_>, info: &BindingInfo) -> fmt::Result {
    let kind = info.kind.name();
    write!(f, "{}:{} ({kind}", info.set, info.binding)?;
    match info.count {
        Some(1) => {}
        Some(count) => write!(f, ", {count} elements")?,
        None => f.write_str(", any number of elements")?,
    }
    if !info.name.is_empty() {
        write!(f, " `{}`", info.name.escape_debug())?;
    }
    f.write_str(")")
}

/// The images among what is bound, by number; empty if there are none. A range that lies outside of its buffer is found later.
pub(crate) fn views<'a>(bound: &[Binding<'a>]) -> Vec<Option<ImageView<'a>>> {
    if bound.iter().all(|binding| binding.image.is_none()) {
        return Vec::new();
    }
    let view = |binding: &Binding<'a>| {
        let layout = binding.image?.clone();
        let memory = binding.buffer?.memory();
        let view = ImageView::new(memory, binding.offset, binding.size, layout).ok()?;
        Some(match binding.sampler {
            Some(sampler) => view.with_sampler(*sampler),
            None => view,
        })
    };
    bound.iter().map(view).collect()
}

/// The memory of a binding; nothing where there is none, or none of that size.
pub(crate) fn part<'a>(binding: &Binding<'a>) -> Part<'a> {
    let part = binding.buffer.and_then(|buffer| buffer.memory().part(binding.offset, binding.size).ok());
    part.unwrap_or_default()
}

/// The descriptors of the bindings of shaders: a table for each, one behind the other, as many dispatches need few blocks of
/// memory so.
#[derive(Debug, Default)]
pub(crate) struct Tables<'a> {
    descriptors: Vec<Descriptor<'a>>,
    /// Where each table ends.
    ends: Vec<usize>,
}

impl<'a> Tables<'a> {
    /// The tables of one shader.
    pub(crate) fn of(
        expected: &[BindingInfo],
        declared: &[(u32, u32)],
        bound: &[Binding<'a>],
        views: &'a [Option<ImageView<'a>>],
    ) -> Result<Self, BindingError> {
        let mut tables = Self::default();
        tables.add(expected, declared, bound, views)?;
        Ok(tables)
    }

    /// All tables.
    pub(crate) fn slices(&self) -> Vec<&[Descriptor<'a>]> {
        let mut start = 0;
        let table = |&end: &usize| &self.descriptors[std::mem::replace(&mut start, end)..end];
        self.ends.iter().map(table).collect()
    }

    /// Adds a table for each binding of a shader, in the shader's order, and gives their numbers; none if something does not
    /// fit. What is bound at places that only other entry points of the module use (`declared`) is left out.
    pub(crate) fn add(
        &mut self,
        expected: &[BindingInfo],
        declared: &[(u32, u32)],
        bound: &[Binding<'a>],
        views: &'a [Option<ImageView<'a>>],
    ) -> Result<Range<usize>, BindingError> {
        let (descriptors, first) = (self.descriptors.len(), self.ends.len());
        match self.resolve(expected, declared, bound, views) {
            Ok(()) => Ok(first..self.ends.len()),
            Err(problem) => {
                self.descriptors.truncate(descriptors);
                self.ends.truncate(first);
                let found = bound.iter().map(Binding::place).collect();
                Err(BindingError { problem, expected: expected.to_vec(), found })
            }
        }
    }

    fn resolve(
        &mut self,
        expected: &[BindingInfo],
        declared: &[(u32, u32)],
        bound: &[Binding<'a>],
        views: &'a [Option<ImageView<'a>>],
    ) -> Result<(), BindingProblem> {
        for (number, binding) in bound.iter().enumerate() {
            let place = binding.place();
            if bound[..number].iter().any(|other| other.place() == place) {
                return Err(BindingProblem::Twice(place));
            }
            let is_known = expected.iter().any(|info| place.is_of(info));
            if !is_known && !declared.contains(&(place.set, place.binding)) {
                return Err(BindingProblem::Unknown(place));
            }
            if !is_known {
                descriptor(binding)?;
            }
        }
        // Several variables may share a place.
        for info in expected {
            let start = self.descriptors.len();
            for (number, binding) in bound.iter().enumerate().filter(|(_, it)| it.place().is_of(info)) {
                let place = binding.place();
                let mut descriptor = descriptor(binding)?;
                if let Some(Some(view)) = views.get(number) {
                    descriptor = Descriptor::image(view);
                }
                if !binding.is(info.kind) {
                    return Err(BindingProblem::Kind(place));
                }
                if place.index >= info.count.unwrap_or(MAX_DESCRIPTORS).min(MAX_DESCRIPTORS) {
                    return Err(BindingProblem::Index(place));
                }
                let at = start + place.index as usize;
                if self.descriptors.len() <= at {
                    self.descriptors.resize(at + 1, Descriptor::default());
                }
                self.descriptors[at] = descriptor;
            }
            if self.descriptors.len() == start && info.count != Some(0) {
                return Err(BindingProblem::Missing(Place {
                    set: info.set,
                    binding: info.binding,
                    index: 0,
                }));
            }
            self.ends.push(self.descriptors.len());
        }
        Ok(())
    }
}

fn descriptor<'a>(binding: &Binding<'a>) -> Result<Descriptor<'a>, BindingProblem> {
    if !binding.offset.is_multiple_of(OFFSET_ALIGNMENT) {
        return Err(BindingProblem::Alignment(binding.place(), binding.offset));
    }
    let Some(buffer) = binding.buffer else {
        return Ok(binding.sampler.map_or_else(Descriptor::default, Descriptor::sampler));
    };
    let described = buffer.memory().descriptor(binding.offset, binding.size);
    described.map_err(|range| BindingProblem::Range(binding.place(), range))
}

/// Longest descriptor array.
const MAX_DESCRIPTORS: u32 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn info(binding: u32, count: Option<u32>) -> BindingInfo {
        BindingInfo {
            set: 0,
            binding,
            count,
            kind: BindingKind::Storage,
            writable: true,
            name: format!("b{binding}"),
        }
    }

    fn problem(bound: &[Binding<'_>]) -> BindingProblem {
        let expected = [info(0, Some(1)), info(1, Some(4))];
        Tables::of(&expected, &[(0, 7)], bound, &[]).unwrap_err().problem
    }

    #[test]
    fn what_fits_is_put_in_order() {
        let [a, b] = [16, 64].map(|size| Buffer::with_size(size).unwrap());
        let bound = [
            Binding::new(0, 1, &b).at_index(2),
            Binding { offset: 16, ..Binding::new(0, 1, &b) },
            Binding::new(0, 7, &a),
            Binding::new(0, 0, &a),
        ];
        let tables = Tables::of(&[info(0, Some(1)), info(1, None)], &[(0, 7)], &bound, &[]).unwrap();
        assert_eq!(tables.slices().iter().map(|table| table.len()).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn variables_may_share_a_place() {
        let buffer = Buffer::with_size(16).unwrap();
        let expected = [info(0, Some(1)), info(0, Some(1))];
        let tables = Tables::of(&expected, &[], &[Binding::new(0, 0, &buffer)], &[]).unwrap();
        assert_eq!(tables.slices().iter().map(|table| table.len()).collect::<Vec<_>>(), [1, 1]);
    }

    #[test]
    fn what_does_not_fit_leaves_nothing_behind() {
        let [a, b] = [16, 64].map(|size| Buffer::with_size(size).unwrap());
        let (first, second) = ([Binding::new(0, 0, &a)], [Binding::new(0, 0, &b)]);
        let expected = [info(0, Some(1)), info(1, Some(4))];
        let mut tables = Tables::default();
        assert_eq!(tables.add(&expected[..1], &[], &first, &[]), Ok(0..1));
        assert!(tables.add(&expected, &[], &second, &[]).is_err());
        assert_eq!(tables.add(&expected[..1], &[], &second, &[]), Ok(1..2));
        let sizes: Vec<_> = tables.slices().iter().map(|table| table[0].buffer().size()).collect();
        assert_eq!(sizes, [16, 64]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let buffer = Buffer::with_size(16).unwrap();
        let (a, b) = (Binding::new(0, 0, &buffer), Binding::new(0, 1, &buffer));
        let place = |binding, index| Place { set: 0, binding, index };
        assert_eq!(problem(&[a]), BindingProblem::Missing(place(1, 0)));
        assert_eq!(problem(&[a, b, Binding::new(0, 2, &buffer)]), BindingProblem::Unknown(place(2, 0)));
        assert_eq!(problem(&[a, b.at_index(4)]), BindingProblem::Index(place(1, 4)));
        assert_eq!(problem(&[a, b, a]), BindingProblem::Twice(place(0, 0)));
        let odd = Binding { offset: 8, ..a };
        assert_eq!(problem(&[odd, b]), BindingProblem::Alignment(place(0, 0), 8));
        let outside = Binding { offset: 16, size: Some(1), ..a };
        assert!(matches!(problem(&[outside, b]), BindingProblem::Range(..)));
        let layout = ImageLayout::buffer(phalanx_ir::Format::R8Uint, 16);
        assert_eq!(problem(&[a.as_image(&layout), b]), BindingProblem::Kind(place(0, 0)));
        let sampler = Sampler::default();
        assert_eq!(problem(&[a.with_sampler(&sampler), b]), BindingProblem::Kind(place(0, 0)));
        assert_eq!(problem(&[Binding::of_sampler(0, 0, &sampler), b]), BindingProblem::Kind(place(0, 0)));
    }

    #[test]
    fn the_message_lists_both_sides() {
        let buffer = Buffer::with_size(16).unwrap();
        let bound = [Binding::new(3, 5, &buffer).at_index(1)];
        let error = Tables::of(&[info(0, Some(1)), info(1, None)], &[], &bound, &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "a buffer is bound at 3:5[1], where the shader has none; expected 0:0 (storage `b0`), \
             0:1 (storage, any number of elements `b1`); found 3:5[1]"
        );
    }
}
