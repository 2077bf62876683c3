//! A module as MLIR's generic form has it.
//!
//! Whatever form an operation was written in, it stands here as `mlir-opt --mlir-print-op-generic` prints it: its full
//! name, its operands one behind the other with `operandSegmentSizes` where groups of them vary, properties and
//! attributes in one list, regions, successors. Only the parsers of custom forms know anything else.

/// A place in the text: both count from 1, the column in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pos {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A value of the module: an index into [`Ast::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ValueId(pub u32);

/// What is known of a value.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueDef {
    /// Its type.
    pub ty: Type,
    /// Its name in the text, without `%`, cut after 64 bytes; results of an operation with several have `#i` behind it.
    pub name: Box<str>,
    /// Where it is defined.
    pub pos: Pos,
}

/// A whole text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ast {
    /// The operations of the outermost level; a `builtin.module` is one of them if it is written.
    pub ops: Vec<Op>,
    /// All values of all regions.
    pub values: Vec<ValueDef>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Op {
    /// The full name, `dialect.name`.
    pub name: Box<str>,
    /// Where it stands in the text.
    pub pos: Pos,
    /// Where it comes from, if it says so.
    pub loc: Option<Location>,
    /// What it takes.
    pub operands: Vec<ValueId>,
    /// What it gives.
    pub results: Vec<ValueId>,
    /// Properties and attributes, in the order of the text.
    pub attrs: Vec<(Box<str>, Attr)>,
    /// Its regions.
    pub regions: Vec<Region>,
    /// Where a terminator goes.
    pub successors: Vec<Successor>,
}

/// A list of blocks, the entry first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// Operations behind one another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// Its arguments.
    pub args: Vec<ValueId>,
    /// Its operations, the terminator last; an implied one, as at the end of `scf.for` without results, is written out.
    pub ops: Vec<Op>,
}

/// A block that a terminator goes to, with what it hands over.
#[derive(Clone, Debug, PartialEq)]
pub struct Successor {
    /// The block's index in the region that the terminator stands in.
    pub block: usize,
    /// A value for each of its arguments. They are among the operands of the terminator too, as the generic form has it;
    /// only branches of `cf` hand values over.
    pub args: Vec<ValueId>,
}

/// Where an operation comes from (`loc(…)`), as far as a line can be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Location {
    /// The file.
    pub file: Box<str>,
    /// Line and column in it.
    pub pos: Pos,
}

/// How an integer type says its sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// `i32`
    None,
    /// `si32`
    Signed,
    /// `ui32`
    Unsigned,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub enum Type {
    /// `iN`, `siN`, `uiN`
    Int(u32, Sign),
    /// `index`
    Index,
    /// `f16`, `bf16`, `f32`, `f64`, `f8E4M3FN`, `f8E5M2`, `tf32` and so on: the name as written.
    Float(Box<str>),
    /// `(…) -> (…)`
    Function(Vec<Type>, Vec<Type>),
    /// `memref<…>`
    MemRef(Box<MemRef>),
    /// `vector<…>`; extents of a scalable dimension are not accepted by the parser.
    Vector(Vec<u64>, Box<Type>),
    /// `tensor<…>`: extents, `None` where dynamic, none at all where unranked.
    Tensor(Option<Vec<Option<u64>>>, Box<Type>),
    /// `tuple<…>`
    Tuple(Vec<Type>),
    /// `none`
    None,
    /// `!gpu.mma_matrix<RxCxT, "AOp">`
    Mma(Box<Mma>),
    /// Any other `!dialect.body`, the text behind `!`.
    Dialect(Box<str>),
}

/// `memref<4x?xf32, layout, space>`
#[derive(Clone, Debug, PartialEq)]
pub struct MemRef {
    /// The extents, `None` where dynamic; none at all where unranked (`*x`).
    pub shape: Option<Vec<Option<u64>>>,
    /// The type of elements.
    pub elem: Type,
    /// Where elements are.
    pub layout: Layout,
    /// The memory space: an integer or `#gpu.address_space<…>` and the like.
    pub space: Option<Attr>,
}

/// How indices of a memref become places, in elements.
#[derive(Clone, Debug, PartialEq)]
pub enum Layout {
    /// Row-major, dense.
    Identity,
    /// `strided<[…], offset: …>`, `None` where dynamic.
    Strided {
        /// The stride of each dimension.
        strides: Vec<Option<i64>>,
        /// The place of the first element.
        offset: Option<i64>,
    },
    /// `affine_map<…>`
    Map(AffineMap),
}

/// `!gpu.mma_matrix<RxCxT, "AOp">`
#[derive(Clone, Debug, PartialEq)]
pub struct Mma {
    /// Rows.
    pub rows: u64,
    /// Columns.
    pub columns: u64,
    /// The type of elements.
    pub elem: Type,
    /// `AOp`, `BOp` or `COp`.
    pub operand: Box<str>,
}

/// An attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Attr {
    /// `unit`, or a name without a value.
    Unit,
    /// `true`, `false`
    Bool(bool),
    /// `1 : i32`; without a type `i64`.
    Int(i128, Type),
    /// `1.0 : f32`, also in hexadecimal bits, which are converted; without a type `f64`.
    Float(f64, Type),
    /// `"text"`
    Str(Box<str>),
    /// `[…]`
    Array(Vec<Attr>),
    /// `array<i32: 1, 2>`, and of `i1` and floats.
    DenseArray(Type, Vec<Attr>),
    /// `dense<…> : type`: all elements, or the one that all are.
    Dense(Vec<Attr>, Type),
    /// `{…}`
    Dict(Vec<(Box<str>, Attr)>),
    /// `@a::@b`
    Symbol(Vec<Box<str>>),
    /// A type.
    Type(Type),
    /// `affine_map<…>`
    Map(AffineMap),
    /// `affine_set<…>`: a condition of `affine.if`.
    Set(AffineSet),
    /// Any other `#dialect.body`, the text behind `#`.
    Dialect(Box<str>),
}

/// `(d0, d1)[s0] -> (d0 + s0, d1 * 2)`
#[derive(Clone, Debug, PartialEq)]
pub struct AffineMap {
    /// Dimensions.
    pub dims: u32,
    /// Symbols.
    pub symbols: u32,
    /// Results.
    pub results: Vec<Affine>,
}

/// `(d0)[s0] : (d0 - 1 >= 0, s0 == 0)`
#[derive(Clone, Debug, PartialEq)]
pub struct AffineSet {
    /// Dimensions.
    pub dims: u32,
    /// Symbols.
    pub symbols: u32,
    /// Each expression must be zero (true) or not negative (false).
    pub constraints: Vec<(Affine, bool)>,
}

/// An expression of dimensions and symbols.
#[derive(Clone, Debug, PartialEq)]
pub enum Affine {
    /// `d0`
    Dim(u32),
    /// `s0`
    Symbol(u32),
    /// A constant.
    Const(i64),
    /// Sum; differences are sums with a factor of -1.
    Add(Box<Affine>, Box<Affine>),
    /// Product.
    Mul(Box<Affine>, Box<Affine>),
    /// Quotient rounded down.
    FloorDiv(Box<Affine>, Box<Affine>),
    /// Quotient rounded up.
    CeilDiv(Box<Affine>, Box<Affine>),
    /// Remainder, never negative.
    Mod(Box<Affine>, Box<Affine>),
}
