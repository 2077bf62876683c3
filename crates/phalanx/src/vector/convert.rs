//! Conversion of matrices between layouts and component types, by the rules of `vkConvertCooperativeVectorMatrixNV`.

use std::fmt;

use phalanx_ir::{Component, MatrixLayout, Scalar};
use phalanx_kernels::{Elem, Isa, Relayout, RelayoutParams};

use super::turns;
use crate::info::DeviceInfo;

/// What the elements of a matrix are and how they lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatrixForm {
    /// The type of the elements.
    pub component: Component,
    /// Where they lie.
    pub layout: MatrixLayout,
    /// Bytes from a row to the next (from a column to the next in column-major): a multiple of the element, and no
    /// less than a row. Optimal layouts have their own and take no notice of this one.
    pub stride: u64,
}

impl MatrixForm {
    /// A layout that is the implementation's, or rows or columns whose stride is still to be set.
    #[must_use]
    pub const fn optimal(component: Component, layout: MatrixLayout) -> Self {
        Self { component, layout, stride: 0 }
    }

    /// Rows or columns without gaps.
    #[must_use]
    pub const fn packed(component: Component, layout: MatrixLayout, rows: u32, columns: u32) -> Self {
        let length = if matches!(layout, MatrixLayout::ColumnMajor) { rows } else { columns };
        Self { component, layout, stride: length as u64 * component.scalar().bytes() as u64 }
    }

    /// Bytes that a matrix of this form takes, which depends on nothing else: up to the end of the last element in rows
    /// and columns, a multiple of 64 in the optimal layouts.
    ///
    /// # Errors
    ///
    /// [`ConversionError::TooLarge`] where that is beyond what can be addressed.
    pub fn bytes(&self, rows: u32, columns: u32) -> Result<usize, ConversionError> {
        let bytes = self.layout.bytes(self.component, rows, columns, self.stride);
        let bytes = if rows == 0 || columns == 0 { Some(0) } else { bytes };
        let bytes = bytes.filter(|&bytes| isize::try_from(bytes).is_ok());
        bytes.map(|bytes| bytes as usize).ok_or(ConversionError::TooLarge { rows, columns })
    }

    /// The same on a device, whose own the layout is that is best for multiplying.
    #[must_use]
    pub const fn on(self, device: &DeviceInfo) -> Self {
        match self.layout {
            MatrixLayout::Inferencing => Self { layout: device.inferencing, ..self },
            _ => self,
        }
    }

    /// Whether columns are consecutive elements instead of rows.
    const fn by_columns(&self) -> bool {
        matches!(self.layout, MatrixLayout::ColumnMajor)
    }

    /// The number of lines, rows or columns, and the elements of each.
    const fn lines(&self, rows: u32, columns: u32) -> (u32, u32) {
        if self.by_columns() { (columns, rows) } else { (rows, columns) }
    }

    /// What an element in memory is.
    const fn elem(&self) -> Elem {
        elem(self.layout.kept(self.component))
    }

    /// VUID-VkConvertCooperativeVectorMatrixInfoNV-srcLayout-10077 and -dstLayout-10078, which say *greater than* a row.
    /// A row without a gap behind it is what the conformance suite passes, and means.
    fn check(&self, side: Side, rows: u32, columns: u32) -> Result<(), ConversionError> {
        if self.layout.is_optimal() {
            return Ok(());
        }
        let element = u64::from(self.component.scalar().bytes());
        let (_, length) = self.lines(rows, columns);
        let line = u64::from(length) * element;
        if self.stride < line || !self.stride.is_multiple_of(element) {
            return Err(ConversionError::Stride { side, line, element, found: self.stride });
        }
        Ok(())
    }
}

/// A matrix that is converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    /// Rows of the matrix.
    pub rows: u32,
    /// Columns of the matrix.
    pub columns: u32,
    /// As it is.
    pub source: MatrixForm,
    /// As it shall be.
    pub destination: MatrixForm,
}

/// One of the matrices of a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// The one that is read.
    Source,
    /// The one that is written.
    Destination,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Destination => "destination",
        })
    }
}

/// Why a matrix is not converted. Nothing has been written then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConversionError {
    /// Two types between which there is no conversion.
    #[error("no conversion from {from} to {to}: one has to be f32 or f16, the other a less precise float", from = from.name(), to = to.name())]
    Components {
        /// The source's.
        from: Component,
        /// The destination's.
        to: Component,
    },
    /// 8-bit floats by rows or columns, which can be read but not written.
    #[error("a destination of {component} is in an optimal layout, found {layout}", component = component.name(), layout = layout.name())]
    Float8Layout {
        /// The type.
        component: Component,
        /// The layout.
        layout: MatrixLayout,
    },
    /// Rows or columns that overlap, or do not begin at elements.
    #[error("the {side}'s stride: expected at least {line} bytes and a multiple of {element}, found {found}")]
    Stride {
        /// Whose.
        side: Side,
        /// Bytes of a row or column.
        line: u64,
        /// Bytes of an element.
        element: u64,
        /// The stride.
        found: u64,
    },
    /// A matrix that no memory holds.
    #[error("a matrix of {rows} x {columns} with this stride is too large to be addressed")]
    TooLarge {
        /// Rows.
        rows: u32,
        /// Columns.
        columns: u32,
    },
    /// Fewer bytes than the matrix has.
    #[error("the {side} takes {expected} bytes, found {found}")]
    Size {
        /// Which matrix.
        side: Side,
        /// Bytes of the matrix.
        expected: usize,
        /// Bytes given.
        found: usize,
    },
}

impl Conversion {
    /// The same on a device: [`MatrixLayout::Inferencing`] is the layout that its kernels have by this name.
    #[must_use]
    pub const fn on(self, device: &DeviceInfo) -> Self {
        Self { source: self.source.on(device), destination: self.destination.on(device), ..self }
    }

    /// Bytes of the source, as [`MatrixForm::bytes`] counts them.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn source_bytes(&self) -> Result<usize, ConversionError> {
        self.source.bytes(self.rows, self.columns)
    }

    /// Bytes that the destination needs, as [`MatrixForm::bytes`] counts them.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn destination_bytes(&self) -> Result<usize, ConversionError> {
        self.destination.bytes(self.rows, self.columns)
    }

    /// Checks everything but the sizes of the memory.
    ///
    /// # Errors
    ///
    /// What is wrong with the types, layouts and strides.
    pub fn check(&self) -> Result<(), ConversionError> {
        let (from, to) = (self.source.component, self.destination.component);
        if !converts(from, to) {
            return Err(ConversionError::Components { from, to });
        }
        // VUID-VkConvertCooperativeVectorMatrixInfoNV-dstComponentType-10082
        let layout = self.destination.layout;
        if matches!(to, Component::E4m3 | Component::E5m2) && !layout.is_optimal() {
            return Err(ConversionError::Float8Layout { component: to, layout });
        }
        self.source.check(Side::Source, self.rows, self.columns)?;
        self.destination.check(Side::Destination, self.rows, self.columns)
    }

    /// The movement of lines that it is.
    fn relayout(&self) -> Result<Relayout, ConversionError> {
        self.check()?;
        let (rows, columns, source, destination) = (self.rows, self.columns, self.source, self.destination);
        let (lines, length) = destination.lines(rows, columns);
        let (to, component) = (destination.elem(), destination.component);
        // What has been of the type already is a value of it.
        let is_rounded = to != elem(component.scalar()) && component != source.component;
        let round = is_rounded.then_some(elem(component.scalar()));
        let stride = |form: MatrixForm| form.layout.stride(form.component, columns, form.stride);
        let too_large = ConversionError::TooLarge { rows, columns };
        Relayout::new(RelayoutParams {
            lines: lines as usize,
            length: length as usize,
            from: source.elem(),
            to,
            round,
            across: source.by_columns() != destination.by_columns(),
            src_stride: usize::try_from(stride(source)).unwrap_or(usize::MAX),
            dst_stride: usize::try_from(stride(destination)).unwrap_or(usize::MAX),
            padded: destination.layout.is_optimal(),
        })
        .ok_or(too_large)
    }

    /// Converts a matrix in memory that no slice can be had of, by so many threads if it is large.
    ///
    /// # Errors
    ///
    /// As for [`Self::check`].
    ///
    /// # Safety
    ///
    /// [`Self::source_bytes`] can be read from `src` and [`Self::destination_bytes`] written from `dst`. Where they
    /// overlap, or other threads write them, what is written is not specified.
    pub unsafe fn run_raw(
        &self,
        src: *const u8,
        dst: *mut u8,
        threads: usize,
    ) -> Result<(), ConversionError> {
        let relayout = self.relayout()?;
        let (isa, bytes) = (Isa::native(), self.destination_bytes()?);
        if bytes == 0 {
            return Ok(());
        }
        let used = relayout.destination_bytes().min(bytes);
        // SAFETY: as this function's.
        unsafe { dst.add(used).write_bytes(0, bytes - used) };
        // Rows that take turns go through memory where they are one behind the other.
        let stride = |form: MatrixForm| match form.layout {
            MatrixLayout::Paired => Some(form.layout.stride(form.component, self.columns, 0) as usize),
            _ => None,
        };
        let [from_turns, to_turns] = [self.source, self.destination].map(stride);
        let mut plain = Vec::new();
        let mut src = src;
        if let Some(stride) = from_turns {
            plain.resize(self.source_bytes()?, 0);
            // SAFETY: there is an even number of rows in the source, and as many bytes in the copy.
            unsafe { turns::copy(src, plain.as_mut_ptr(), stride, plain.len() / stride / 2, false) };
            src = plain.as_ptr();
        }
        let lines = relayout.lines();
        let threads = threads.clamp(1, bytes / BYTES_OF_A_THREAD + 1);
        let part = lines.div_ceil(threads).next_multiple_of(LINES_OF_A_PART);
        let [from, to] = [src.expose_provenance(), dst.expose_provenance()];
        let run = |first: usize| {
            let (src, dst) =
                (std::ptr::with_exposed_provenance(from), std::ptr::with_exposed_provenance_mut(to));
            let part = first..first.saturating_add(part).min(lines);
            // SAFETY: as this function's; parts are of different lines.
            unsafe { relayout.run_lines(isa, src, dst, part.clone()) };
            let Some(stride) = to_turns else { return };
            let mut rows = vec![0; 2 * stride];
            for pair in (part.start..part.end).step_by(2) {
                // SAFETY: parts begin with pairs, and there is an even number of rows in the destination.
                let pair = unsafe { dst.add(pair * stride) };
                // SAFETY: as before; the copy is as large as a pair.
                unsafe { std::ptr::copy_nonoverlapping(pair, rows.as_mut_ptr(), rows.len()) };
                // SAFETY: as before.
                unsafe { turns::copy(rows.as_ptr(), pair, stride, 1, true) };
            }
        };
        std::thread::scope(|scope| {
            for first in (part..lines).step_by(part) {
                let thread = std::thread::Builder::new();
                // A thread that cannot be had is done without.
                if thread.spawn_scoped(scope, move || run(first)).is_err() {
                    run(first);
                }
            }
            run(0);
        });
        Ok(())
    }
}

/// Less is not worth a thread.
const BYTES_OF_A_THREAD: usize = 1 << 20;

/// Lines that a kernel takes at once at most.
const LINES_OF_A_PART: usize = 128;

/// Converts a matrix: the source's elements, rounded to nearest even where the destination's are less precise, in the
/// places of the destination. Values beyond the largest become infinity, or NaN in e4m3, which has none. The padding of
/// optimal layouts becomes zero; bytes between rows or columns stay as they are.
///
/// # Errors
///
/// What is wrong with the conversion, or a slice that is too short. Nothing has been written then.
pub fn convert_matrix(conversion: &Conversion, src: &[u8], dst: &mut [u8]) -> Result<(), ConversionError> {
    conversion.check()?;
    let sizes = [
        (Side::Source, conversion.source_bytes()?, src.len()),
        (Side::Destination, conversion.destination_bytes()?, dst.len()),
    ];
    for (side, expected, found) in sizes {
        if found < expected {
            return Err(ConversionError::Size { side, expected, found });
        }
    }
    // SAFETY: the slices are as long as the matrices, and do not overlap.
    unsafe { conversion.run_raw(src.as_ptr(), dst.as_mut_ptr(), 1) }
}

/// VUID-VkConvertCooperativeVectorMatrixInfoNV-srcComponentType-10081: from and to f32 and f16, the other a less precise
/// float; or no change.
fn converts(from: Component, to: Component) -> bool {
    let less = |a: Component, b: Component| {
        matches!(a, Component::F32 | Component::F16) && b.is_float() && precision(b) < precision(a)
    };
    from == to || less(from, to) || less(to, from)
}

/// Bits of a float's significand.
const fn precision(component: Component) -> u32 {
    match component {
        Component::F32 => 24,
        Component::F16 => 11,
        Component::Bf16 => 8,
        Component::E4m3 => 4,
        Component::E5m2 => 3,
        Component::S8 | Component::U8 | Component::S32 | Component::U32 => 0,
    }
}

/// The scalar that elements are kept as, as the kernels name it.
const fn elem(scalar: Scalar) -> Elem {
    match scalar {
        Scalar::F16 => Elem::F16,
        Scalar::F32 => Elem::F32,
        Scalar::BF16 => Elem::BF16,
        Scalar::E4M3 => Elem::E4M3,
        Scalar::E5M2 => Elem::E5M2,
        Scalar::I8 => Elem::I8,
        _ => Elem::I32,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
