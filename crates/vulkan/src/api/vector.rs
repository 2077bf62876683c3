//! Matrices for cooperative vectors (`VK_NV_cooperative_vector`): the types that they are multiplied with, and the
//! conversions that bring them to where they are read from.

use phalanx::vector::{Component, Conversion, ConversionError, MatrixForm, MatrixLayout, VectorTypes};
use vulkanalia_sys as vk;

use super::command::record;
use super::entry::{self, entries};
use super::{chain, dispatchable};
use crate::core::command::{Command, ConvertMatrix};
use crate::core::device::Device;
use crate::core::instance::PhysicalDevice;

/// A row of `vkGetPhysicalDeviceCooperativeVectorPropertiesNV`.
fn row(types: &VectorTypes) -> vk::CooperativeVectorPropertiesNV {
    let packed = match types.interpretation {
        Component::S8 => vk::ComponentTypeKHR::SINT8_PACKED_NV,
        _ => vk::ComponentTypeKHR::UINT8_PACKED_NV,
    };
    vk::CooperativeVectorPropertiesNV {
        input_type: component(types.input),
        input_interpretation: if types.packed { packed } else { component(types.interpretation) },
        matrix_interpretation: component(types.matrix),
        bias_interpretation: component(types.bias),
        result_type: component(types.result),
        transpose: vk::Bool32::from(types.transpose),
        ..Default::default()
    }
}

/// The component types that have a name in Vulkan and in the library.
const COMPONENTS: [(Component, vk::ComponentTypeKHR); 9] = [
    (Component::F16, vk::ComponentTypeKHR::FLOAT16),
    (Component::F32, vk::ComponentTypeKHR::FLOAT32),
    (Component::Bf16, vk::ComponentTypeKHR::BFLOAT16),
    // The same number as `VK_COMPONENT_TYPE_FLOAT_E4M3_NV`, and so below.
    (Component::E4m3, vk::ComponentTypeKHR::FLOAT8_E4M3_EXT),
    (Component::E5m2, vk::ComponentTypeKHR::FLOAT8_E5M2_EXT),
    (Component::S8, vk::ComponentTypeKHR::SINT8),
    (Component::U8, vk::ComponentTypeKHR::UINT8),
    (Component::S32, vk::ComponentTypeKHR::SINT32),
    (Component::U32, vk::ComponentTypeKHR::UINT32),
];

fn component(component: Component) -> vk::ComponentTypeKHR {
    let found = COMPONENTS.into_iter().find(|(own, _)| *own == component);
    found.map_or(vk::ComponentTypeKHR::UINT32, |(_, name)| name)
}

/// The form of a matrix; nothing for a type or layout that there is not.
fn form(
    ty: vk::ComponentTypeKHR,
    layout: vk::CooperativeVectorMatrixLayoutNV,
    stride: usize,
) -> Option<MatrixForm> {
    type Layout = vk::CooperativeVectorMatrixLayoutNV;
    let (component, _) = COMPONENTS.into_iter().find(|(_, name)| *name == ty)?;
    let layout = match layout {
        Layout::ROW_MAJOR => MatrixLayout::RowMajor,
        Layout::COLUMN_MAJOR => MatrixLayout::ColumnMajor,
        Layout::INFERENCING_OPTIMAL => MatrixLayout::Inferencing,
        Layout::TRAINING_OPTIMAL => MatrixLayout::Training,
        _ => return None,
    };
    Some(MatrixForm { component, layout, stride: stride as u64 })
}

/// The conversion that a structure describes, on a device; nothing for a type or layout that there is not.
fn conversion(device: &Device, info: &vk::ConvertCooperativeVectorMatrixInfoNV) -> Option<Conversion> {
    let conversion = Conversion {
        rows: info.num_rows,
        columns: info.num_columns,
        source: form(info.src_component_type, info.src_layout, info.src_stride)?,
        destination: form(info.dst_component_type, info.dst_layout, info.dst_stride)?,
    };
    Some(conversion.on(&device.physical.info))
}

/// What is answered to a conversion that breaks a rule of *Valid Usage*, of which the application is told.
fn refuse(device: &Device, error: &ConversionError) -> vk::Result {
    let severity = vk::DebugUtilsMessageSeverityFlagsEXT::ERROR;
    device.message(severity, &format!("the matrix is not converted: {error}"));
    vk::Result::ERROR_UNKNOWN
}

/// Whether the source is as large as its matrix (VUID-vkConvertCooperativeVectorMatrixNV-pInfo-10074,
/// VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-10086).
fn check_source(conversion: &Conversion, found: usize) -> Result<(), ConversionError> {
    let expected = conversion.source_bytes()?;
    let side = phalanx::vector::Side::Source;
    if found < expected { Err(ConversionError::Size { side, expected, found }) } else { Ok(()) }
}

entries! {
    /// The types that matrices and vectors are multiplied with.
    fn get_vectors(
        physical: vk::PhysicalDevice,
        count: *mut u32,
        list: *mut vk::CooperativeVectorPropertiesNV,
    ) -> vk::Result {
        type Row = vk::CooperativeVectorPropertiesNV;
        // SAFETY: a handle of a physical device.
        let physical = unsafe { dispatchable::object::<PhysicalDevice>(physical) }?;
        let fill = |to: &mut Row, types: &VectorTypes| *to = Row { next: to.next, ..row(types) };
        // SAFETY: the caller passes a count and room for as many.
        unsafe { chain::list_with(count, list, &physical.info.vector_types, fill) }
    }

    /// Converts a matrix in memory of the host, or says how large it will be.
    fn convert_matrix(
        device: vk::Device,
        info: *const vk::ConvertCooperativeVectorMatrixInfoNV,
    ) -> vk::Result {
        // SAFETY: a valid device, and a valid structure.
        let (device, info) = unsafe { (dispatchable::object::<Device>(device)?, info.as_ref()) };
        let info = info.ok_or(vk::Result::ERROR_UNKNOWN)?;
        let conversion = conversion(device, info).ok_or(vk::Result::ERROR_UNKNOWN)?;
        // SAFETY: "pDstSize must be a valid pointer to a size_t value".
        let size = unsafe { info.dst_size.as_mut() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
        let bytes = conversion.destination_bytes().map_err(|error| refuse(device, &error))?;
        // SAFETY: "When called from vkConvertCooperativeVectorMatrixNV, the hostAddress members … are used."
        let (from, to) = unsafe { (info.src_data.host_address, info.dst_data.host_address) };
        if to.is_null() {
            *size = bytes;
            return Ok(());
        }
        // *vkConvertCooperativeVectorMatrixNV*: "no bytes will be written, and VK_INCOMPLETE will be returned".
        if *size < bytes {
            *size = 0;
            return Err(vk::Result::INCOMPLETE);
        }
        // VUID-vkConvertCooperativeVectorMatrixNV-pInfo-10073
        let found = if from.is_null() { 0 } else { info.src_size };
        let checked = conversion.check().and_then(|()| check_source(&conversion, found));
        checked.map_err(|error| refuse(device, &error))?;
        // SAFETY: as many bytes can be read and written as the sizes say, which were checked.
        let converted = unsafe { conversion.run_raw(from.cast(), to.cast(), 1) };
        converted.map_err(|error| refuse(device, &error))?;
        *size = bytes;
        Ok(())
    }

    /// Converts matrices in memory of the device.
    fn cmd_convert_matrix(
        buffer: vk::CommandBuffer,
        count: u32,
        infos: *const vk::ConvertCooperativeVectorMatrixInfoNV,
    ) {
        // SAFETY: a valid array.
        let infos = unsafe { chain::slice(infos, count) };
        // SAFETY: a valid command buffer, and valid structures.
        unsafe {
            record(buffer, |device, recording| {
                let matrices: Result<Box<[_]>, _> = infos.iter().map(|info| recorded(device, info)).collect();
                recording.push(Command::ConvertMatrices { matrices: matrices? })
            });
        }
    }
}

/// The conversion of a structure for the queue.
///
/// # Safety
///
/// The structure is valid.
unsafe fn recorded(
    device: &Device,
    info: &vk::ConvertCooperativeVectorMatrixInfoNV,
) -> Result<ConvertMatrix, vk::Result> {
    let conversion = conversion(device, info).ok_or(vk::Result::ERROR_UNKNOWN)?;
    let checked = conversion.check().and_then(|()| check_source(&conversion, info.src_size));
    checked.map_err(|error| refuse(device, &error))?;
    // SAFETY: "pDstSize must be a valid pointer to a size_t value".
    let size = unsafe { info.dst_size.as_ref() }.ok_or(vk::Result::ERROR_UNKNOWN)?;
    let expected = conversion.destination_bytes().map_err(|error| refuse(device, &error))?;
    // VUID-vkCmdConvertCooperativeVectorMatrixNV-pInfo-10087
    if *size < expected {
        let side = phalanx::vector::Side::Destination;
        return Err(refuse(device, &ConversionError::Size { side, expected, found: *size }));
    }
    // SAFETY: "When called from vkCmdConvertCooperativeVectorMatrixNV, the deviceAddress members … are used."
    let (from, to) = unsafe { (info.src_data.device_address, info.dst_data.device_address) };
    Ok(ConvertMatrix { conversion, from, to })
}

pub(super) const PHYSICAL_COMMANDS: &[entry::Command] = entry::commands![Physical;
    PFN_vkGetPhysicalDeviceCooperativeVectorPropertiesNV: get_vectors,
];
pub(super) const COMMANDS: &[entry::Command] = entry::commands![Device;
    PFN_vkConvertCooperativeVectorMatrixNV: convert_matrix,
    PFN_vkCmdConvertCooperativeVectorMatrixNV: cmd_convert_matrix,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_component_has_one_name() {
        for (index, (own, name)) in COMPONENTS.into_iter().enumerate() {
            assert_eq!(own, Component::ALL[index]);
            assert_eq!(component(own), name);
            let form = form(name, vk::CooperativeVectorMatrixLayoutNV::TRAINING_OPTIMAL, 7);
            assert_eq!(form.map(|form| form.component), Some(own));
        }
        assert_eq!(
            form(vk::ComponentTypeKHR::FLOAT16, vk::CooperativeVectorMatrixLayoutNV::from_raw(4), 0),
            None
        );
        assert_eq!(
            form(vk::ComponentTypeKHR::SINT8_PACKED_NV, vk::CooperativeVectorMatrixLayoutNV::ROW_MAJOR, 0),
            None
        );
    }

    #[test]
    fn packed_numbers_are_an_interpretation_of_words_only() {
        // "VK_COMPONENT_TYPE_SINT8_PACKED_NV and VK_COMPONENT_TYPE_UINT8_PACKED_NV must not be used for members other
        // than inputInterpretation."
        let is_packed = |ty: vk::ComponentTypeKHR| {
            [vk::ComponentTypeKHR::SINT8_PACKED_NV, vk::ComponentTypeKHR::UINT8_PACKED_NV].contains(&ty)
        };
        let rows: Vec<_> = phalanx::vector::vector_types().iter().map(row).collect();
        assert!(rows.iter().any(|row| row.input_interpretation == vk::ComponentTypeKHR::UINT8_PACKED_NV));
        for row in rows {
            let others =
                [row.input_type, row.matrix_interpretation, row.bias_interpretation, row.result_type];
            assert!(!others.into_iter().any(is_packed), "{row:?}");
            let is_word = row.input_type == vk::ComponentTypeKHR::UINT32;
            assert!(is_word || !is_packed(row.input_interpretation), "{row:?}");
        }
    }
}
