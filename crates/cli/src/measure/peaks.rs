//! What the machine can do at best.

use std::time::Duration;

use crate::data::DType;
use crate::runtime::Device;

/// Long enough for the best moments of a machine.
const DURATION: Duration = Duration::from_millis(250);

/// A rate that nothing can exceed, measured with independent instructions on registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peak {
    F32Fma,
    /// Of products of f16 whose sums are f16.
    F16Fma,
    Bf16Dot,
    I8Dot,
    /// Reading so many bytes again and again, each thread its part of them; the operations are bytes.
    Read(usize),
}

/// The rates of the machine, in 10⁹ operations a second.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peaks {
    pub(crate) f32_fma: f64,
    pub(crate) f16_fma: f64,
    pub(crate) bf16_dot: f64,
    pub(crate) i8_dot: f64,
}

impl Peak {
    /// The one for factors of a type on a device: a GPU's matrix units take f16 whatever the sums are.
    pub(crate) fn on(self, device: &Device, a: DType) -> Self {
        match a {
            _ if !device.is_gpu() => self,
            DType::F16 | DType::Bf16 => Self::F16Fma,
            DType::S8 | DType::U8 | DType::E4m3 | DType::E5m2 => Self::I8Dot,
            _ => self,
        }
    }
}

impl Peaks {
    pub(crate) fn measure(device: &Device) -> Self {
        Self {
            f32_fma: device.peak(Peak::F32Fma, DURATION),
            f16_fma: device.peak(Peak::F16Fma, DURATION),
            bf16_dot: device.peak(Peak::Bf16Dot, DURATION),
            i8_dot: device.peak(Peak::I8Dot, DURATION),
        }
    }

    pub(crate) fn describe(&self, device: &Device) -> String {
        let threads = device.info().threads;
        format!(
            "Peaks on {threads} threads, in 10⁹ operations a second: f32 {:.0} ({}), f16 {:.0} ({}), bf16 {:.0} ({}), 8-bit {:.0} ({})",
            self.f32_fma,
            device.peak_unit(Peak::F32Fma),
            self.f16_fma,
            device.peak_unit(Peak::F16Fma),
            self.bf16_dot,
            device.peak_unit(Peak::Bf16Dot),
            self.i8_dot,
            device.peak_unit(Peak::I8Dot),
        )
    }
}
