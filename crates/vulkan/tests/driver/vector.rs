//! Matrices of cooperative vectors: what can be multiplied, and conversions on host and device.

use half::f16;
use vulkanalia::prelude::v1_3::*;

use crate::fixture::{self, Gpu};
use crate::kernel::Buffer;

type Layout = vk::CooperativeVectorMatrixLayoutNV;
type Type = vk::ComponentTypeKHR;

/// A conversion of 5 rows of 7 f32 without gaps.
const ROWS: u32 = 5;
const COLUMNS: u32 = 7;

fn info(ty: Type, layout: Layout, size: &mut usize) -> vk::ConvertCooperativeVectorMatrixInfoNV {
    vk::ConvertCooperativeVectorMatrixInfoNV {
        src_size: (ROWS * COLUMNS * 4) as usize,
        dst_size: size,
        src_component_type: Type::FLOAT32,
        dst_component_type: ty,
        num_rows: ROWS,
        num_columns: COLUMNS,
        src_layout: Layout::ROW_MAJOR,
        src_stride: (COLUMNS * 4) as usize,
        dst_layout: layout,
        dst_stride: 16,
        ..Default::default()
    }
}

/// The way back, to f16 in rows.
fn back(
    there: &vk::ConvertCooperativeVectorMatrixInfoNV,
    size: &mut usize,
) -> vk::ConvertCooperativeVectorMatrixInfoNV {
    vk::ConvertCooperativeVectorMatrixInfoNV {
        src_component_type: there.dst_component_type,
        dst_component_type: Type::FLOAT16,
        src_layout: there.dst_layout,
        src_stride: there.dst_stride,
        dst_layout: Layout::ROW_MAJOR,
        dst_stride: (COLUMNS * 2) as usize,
        dst_size: size,
        ..*there
    }
}

/// Numbers that all the types have, with both signs.
fn numbers() -> Vec<f32> {
    (0..ROWS * COLUMNS).map(|i| (i % 8) as f32 * 0.5 * if i % 2 == 0 { 1.0 } else { -1.0 }).collect()
}

fn halves() -> Vec<u16> {
    numbers().into_iter().map(|x| f16::from_f32(x).to_bits()).collect()
}

unsafe fn convert(gpu: &Gpu, info: &vk::ConvertCooperativeVectorMatrixInfoNV) -> vk::Result {
    (gpu.device.commands().convert_cooperative_vector_matrix_nv)(gpu.device.handle(), info)
}

/// Where the layouts are that a destination may have.
const FORMS: [(Type, Layout); 7] = [
    (Type::FLOAT16, Layout::COLUMN_MAJOR),
    (Type::FLOAT16, Layout::INFERENCING_OPTIMAL),
    (Type::FLOAT16, Layout::TRAINING_OPTIMAL),
    (Type::FLOAT32, Layout::TRAINING_OPTIMAL),
    (Type::BFLOAT16, Layout::INFERENCING_OPTIMAL),
    (Type::FLOAT8_E4M3_EXT, Layout::INFERENCING_OPTIMAL),
    (Type::FLOAT8_E5M2_EXT, Layout::TRAINING_OPTIMAL),
];

/// Records a conversion between buffers, and a barrier of its stage.
unsafe fn record(
    gpu: &Gpu,
    commands: vk::CommandBuffer,
    infos: &[(vk::ConvertCooperativeVectorMatrixInfoNV, u64, u64)],
) {
    let infos: Vec<_> = infos
        .iter()
        .map(|&(mut info, from, to)| {
            info.src_data.device_address = from;
            info.dst_data.device_address = to;
            info
        })
        .collect();
    let count = infos.len() as u32;
    (gpu.device.commands().cmd_convert_cooperative_vector_matrix_nv)(commands, count, infos.as_ptr());
    let barrier = vk::MemoryBarrier2::builder()
        .src_stage_mask(vk::PipelineStageFlags2::CONVERT_COOPERATIVE_VECTOR_MATRIX_NV)
        .src_access_mask(vk::AccessFlags2::TRANSFER_WRITE)
        .dst_stage_mask(vk::PipelineStageFlags2::CONVERT_COOPERATIVE_VECTOR_MATRIX_NV)
        .dst_access_mask(vk::AccessFlags2::TRANSFER_READ);
    let barriers = [barrier];
    gpu.device.cmd_pipeline_barrier2(commands, &vk::DependencyInfo::builder().memory_barriers(&barriers));
}

/// Layers that are older than the extension do not know its stage.
fn allow_stage(gpu: &Gpu) {
    gpu.allow("flag Unhandled VkPipelineStageFlagBits2KHR is not compatible");
    gpu.allow("VUID-VkMemoryBarrier2-srcStageMask");
    gpu.allow("VUID-VkMemoryBarrier2-dstStageMask");
    gpu.allow("VUID-VkMemoryBarrier2-srcAccessMask");
    gpu.allow("VUID-VkMemoryBarrier2-dstAccessMask");
}

/// Executes a conversion that loses the device, and says so.
unsafe fn lose(gpu: &Gpu, from: u64, to: u64, what: &str) {
    allow_stage(gpu);
    let mut size = 4096_usize;
    let info = info(Type::FLOAT16, Layout::TRAINING_OPTIMAL, &mut size);
    let commands = gpu.primary(|commands| record(gpu, commands, &[(info, from, to)]));
    gpu.allow(" in use");
    let fence = gpu.fence();
    gpu.submit(commands, fence);
    assert_eq!(gpu.device.wait_for_fences(&[fence], true, u64::MAX), Err(vk::ErrorCode::DEVICE_LOST));
    let expected = format!("the device is lost: a matrix of {what}");
    assert!(gpu.said().contains(&expected), "{}", gpu.said());
}

cases! {
    fn what_is_multiplied_is_listed(gpu) {
        let command = gpu.instance.commands().get_physical_device_cooperative_vector_properties_nv;
        let rows: Vec<vk::CooperativeVectorPropertiesNV> =
            fixture::list(|count, rows| command(gpu.physical, count, rows));
        // *VkCooperativeVectorPropertiesNV*: "The following combinations must be supported".
        for types in [
            [Type::FLOAT16; 5],
            [Type::UINT32, Type::SINT8_PACKED_NV, Type::SINT8, Type::SINT32, Type::SINT32],
            [Type::SINT8, Type::SINT8, Type::SINT8, Type::SINT32, Type::SINT32],
            [Type::FLOAT32, Type::SINT8, Type::SINT8, Type::SINT32, Type::SINT32],
            [Type::FLOAT16, Type::FLOAT8_E4M3_EXT, Type::FLOAT8_E4M3_EXT, Type::FLOAT16, Type::FLOAT16],
            [Type::FLOAT16, Type::FLOAT8_E5M2_EXT, Type::FLOAT8_E5M2_EXT, Type::FLOAT16, Type::FLOAT16],
        ] {
            let found = rows.iter().find(|row| {
                let input = [row.input_type, row.input_interpretation, row.matrix_interpretation];
                [input.as_slice(), &[row.bias_interpretation, row.result_type]].concat() == types
            });
            assert_eq!(found.map(|row| row.transpose), Some(vk::TRUE), "{types:?}");
        }
        let (mut count, mut one) = (1, vk::CooperativeVectorPropertiesNV::default());
        assert_eq!(command(gpu.physical, &mut count, &mut one), vk::Result::INCOMPLETE);
        assert_eq!((count, one.input_type), (1, rows[0].input_type));

        let mut limits = vk::PhysicalDeviceCooperativeVectorPropertiesNV::default();
        let mut properties = vk::PhysicalDeviceProperties2::builder().push_next(&mut limits).build();
        gpu.instance.get_physical_device_properties2(gpu.physical, &mut properties);
        assert_eq!(limits.cooperative_vector_supported_stages, vk::ShaderStageFlags::COMPUTE);
        assert!(limits.max_cooperative_vector_components >= 128);
    }

    fn matrices_are_converted_on_the_host(gpu) {
        for (ty, layout) in FORMS {
            let (numbers, mut size) = (numbers(), 0);
            let mut there = info(ty, layout, &mut size);
            assert_eq!(convert(gpu, &there), vk::Result::SUCCESS);
            let needed = *there.dst_size;
            assert!(needed > 0);
            let mut converted = vec![0xa5_u8; needed + 1];
            there.src_data.host_address = numbers.as_ptr().cast();
            there.dst_data.host_address = converted.as_mut_ptr().cast();
            // One byte too few: nothing is written.
            *there.dst_size = needed - 1;
            assert_eq!(convert(gpu, &there), vk::Result::INCOMPLETE);
            assert_eq!(*there.dst_size, 0);
            assert!(converted.iter().all(|&byte| byte == 0xa5));
            *there.dst_size = needed + 1;
            assert_eq!(convert(gpu, &there), vk::Result::SUCCESS);
            assert_eq!((*there.dst_size, converted[needed]), (needed, 0xa5));

            let mut halves_back = vec![0_u16; (ROWS * COLUMNS) as usize];
            let mut size = size_of_val(halves_back.as_slice());
            let mut back = back(&there, &mut size);
            back.src_size = needed;
            back.src_data.host_address = converted.as_ptr().cast();
            back.dst_data.host_address = halves_back.as_mut_ptr().cast();
            assert_eq!(convert(gpu, &back), vk::Result::SUCCESS);
            assert_eq!(halves_back, halves(), "{ty:?} {layout:?}");
        }
    }

    /// Several at once, then the way back behind a barrier.
    fn matrices_are_converted_on_the_device(gpu) {
        allow_stage(gpu);
        let from = gpu.buffer_of(&numbers());
        let made: Vec<(Buffer, Buffer)> = FORMS.iter().map(|_| (gpu.buffer(4096), gpu.buffer(4096))).collect();
        let mut sizes = [4096_usize; FORMS.len()];
        let there: Vec<_> = FORMS
            .into_iter()
            .zip(&made)
            .zip(&mut sizes)
            .map(|(((ty, layout), (to, _)), size)| (info(ty, layout, size), gpu.address(&from), gpu.address(to)))
            .collect();
        let mut size = 4096_usize;
        gpu.execute(|commands| {
            record(gpu, commands, &there);
            for ((there, _, from), (_, to)) in there.iter().zip(&made) {
                let back = vk::ConvertCooperativeVectorMatrixInfoNV { src_size: 4096, ..back(there, &mut size) };
                record(gpu, commands, &[(back, *from, gpu.address(to))]);
            }
        });
        for ((_, to), form) in made.iter().zip(FORMS) {
            assert_eq!(to.read::<u16>((ROWS * COLUMNS) as usize), halves(), "{form:?}");
            let rest = to.read::<u16>(2048);
            assert!(rest[(ROWS * COLUMNS) as usize..].iter().all(|&half| half == 0), "nothing behind it");
        }
    }

    /// What breaks the rules is told of and left out.
    fn what_is_no_conversion_is_refused(gpu) {
        let (numbers, mut converted, mut size) = (numbers(), [0xa5_u8; 4096], 4096_usize);
        let mut good = info(Type::FLOAT16, Layout::TRAINING_OPTIMAL, &mut size);
        good.src_data.host_address = numbers.as_ptr().cast();
        good.dst_data.host_address = converted.as_mut_ptr().cast();
        let bad = [
            (vk::ConvertCooperativeVectorMatrixInfoNV { src_stride: 27, ..good }, "stride"),
            (vk::ConvertCooperativeVectorMatrixInfoNV { src_size: 139, ..good }, "140 bytes, found 139"),
            (vk::ConvertCooperativeVectorMatrixInfoNV { dst_component_type: Type::SINT8, ..good }, "f32 to s8"),
            (
                vk::ConvertCooperativeVectorMatrixInfoNV {
                    dst_component_type: Type::FLOAT8_E4M3_EXT,
                    dst_layout: Layout::ROW_MAJOR,
                    ..good
                },
                "optimal layout",
            ),
            (vk::ConvertCooperativeVectorMatrixInfoNV { src_component_type: Type::FLOAT64, ..good }, ""),
            (vk::ConvertCooperativeVectorMatrixInfoNV { dst_layout: Layout::from_raw(7), ..good }, ""),
        ];
        for (info, reason) in &bad {
            assert_eq!(convert(gpu, info), vk::Result::ERROR_UNKNOWN, "{info:?}");
            assert!(gpu.said().contains(reason), "{}", gpu.said());
        }
        assert!(converted.iter().all(|&byte| byte == 0xa5));
        let info = vk::CommandBufferAllocateInfo {
            command_pool: gpu.commands,
            command_buffer_count: 1,
            ..Default::default()
        };
        for (bad, _) in &bad {
            let commands = gpu.device.allocate_command_buffers(&info).expect("a command buffer")[0];
            gpu.device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default()).expect("recording");
            (gpu.device.commands().cmd_convert_cooperative_vector_matrix_nv)(commands, 1, bad);
            assert_eq!(gpu.device.end_command_buffer(commands), Err(vk::ErrorCode::UNKNOWN));
        }
    }

    fn a_conversion_from_nowhere_loses_the_device(gpu) {
        let home = gpu.buffer(4096);
        let address = gpu.address(&home);
        lose(gpu, address + (1 << 40), address, "140 bytes");
        assert_eq!(home.read::<u8>(4096), [0; 4096]);
    }

    fn a_conversion_to_nowhere_loses_the_device(gpu) {
        let home = gpu.buffer(4096);
        lose(gpu, gpu.address(&home), 64, "128 bytes at 0x40:");
    }
}
