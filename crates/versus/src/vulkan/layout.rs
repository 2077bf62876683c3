//! Matrices for cooperative vectors in the layout that a driver likes best.

use vulkanalia::prelude::v1_3::*;
use vulkanalia::vk::NvCooperativeVectorExtensionDeviceCommands;

use super::{Vulkan, VulkanError};

/// What a matrix consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// binary16.
    F16,
    /// Bytes with a sign.
    S8,
}

impl Number {
    fn bytes(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::S8 => 1,
        }
    }

    fn component(self) -> vk::ComponentTypeKHR {
        match self {
            Self::F16 => vk::ComponentTypeKHR::FLOAT16,
            Self::S8 => vk::ComponentTypeKHR::SINT8,
        }
    }
}

impl Vulkan {
    /// A matrix of so many rows and columns, which is given row by row without gaps, in the layout that is optimal for
    /// inferencing (*vkConvertCooperativeVectorMatrixNV*).
    ///
    /// # Errors
    /// If the driver has no cooperative vectors, the bytes are not those of the matrix, or it fails.
    pub fn optimal(
        &self,
        number: Number,
        [rows, columns]: [u32; 2],
        plain: &[u8],
    ) -> Result<Vec<u8>, VulkanError> {
        const CALL: &str = "vkConvertCooperativeVectorMatrixNV";
        if !self.has_vectors {
            return Err(self.failed(CALL, "it has no cooperative vectors"));
        }
        let stride = columns as usize * number.bytes();
        if plain.len() != rows as usize * stride {
            return Err(self.failed(CALL, format!("{} bytes for {rows} rows of {stride}", plain.len())));
        }
        let mut size = 0;
        let mut info = vk::ConvertCooperativeVectorMatrixInfoNV {
            src_size: plain.len(),
            src_data: vk::DeviceOrHostAddressConstKHR { host_address: plain.as_ptr().cast() },
            dst_size: &raw mut size,
            src_component_type: number.component(),
            dst_component_type: number.component(),
            num_rows: rows,
            num_columns: columns,
            src_layout: vk::CooperativeVectorMatrixLayoutNV::ROW_MAJOR,
            src_stride: stride,
            dst_layout: vk::CooperativeVectorMatrixLayoutNV::INFERENCING_OPTIMAL,
            ..Default::default()
        };
        // SAFETY: the extension is on; without a destination only the size is written.
        unsafe { self.device.convert_cooperative_vector_matrix_nv(&info) }
            .map_err(|code| self.failed(CALL, code))?;
        let mut optimal = vec![0; size];
        info.dst_size = &raw mut size;
        info.dst_data = vk::DeviceOrHostAddressKHR { host_address: optimal.as_mut_ptr().cast() };
        // SAFETY: the source has the rows that are stated, the destination as many bytes as the driver wants.
        unsafe { self.device.convert_cooperative_vector_matrix_nv(&info) }
            .map_err(|code| self.failed(CALL, code))?;
        Ok(optimal)
    }
}
