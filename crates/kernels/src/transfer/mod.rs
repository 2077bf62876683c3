//! Moving matrices between user memory and tiles.
//!
//! Element (r, c) of a row-major matrix is at byte `offset + r * stride + c * size` of the buffer, of a
//! column-major one with r and c exchanged. A *line* is a row or a column, whichever is contiguous. Elements
//! outside the buffer read as zero and are not written.

pub(crate) mod bounds;
pub(crate) mod lanes;
pub(crate) mod load;
pub(crate) mod store;
pub(crate) mod tensor;

use crate::elem::Elem;
use crate::layout::TileLayout;

/// The static parameters of a load or store.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub struct Access {
    /// Layout of the tile.
    pub layout: TileLayout,
    /// Whether columns are contiguous in memory instead of rows.
    pub column_major: bool,
    path: Path,
    zero: [u8; 2],
}

/// How words of the tile come from the lines of memory.
#[repr(u8)]
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, bytemuck::NoUninit)]
pub(crate) enum Path {
    /// One element at a time.
    Scalar,
    /// Words are widened elements.
    Widen,
    /// Words are consecutive bytes of a line.
    Bytes,
    /// Words are made of one element each of two lines.
    Zip2,
    /// Words are made of one element each of four lines.
    Zip4,
    /// Words are made of two bytes each of two lines.
    ZipBytes,
}

/// Where in memory a large factor came from, kept behind its elements for who wants to know where the next comes
/// from. Only a hint: what else is written to a tile leaves anything there.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Source {
    /// Address of the first line.
    pub(crate) first: *const u8,
    /// Bytes from a line to the next.
    pub(crate) stride: i64,
    /// How many lines.
    pub(crate) lines: u32,
    /// Bytes of a line.
    pub(crate) bytes: u32,
}

impl Access {
    /// Parameters for this tile and order of elements in memory.
    #[must_use]
    pub const fn new(layout: TileLayout, column_major: bool) -> Self {
        Self { layout, column_major, path: path(&layout, column_major), zero: [0; 2] }
    }

    /// Number of lines and elements in each.
    #[inline(always)]
    pub(crate) const fn lines(&self) -> (usize, usize) {
        let (rows, cols) = (self.layout.rows as usize, self.layout.cols as usize);
        if self.column_major { (cols, rows) } else { (rows, cols) }
    }
}

/// Words hold `4 / size` elements of neighbouring columns, or rows where the layout interleaves. Lines in that
/// direction give words as they are, lines across it must be zipped.
const fn path(layout: &TileLayout, column_major: bool) -> Path {
    let il = layout.interleave as usize;
    match layout.storage {
        Elem::F32 | Elem::I32 => Path::Widen,
        Elem::F64 | Elem::I64 => {
            if column_major {
                Path::Scalar
            } else {
                Path::Bytes
            }
        }
        _ => {
            let pack = layout.pack();
            if il != 1 && il != pack {
                // Pairs of bytes, made only without a byte dot product. Those of columns are 16-bit elements.
                let is_even = if column_major { layout.rows } else { layout.cols }.is_multiple_of(2);
                return match (is_even, column_major) {
                    (false, _) => Path::Scalar,
                    (true, false) => Path::ZipBytes,
                    (true, true) => Path::Zip2,
                };
            }
            let along_lines = column_major == (il > 1);
            match (along_lines, pack) {
                (true, _) => Path::Bytes,
                (false, 2) => Path::Zip2,
                (false, _) => Path::Zip4,
            }
        }
    }
}
