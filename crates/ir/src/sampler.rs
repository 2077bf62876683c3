//! Samplers: how images are read at places between their texels and between their mip levels.

/// What a sampler says. The default takes the nearest texel, clamps to the edge, and limits nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sampler {
    /// Within a level, where the image is made smaller.
    pub min: Filter,
    /// Within a level, where the image is made larger.
    pub mag: Filter,
    /// Between levels.
    pub mip: Filter,
    /// What lies outside of the image, along x, y and z.
    pub address: [AddressMode; 3],
    /// Is added to the level of detail.
    pub lod_bias: f32,
    /// Least level of detail.
    pub min_lod: f32,
    /// Greatest level of detail.
    pub max_lod: f32,
    /// How a reference compares with texels; a sampler without it compares as [`CompareFunction::Never`].
    pub compare: Option<CompareFunction>,
    /// The components of texels outside, as [`Format::decode`](crate::texel::Format::decode) gives them.
    pub border: [u64; 4],
    /// How several texels become one.
    pub reduction: Reduction,
    /// Whether coordinates count texels, and do not reach from 0 to 1.
    pub unnormalized: bool,
}

impl Default for Sampler {
    fn default() -> Self {
        Self {
            min: Filter::Nearest,
            mag: Filter::Nearest,
            mip: Filter::Nearest,
            address: [AddressMode::ClampToEdge; 3],
            lod_bias: 0.0,
            min_lod: 0.0,
            max_lod: 1000.0,
            compare: None,
            border: [0; 4],
            reduction: Reduction::WeightedAverage,
            unnormalized: false,
        }
    }
}

/// Which texels, or levels, are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filter {
    /// The nearest one.
    Nearest,
    /// Those on both sides, by their distance.
    Linear,
}

/// What lies outside of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressMode {
    /// The image again.
    Repeat,
    /// The image again, every other time mirrored.
    MirroredRepeat,
    /// The texels of the edge.
    ClampToEdge,
    /// The border's colour.
    ClampToBorder,
    /// The image mirrored, once, and then the texels of the edge.
    MirrorClampToEdge,
}

/// What a reference has to be, compared with a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is named by what holds")]
pub enum CompareFunction {
    Never,
    Less,
    Equal,
    LessOrEqual,
    Greater,
    NotEqual,
    GreaterOrEqual,
    Always,
}

impl CompareFunction {
    /// Whether it holds.
    pub fn holds(self, reference: f32, texel: f32) -> bool {
        match self {
            Self::Never => false,
            Self::Less => reference < texel,
            Self::Equal => reference == texel,
            Self::LessOrEqual => reference <= texel,
            Self::Greater => reference > texel,
            Self::NotEqual => reference != texel,
            Self::GreaterOrEqual => reference >= texel,
            Self::Always => true,
        }
    }
}

/// How several texels become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// Their average, by their weights.
    WeightedAverage,
    /// The least of those that have a weight, of each component.
    Min,
    /// The greatest.
    Max,
}
