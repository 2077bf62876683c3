//! Numbers and matrices in memory.

use crate::data::Ty;
use crate::laid::Laid;
use crate::slot::Slot;
use phalanx::vector::{Component, Conversion, MatrixForm, MatrixLayout, convert_matrix};

/// The type of a component in the words of a file test.
pub(super) fn ty(component: Component) -> Ty {
    Ty::from_name(name(component)).expect("file tests have every type")
}

/// Its name there.
pub(super) const fn name(component: Component) -> &'static str {
    match component {
        Component::S8 => "i8",
        Component::S32 => "i32",
        other => other.name(),
    }
}

/// A scalar of GLSL that holds one.
pub(super) const fn glsl(component: Component) -> &'static str {
    match component {
        Component::F16 => "float16_t",
        Component::F32 => "float",
        Component::S32 => "int",
        Component::U32 => "uint",
        Component::S8 => "int8_t",
        // 8-bit floats are in matrices only, whose buffers may be of any type.
        _ => "uint8_t",
    }
}

/// The name of a component type's constant in GLSL.
pub(super) const fn constant(component: Component, packed: bool) -> &'static str {
    match (component, packed) {
        (Component::F16, _) => "gl_ComponentTypeFloat16NV",
        (Component::F32, _) => "gl_ComponentTypeFloat32NV",
        (Component::E4m3, _) => "gl_ComponentTypeFloatE4M3NV",
        (Component::E5m2, _) => "gl_ComponentTypeFloatE5M2NV",
        (Component::S8, true) => "gl_ComponentTypeSignedInt8PackedNV",
        (Component::U8, true) => "gl_ComponentTypeUnsignedInt8PackedNV",
        (Component::S8, false) => "gl_ComponentTypeSignedInt8NV",
        (Component::U8, false) => "gl_ComponentTypeUnsignedInt8NV",
        (Component::S32, _) => "gl_ComponentTypeSignedInt32NV",
        (Component::U32, _) => "gl_ComponentTypeUnsignedInt32NV",
        (Component::Bf16, _) => "no such constant",
    }
}

/// The name of a layout's constant in GLSL.
pub(super) const fn layout(layout: MatrixLayout) -> &'static str {
    match layout {
        MatrixLayout::RowMajor => "gl_CooperativeVectorMatrixLayoutRowMajorNV",
        MatrixLayout::ColumnMajor => "gl_CooperativeVectorMatrixLayoutColumnMajorNV",
        // A program has but one name for what is best.
        MatrixLayout::Inferencing | MatrixLayout::Paired => {
            "gl_CooperativeVectorMatrixLayoutInferencingOptimalNV"
        }
        MatrixLayout::Training => "gl_CooperativeVectorMatrixLayoutTrainingOptimalNV",
    }
}

/// A list of numbers as a file test writes it.
pub(super) fn list(component: Component, numbers: &[f64]) -> String {
    let words: Vec<String> = numbers.iter().map(f64::to_string).collect();
    format!("{} [{}]", name(component), words.join(" "))
}

/// A list of bytes.
pub(super) fn byte_list(bytes: &[u8]) -> String {
    let words: Vec<String> = bytes.iter().map(u8::to_string).collect();
    format!("u8 [{}]", words.join(" "))
}

/// Writes a number at a place, and makes room for it.
pub(super) fn put(bytes: &mut Vec<u8>, at: usize, component: Component, number: f64) {
    let size = ty(component).bytes();
    bytes.resize(bytes.len().max(at + size), 0);
    bytes[at..at + size].copy_from_slice(&ty(component).bits(number).to_le_bytes()[..size]);
}

/// A matrix in memory, `rows` by `columns` there.
pub(super) struct Matrix {
    /// The type of the elements.
    pub(super) component: Component,
    /// Where they lie.
    pub(super) layout: MatrixLayout,
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Bytes from a row or a column to the next, where that is the program's.
    pub(super) stride: u32,
}

impl Matrix {
    /// Its bytes, up to a multiple of 64, which is what the next one must begin at; as many as any target takes for it.
    ///
    /// Element (r, c) is at `stride * r + size * c` by rows and at `stride * c + size * r` by columns; the optimal layouts
    /// are what the conversion of one by rows gives.
    pub(super) fn bytes(&self, element: impl Fn(u32, u32) -> f64) -> Vec<u8> {
        let size = ty(self.component).bytes() as u32;
        let stride = if self.layout.is_optimal() { self.columns * size } else { self.stride };
        let by_columns = self.layout == MatrixLayout::ColumnMajor;
        let mut bytes = Vec::new();
        for r in 0..self.rows {
            for c in 0..self.columns {
                let at = if by_columns { stride * c + size * r } else { stride * r + size * c };
                put(&mut bytes, at as usize, self.component, element(r, c));
            }
        }
        if self.layout.is_optimal() {
            bytes = self.converted(&bytes);
        }
        let laid = self.laid(0);
        bytes.resize(bytes.len().max(laid.map_or(0, |laid| laid.end())).next_multiple_of(64), 0);
        bytes
    }

    /// What it is at a place of the buffer 0.1, where targets have layouts of their own.
    pub(super) fn laid(&self, byte: usize) -> Option<Laid> {
        let slot = Slot { set: 0, binding: 1, index: 0 };
        let (component, rows, columns) = (self.component, self.rows, self.columns);
        (self.layout == MatrixLayout::Inferencing).then_some(Laid { slot, byte, component, rows, columns })
    }

    fn converted(&self, by_rows: &[u8]) -> Vec<u8> {
        let packed = MatrixForm::packed(self.component, MatrixLayout::RowMajor, self.rows, self.columns);
        let conversion = Conversion {
            rows: self.rows,
            columns: self.columns,
            source: packed,
            destination: MatrixForm::optimal(self.component, self.layout),
        };
        let mut bytes = vec![0; conversion.destination_bytes().expect("the matrix is small")];
        convert_matrix(&conversion, by_rows, &mut bytes).expect("the layouts are as the rules want them");
        bytes
    }
}
