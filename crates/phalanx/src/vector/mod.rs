//! Matrices for cooperative vectors: where their elements lie, and how to bring them there.
//!
//! A network's weights come by rows. [`convert_matrix`] brings them to the layout that multiplying is fastest from
//! ([`MatrixLayout::Inferencing`]), or that adding to is ([`MatrixLayout::Training`]), and back:
//!
//! ```
//! use phalanx::vector::{Component, Conversion, MatrixForm, MatrixLayout, convert_matrix};
//!
//! // 3 rows of 2 elements, without gaps.
//! let weights: Vec<u8> = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].iter().flat_map(|x| x.to_le_bytes()).collect();
//! let conversion = Conversion {
//!     rows: 3,
//!     columns: 2,
//!     source: MatrixForm::packed(Component::F32, MatrixLayout::RowMajor, 3, 2),
//!     destination: MatrixForm::optimal(Component::F16, MatrixLayout::Inferencing),
//! };
//! let mut converted = vec![0; conversion.destination_bytes()?];
//! convert_matrix(&conversion, &weights, &mut converted)?;
//! # Ok::<(), phalanx::vector::ConversionError>(())
//! ```
//!
//! Which layout multiplying is fastest from is a property of a device: [`Conversion::on`] says it in a conversion that names
//! [`MatrixLayout::Inferencing`]. Processors, and the interpreter, have the layout of that name; a GPU has another one, with
//! another size. So a matrix in it is for devices of one kind, and goes from one kind to the other by a conversion to rows.

mod convert;
mod turns;
mod types;

pub use convert::{Conversion, ConversionError, MatrixForm, Side, convert_matrix};
pub use phalanx_ir::{Component, MatrixLayout};
pub use types::{VectorTypes, vector_types};
