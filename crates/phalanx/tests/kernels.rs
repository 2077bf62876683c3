//! GLSL kernels end to end, on the CPU and on the interpreter.
#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]

#[path = "kernels/wild.rs"]
mod wild;

use std::time::Duration;

use phalanx::glsl::{self, GlslOptions};
use phalanx::{
    Abandoned, AddressMode, Binding, Buffer, CancelToken, Device, DeviceKind, DeviceOptions, Dispatch, Error,
    ErrorClass, Filter, Format, ImageLayout, Pipeline, PipelineDescriptor, Sampler, SpecValue,
};

fn devices() -> [Device; 2] {
    [DeviceKind::Cpu, DeviceKind::Interpreter].map(|kind| {
        Device::new(&DeviceOptions { kind, threads: Some(2), ..DeviceOptions::default() }).unwrap()
    })
}

fn compile(source: &str) -> Vec<u32> {
    let header = "#version 460
        #extension GL_KHR_cooperative_matrix : enable
        #extension GL_KHR_memory_scope_semantics : enable
        #extension GL_KHR_shader_subgroup_arithmetic : enable
        #extension GL_KHR_shader_subgroup_basic : enable
        #extension GL_EXT_shader_explicit_arithmetic_types : enable
        #extension GL_EXT_buffer_reference : enable
        #extension GL_EXT_debug_printf : enable
        #extension GL_EXT_nonuniform_qualifier : enable\n";
    glsl::compile(&format!("{header}{source}"), &GlslOptions::default()).unwrap()
}

fn pipeline(device: &Device, source: &str) -> Pipeline {
    let module = device.create_module(&compile(source)).unwrap();
    device.create_pipeline(&PipelineDescriptor::new(&module)).unwrap()
}

#[test]
fn objects_may_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone>() {}
    shared::<Device>();
    shared::<Buffer>();
    shared::<phalanx::Module>();
    shared::<Pipeline>();
    shared::<CancelToken>();
    fn error<T: std::error::Error + Send + Sync + 'static>() {}
    error::<Error>();
}

/// What compilers make for a GPU with subgroups of 16: nothing in the shader says so, but it counts on it.
#[test]
fn a_device_has_the_subgroup_size_that_its_user_names() {
    const SOURCE: &str = "layout(local_size_x = 128) in;
        layout(set = 0, binding = 0) buffer Out { float sums[8]; };
        void main() {
            float sum = subgroupAdd(1.0);
            if (gl_LocalInvocationIndex % 16 == 0) sums[gl_LocalInvocationIndex / 16] = sum;
        }";
    for kind in [DeviceKind::Cpu, DeviceKind::Interpreter] {
        for (subgroup_size, expected) in [(None, 32.0), (Some(16), 16.0)] {
            let options = DeviceOptions { kind, subgroup_size, ..DeviceOptions::default() };
            let device = Device::new(&options).unwrap();
            assert_eq!(device.info().default_subgroup_size, subgroup_size.unwrap_or(32));
            let pipeline = pipeline(&device, SOURCE);
            let buffer = device.create_buffer_from(&[0.0_f32; 8]).unwrap();
            let bindings = &[Binding::new(0, 0, &buffer)];
            device.dispatch(&Dispatch { bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
            assert_eq!(buffer.read_slice::<f32>(0, 8).unwrap(), [expected; 8]);
        }
    }
    let error =
        Device::new(&DeviceOptions { subgroup_size: Some(24), ..DeviceOptions::default() }).unwrap_err();
    assert!(error.to_string().contains("PHALANX_SUBGROUP_SIZE: expected one of [4, 8,"), "{error}");
}

#[test]
fn cancelled_dispatches_do_not_run() {
    for device in devices() {
        let pipeline = pipeline(&device, "void main() {}");
        let token = CancelToken::default();
        let dispatch = Dispatch { cancel: Some(&token), ..Dispatch::new(&pipeline, [1; 3]) };
        device.dispatch(&dispatch).unwrap();
        token.cancel();
        assert!(matches!(device.dispatch(&dispatch), Err(Error::Cancelled)));
    }
}

#[test]
fn a_scalar_kernel() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 48) in;
             layout(binding = 0) readonly buffer A { float a[]; };
             layout(binding = 1) buffer B { float b[]; };
             layout(push_constant) uniform P { float k; uint n; };
             void main() {
                 uint i = gl_GlobalInvocationID.x;
                 if (i < n) { b[i] += k * a[i]; }
             }",
        );
        let a = device.create_buffer_from(&(0..100).map(|i| i as f32).collect::<Vec<_>>()).unwrap();
        let b = device.create_buffer_from(&[1.0_f32; 100]).unwrap();
        let mut push = 0.5_f32.to_le_bytes().to_vec();
        push.extend(90_u32.to_le_bytes());
        let bindings = [Binding::new(0, 0, &a), Binding::new(0, 1, &b)];
        let dispatch =
            Dispatch { bindings: &bindings, push_constants: &push, ..Dispatch::new(&pipeline, [3, 1, 1]) };
        device.dispatch(&dispatch).unwrap();
        let result: Vec<f32> = b.read_slice(0, 100).unwrap();
        for (i, &value) in result.iter().enumerate() {
            assert_eq!(value, if i < 90 { 1.0 + 0.5 * i as f32 } else { 1.0 }, "{i}");
        }
    }
}

#[test]
fn barriers_and_shared_memory() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 128) in;
             layout(binding = 0) buffer A { uint a[]; };
             shared uint s[128];
             void main() {
                 uint l = gl_LocalInvocationID.x, g = gl_GlobalInvocationID.x;
                 s[l] = a[g];
                 barrier();
                 for (uint d = 1; d < 128; d *= 2) {
                     uint v = l >= d ? s[l - d] : 0;
                     barrier();
                     s[l] += v;
                     barrier();
                 }
                 a[g] = s[l];
             }",
        );
        let buffer = device.create_buffer_from(&[1_u32; 512]).unwrap();
        let bindings = [Binding::new(0, 0, &buffer)];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [4, 1, 1]) }).unwrap();
        let result: Vec<u32> = buffer.read_slice(0, 512).unwrap();
        for (i, &value) in result.iter().enumerate() {
            assert_eq!(value, i as u32 % 128 + 1, "{i}");
        }
    }
}

#[test]
fn a_base_moves_the_work_groups() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 1) in;
             layout(binding = 0) buffer A { uint a[]; };
             void main() { a[gl_WorkGroupID.y * 4 + gl_WorkGroupID.x] = 1 + gl_NumWorkGroups.x; }",
        );
        let buffer = device.create_buffer_from(&[0_u32; 16]).unwrap();
        let bindings = [Binding::new(0, 0, &buffer)];
        let dispatch =
            Dispatch { base: [1, 2, 0], bindings: &bindings, ..Dispatch::new(&pipeline, [2, 1, 1]) };
        device.dispatch(&dispatch).unwrap();
        let mut expected = [0_u32; 16];
        expected[9..11].fill(3);
        assert_eq!(buffer.read_slice::<u32>(0, 16).unwrap(), expected);
    }
}

#[test]
fn specialization_and_subgroup_sizes() {
    for device in devices() {
        let words = compile(
            "layout(local_size_x_id = 0) in;
             layout(constant_id = 1) const float K = 2.0;
             layout(binding = 0) buffer A { float a[]; };
             void main() { a[gl_GlobalInvocationID.x] = K * float(gl_SubgroupSize) + subgroupAdd(1.0); }",
        );
        let module = device.create_module(&words).unwrap();
        let constant = module.info().spec_constants.iter().find(|constant| constant.id == 1).unwrap();
        assert_eq!((constant.name.as_str(), constant.bits), ("K", u64::from(2.0_f32.to_bits())));
        for size in [4, 32, 128] {
            let specialization = [(0, SpecValue::from(256_u32)), (1, SpecValue::from(0.5_f32))];
            let pipeline = device
                .create_pipeline(&PipelineDescriptor {
                    specialization: &specialization,
                    subgroup_size: Some(size),
                    ..PipelineDescriptor::new(&module)
                })
                .unwrap();
            assert_eq!(pipeline.workgroup_size(), [256, 1, 1]);
            let buffer = device.create_buffer(1024).unwrap();
            let bindings = [Binding::new(0, 0, &buffer)];
            device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
            assert_eq!(buffer.read_slice::<f32>(0, 256).unwrap(), [1.5 * size as f32; 256]);
        }
    }
}

#[test]
fn defaults_of_specialization_constants_need_no_meaning() {
    let source = "layout(local_size_x = 32) in;
        layout(constant_id = 3) const uint M = 0;
        layout(set = 0, binding = 0) buffer Out { float x[]; };
        void main() {
            coopmat<float, gl_ScopeSubgroup, M, M, gl_MatrixUseAccumulator> m;
            m = coopmat<float, gl_ScopeSubgroup, M, M, gl_MatrixUseAccumulator>(2.0);
            coopMatStore(m, x, 0, M, gl_CooperativeMatrixLayoutRowMajor);
        }";
    for device in devices() {
        let module = device.create_module(&compile(source)).unwrap();
        assert_eq!((&module.info().declared[..], module.info().spec_constants[0].id), (&[(0, 0)][..], 3));
        let default = PipelineDescriptor::new(&module);
        assert_eq!(device.create_pipeline(&default).unwrap_err().class(), ErrorClass::Invalid);
        let pipeline = device
            .create_pipeline(&PipelineDescriptor { specialization: &[(3, 4_u32.into())], ..default })
            .unwrap();
        let buffer = device.create_buffer(64).unwrap();
        let bindings = [Binding::new(0, 0, &buffer)];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        assert_eq!(buffer.read_slice::<f32>(0, 16).unwrap(), [2.0; 16]);
    }
}

#[test]
fn arrays_of_buffers_and_addresses() {
    for (device, counts) in devices().into_iter().zip([false, true]) {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 4) in;
             layout(buffer_reference, std430) buffer Ref { uint x[4]; };
             layout(binding = 0) buffer A { uint a[]; } arrays[3];
             layout(push_constant) uniform P { Ref r; };
             void main() {
                 uint i = gl_LocalInvocationID.x;
                 arrays[nonuniformEXT(i % 3)].a[i] = r.x[i] + i;
             }",
        );
        let parts: Vec<Buffer> = (0..3).map(|_| device.create_buffer(16).unwrap()).collect();
        let far = device.create_buffer_from(&[10_u32, 20, 30, 40]).unwrap();
        let bindings: Vec<_> =
            parts.iter().enumerate().map(|(i, part)| Binding::new(0, 0, part).at_index(i as u32)).collect();
        let push = far.device_address().to_le_bytes();
        let dispatch =
            Dispatch { bindings: &bindings, push_constants: &push, ..Dispatch::new(&pipeline, [1; 3]) };
        let report = device.dispatch(&dispatch).unwrap();
        let found: Vec<Vec<u32>> = parts.iter().map(|part| part.read_slice(0, 4).unwrap()).collect();
        assert_eq!(found, [[10, 0, 0, 43], [0, 21, 0, 0], [0, 0, 32, 0]]);
        assert_eq!(report.traffic.is_some(), counts);
        if let Some(traffic) = report.traffic {
            let written: Vec<u64> = traffic.bindings.iter().map(|of| of.written.elements).collect();
            assert_eq!(written, [2, 1, 1]);
            assert_eq!((traffic.buffers.read.elements, traffic.buffers.written.bytes), (4, 16));
        }
    }
}

#[test]
fn elements_of_arrays_that_are_not_bound_are_empty() {
    let source = "layout(set = 0, binding = 0) buffer Data { uint x[]; } b[4];
        void main() { b[2].x[0] += 1 + b[3].x[0] + b[0].x[0]; b[3].x[0] = 5; b[1].x[7] = 5; }";
    for device in devices() {
        let pipeline = pipeline(&device, source);
        let buffer = device.create_buffer(16).unwrap();
        let bindings = [Binding::new(0, 0, &buffer).at_index(2)];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        assert_eq!(buffer.read_slice::<u32>(0, 4).unwrap(), [1, 0, 0, 0]);
    }
    let [cpu, _] = devices();
    let pipeline = pipeline(&cpu, source);
    cpu.dispatch_raw(&phalanx::RawDispatch {
        pipeline: &pipeline,
        groups: [1; 3],
        base: [0; 3],
        descriptors: &[&[]],
        push_constants: &[],
        timeout: None,
        cancel: None,
    })
    .unwrap();
}

#[test]
fn printing() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 2) in;
             void main() { debugPrintfEXT(\"%d %f %v2f\", int(gl_LocalInvocationID.x) - 1, 0.5, vec2(1, 2)); }",
        );
        let mut printed = device.dispatch(&Dispatch::new(&pipeline, [1; 3])).unwrap().printed;
        printed.sort();
        assert_eq!(
            printed,
            ["-1 0.500000 1.000000, 2.000000", "0 0.500000 1.000000, 2.000000"],
            "{:?}",
            device.info().name
        );
    }
}

#[test]
fn accesses_out_of_bounds_are_harmless() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 64) in;
             layout(binding = 0) buffer A { uint a[]; };
             void main() {
                 uint i = gl_LocalInvocationID.x;
                 uint far = i * 0x01000001u;
                 a[far + 4u] = 7;
                 if (i < 4) { a[i] = a[i + 4u] + a.length(); }
             }",
        );
        let buffer = device.create_buffer(64).unwrap();
        let bindings = [Binding { size: Some(16), ..Binding::new(0, 0, &buffer) }];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        let result: Vec<u32> = buffer.read_slice(0, 16).unwrap();
        assert_eq!(result[..4], [4; 4]);
        assert_eq!(result[4..], [0; 12]);
    }
}

#[test]
fn images_are_buffers_with_a_layout() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 4, local_size_y = 2) in;
             layout(binding = 0, rgba8) uniform image2D a;
             layout(binding = 1) uniform usamplerBuffer b;
             void main() {
                 ivec2 at = ivec2(gl_LocalInvocationID.xy);
                 uint x = texelFetch(b, at.x).x;
                 imageStore(a, at, imageLoad(a, at) + vec4(x, 0, 0, 1) / 255);
             }",
        );
        let (picture, numbers) =
            (device.create_buffer(48).unwrap(), device.create_buffer_from(&[1_u16, 2, 3]));
        let numbers = numbers.unwrap();
        picture.write_slice(16, &[7_u8; 32]).unwrap();
        let layout = ImageLayout::packed(Format::R8g8b8a8Unorm, [4, 2, 1], 1, 1);
        let texels = ImageLayout::buffer(Format::R16Uint, 6);
        let a = Binding { offset: 16, ..Binding::new(0, 0, &picture).as_image(&layout) };
        let b = Binding::new(0, 1, &numbers).as_image(&texels);
        device.dispatch(&Dispatch { bindings: &[a, b], ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        let result: Vec<u8> = picture.read_slice(0, 48).unwrap();
        let row = [8, 7, 7, 8, 9, 7, 7, 8, 10, 7, 7, 8, 7, 7, 7, 8];
        assert_eq!(result, [[0; 16], row, row].concat());
        let plain = Binding::new(0, 1, &numbers);
        let dispatch = Dispatch { bindings: &[a, plain], ..Dispatch::new(&pipeline, [1; 3]) };
        assert_eq!(device.dispatch(&dispatch).unwrap_err().class(), ErrorClass::Invalid);
    }
}

#[test]
fn images_are_sampled() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 4) in;
             layout(binding = 0) uniform sampler2D both;
             layout(binding = 1) uniform texture1D image;
             layout(binding = 2) uniform sampler nearest;
             layout(binding = 3) buffer Out { vec2 texels[]; };
             void main() {
                 float at = gl_LocalInvocationID.x / 4.0;
                 texels[gl_LocalInvocationID.x] = vec2(
                     textureLod(both, vec2(at, 0.5), 0).x,
                     textureLod(sampler1D(image, nearest), at, 0).x);
             }",
        );
        let texels = device.create_buffer_from(&[10.0_f32, 20.0, 30.0, 40.0]).unwrap();
        let out = device.create_buffer(32).unwrap();
        let [square, row] =
            [[2, 2, 1], [4, 1, 1]].map(|extent| ImageLayout::packed(Format::R32Sfloat, extent, 1, 1));
        let linear = Sampler { mag: Filter::Linear, address: [AddressMode::Repeat; 3], ..Sampler::default() };
        let nearest = Sampler::default();
        let bindings = [
            Binding::new(0, 0, &texels).as_image(&square).with_sampler(&linear),
            Binding::new(0, 1, &texels).as_image(&row),
            Binding::of_sampler(0, 2, &nearest),
            Binding::new(0, 3, &out),
        ];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        let found: Vec<f32> = out.read_slice(0, 8).unwrap();
        assert_eq!(found, [25.0, 10.0, 20.0, 20.0, 25.0, 30.0, 30.0, 40.0]);
    }
}

#[test]
fn endless_loops_end() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 64) in;
             layout(binding = 0) buffer A { uint a[]; };
             void main() { uint i = 0; while (a[0] == 0) { i++; } a[1] = i; }",
        );
        let buffer = device.create_buffer(16).unwrap();
        let bindings = [Binding::new(0, 0, &buffer)];
        let timeout = Some(Duration::from_millis(50));
        let dispatch = Dispatch { bindings: &bindings, timeout, ..Dispatch::new(&pipeline, [4, 1, 1]) };
        let error = device.dispatch(&dispatch).unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        assert_eq!(error.class(), ErrorClass::Runtime);
    }
}

#[test]
fn the_interpreter_ends_in_the_middle_of_an_instruction() {
    let device =
        Device::new(&DeviceOptions { kind: DeviceKind::Interpreter, ..DeviceOptions::default() }).unwrap();
    // A product takes 2^30 steps, and there is no end of them.
    let pipeline = pipeline(
        &device,
        "layout(local_size_x = 32) in;
         layout(binding = 0) buffer M { int m[]; };
         const uint N = 1024;
         void main() {
             coopmat<int, gl_ScopeSubgroup, N, N, gl_MatrixUseA> a =
                 coopmat<int, gl_ScopeSubgroup, N, N, gl_MatrixUseA>(m[0]);
             coopmat<int, gl_ScopeSubgroup, N, N, gl_MatrixUseB> b =
                 coopmat<int, gl_ScopeSubgroup, N, N, gl_MatrixUseB>(m[1]);
             coopmat<int, gl_ScopeSubgroup, N, N, gl_MatrixUseAccumulator> c =
                 coopmat<int, gl_ScopeSubgroup, N, N, gl_MatrixUseAccumulator>(m[2]);
             while (m[3] == 0) { c = coopMatMulAdd(a, b, c); }
             coopMatStore(c, m, 0, 0, gl_CooperativeMatrixLayoutRowMajor);
         }",
    );
    let buffer = device.create_buffer(16).unwrap();
    let bindings = [Binding::new(0, 0, &buffer)];
    let dispatch = Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) };
    let timeout = Some(Duration::from_millis(50));
    let error = device.dispatch(&Dispatch { timeout, ..dispatch }).unwrap_err();
    assert!(matches!(error, Error::Timeout { .. }), "{error}");
    let token = CancelToken::default();
    let error = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(50));
            token.cancel();
        });
        device.dispatch(&Dispatch { cancel: Some(&token), ..dispatch }).unwrap_err()
    });
    assert!(matches!(error, Error::Cancelled), "{error}");
}

#[test]
fn what_does_not_fit_is_told() {
    for device in devices() {
        let pipeline = pipeline(
            &device,
            "layout(local_size_x = 1) in;
             layout(set = 1, binding = 3) buffer A { uint a[]; } data;
             layout(push_constant) uniform P { uint x; };
             void main() { data.a[0] = x; }",
        );
        let error = device.dispatch(&Dispatch::new(&pipeline, [1; 3])).unwrap_err();
        assert_eq!(error.to_string(), "nothing is bound at 1:3; expected 1:3 (storage `data`); found none");
        let buffer = device.create_buffer(4).unwrap();
        let bindings = [Binding::new(1, 3, &buffer)];
        let error = device
            .dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) })
            .unwrap_err();
        assert!(matches!(error, Error::PushConstants { expected: 4, found: 0 }), "{error}");
        let [other, _] = devices();
        let push = [0; 4];
        let dispatch =
            Dispatch { bindings: &bindings, push_constants: &push, ..Dispatch::new(&pipeline, [1; 3]) };
        assert!(matches!(other.dispatch(&dispatch), Err(Error::OtherDevice { .. })));
    }
}

#[test]
fn bad_modules_are_told() {
    for device in devices() {
        for words in [&[][..], &[1, 2, 3], &[0x0723_0203, 0x0001_0600, 0, 8, 0, 0xffff_ffff]] {
            let error = device.create_module(words).unwrap_err();
            assert_eq!(error.class(), ErrorClass::Invalid, "{error}");
        }
        let module = device.create_module(&compile("void main() {}")).unwrap();
        let descriptor = PipelineDescriptor::new(&module);
        let error = device
            .create_pipeline(&PipelineDescriptor { subgroup_size: Some(48), ..descriptor })
            .unwrap_err();
        assert!(matches!(error, Error::SubgroupSize { found: 48, .. }));
        let error =
            device.create_pipeline(&PipelineDescriptor { entry: Some("absent"), ..descriptor }).unwrap_err();
        assert!(error.to_string().contains("absent"), "{error}");
    }
}

#[test]
fn pipelines_are_found_again() {
    for kind in DeviceKind::available() {
        found_again(kind);
    }
}

/// Code is found in the memory of a device, by another on disk, and made again where a file is damaged.
fn found_again(kind: DeviceKind) {
    let directory = tempfile::tempdir().unwrap();
    let options =
        DeviceOptions { kind, cache_dir: Some(directory.path().into()), ..DeviceOptions::default() };
    let words = compile(
        "layout(local_size_x = 1) in;
         layout(constant_id = 0) const uint K = 1;
         layout(binding = 0) buffer A { uint a[]; };
         void main() { a[0] = K; }",
    );
    for is_found in [false, true, false] {
        let device = Device::new(&options).unwrap();
        let module = device.create_module(&words).unwrap();
        let create = |value: u32| {
            let specialization = [(0, SpecValue::from(value))];
            let descriptor =
                PipelineDescriptor { specialization: &specialization, ..PipelineDescriptor::new(&module) };
            device.create_pipeline(&descriptor).unwrap()
        };
        assert_eq!(create(5).compile_times().cached, is_found, "{kind}");
        assert!(create(5).compile_times().cached, "{kind}");
        assert_eq!(create(6).compile_times().cached, is_found, "{kind}");
        let buffer = device.create_buffer(16).unwrap();
        let bindings = [Binding::new(0, 0, &buffer)];
        for value in [5, 6] {
            let pipeline = create(value);
            device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
            assert_eq!(buffer.read_slice::<u32>(0, 1).unwrap(), [value], "{kind}");
        }
        if is_found {
            for file in std::fs::read_dir(directory.path()).unwrap() {
                let path = file.unwrap().path();
                let mut bytes = std::fs::read(&path).unwrap();
                *bytes.last_mut().unwrap() ^= 1;
                std::fs::write(&path, bytes).unwrap();
            }
        }
    }
}

/// D = A * B + C with one matrix of `T` and `S` per subgroup, B column-major.
const MATRIX_SOURCE: &str = "
    layout(local_size_x = 64) in;
    layout(constant_id = 0) const uint M = 16;
    layout(constant_id = 1) const uint N = 16;
    layout(constant_id = 2) const uint K = 16;
    layout(binding = 0) readonly buffer BufA { T a[]; };
    layout(binding = 1) readonly buffer BufB { T b[]; };
    layout(binding = 2) readonly buffer BufC { S c[]; };
    layout(binding = 3) writeonly buffer BufD { S d[]; };
    layout(push_constant) uniform P { uint n; uint k; };
    void main() {
        const uint row = gl_WorkGroupID.y * M;
        const uint col = (gl_WorkGroupID.x * gl_NumSubgroups + gl_SubgroupID) * N;
        coopmat<S, gl_ScopeSubgroup, M, N, gl_MatrixUseAccumulator> acc;
        coopMatLoad(acc, c, row * n + col, n, gl_CooperativeMatrixLayoutRowMajor);
        for (uint i = 0; i < k; i += K) {
            coopmat<T, gl_ScopeSubgroup, M, K, gl_MatrixUseA> ma;
            coopmat<T, gl_ScopeSubgroup, K, N, gl_MatrixUseB> mb;
            coopMatLoad(ma, a, row * k + i, k, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(mb, b, col * k + i, k, gl_CooperativeMatrixLayoutColumnMajor);
            acc = coopMatMulAdd(ma, mb, acc);
        }
        coopMatStore(acc, d, row * n + col, n, gl_CooperativeMatrixLayoutRowMajor);
    }";

/// Multiplies matrices of small whole numbers, whose products and sums are exact in every type.
fn multiply(types: [&str; 2], shape: [u32; 3], to_bytes: [fn(i32) -> Vec<u8>; 2]) {
    let (m, n, k) = (shape[0] * 2, shape[1] * 4, shape[2] * 3);
    let value = |seed: u32, index: u32| (index.wrapping_mul(2_654_435_761 + seed) >> 20) as i32 % 4;
    let fill = |seed: u32, count: u32| (0..count).map(move |index| value(seed, index)).collect::<Vec<i32>>();
    let (a, b, c) = (fill(1, m * k), fill(2, n * k), fill(3, m * n));
    let mut expected = Vec::new();
    for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
        let product = |i: u32| a[(row * k + i) as usize] * b[(col * k + i) as usize];
        expected.extend(to_bytes[1]((0..k).map(product).sum::<i32>() + c[(row * n + col) as usize]));
    }
    let source = format!("#define T {}\n#define S {}\n{MATRIX_SOURCE}", types[0], types[1]);
    for device in devices() {
        let module = device.create_module(&compile(&source)).unwrap();
        let specialization: Vec<_> = (0..3).map(|id| (id, shape[id as usize].into())).collect();
        let pipeline = device
            .create_pipeline(&PipelineDescriptor {
                specialization: &specialization,
                ..PipelineDescriptor::new(&module)
            })
            .unwrap();
        let upload = |data: &[i32], to_bytes: fn(i32) -> Vec<u8>| {
            let bytes: Vec<u8> = data.iter().flat_map(|&value| to_bytes(value)).collect();
            device.create_buffer_from(&bytes).unwrap()
        };
        let buffers = [
            upload(&a, to_bytes[0]),
            upload(&b, to_bytes[0]),
            upload(&c, to_bytes[1]),
            device.create_buffer(expected.len() as u64).unwrap(),
        ];
        let bindings: Vec<_> =
            buffers.iter().enumerate().map(|(i, buffer)| Binding::new(0, i as u32, buffer)).collect();
        let push = [n.to_le_bytes(), k.to_le_bytes()].concat();
        let groups = [n / shape[1] / 2, m / shape[0], 1];
        let dispatch =
            Dispatch { bindings: &bindings, push_constants: &push, ..Dispatch::new(&pipeline, groups) };
        device.dispatch(&dispatch).unwrap();
        let found = buffers[3].read(0, expected.len() as u64).unwrap();
        assert!(found == expected, "{types:?} {shape:?} on {}", device.info().name);
    }
}

const SHAPES: [[u32; 3]; 4] = [[16, 16, 16], [32, 8, 16], [1, 5, 3], [33, 17, 20]];

#[test]
fn matrices_of_halves() {
    let f16 = |value: i32| half::f16::from_f32(value as f32).to_le_bytes().to_vec();
    let f32 = |value: i32| (value as f32).to_le_bytes().to_vec();
    for shape in SHAPES {
        multiply(["float16_t", "float"], shape, [f16, f32]);
        multiply(["float16_t", "float16_t"], shape, [f16, f16]);
    }
}

#[test]
fn matrices_of_floats() {
    let f32 = |value: i32| (value as f32).to_le_bytes().to_vec();
    for shape in SHAPES {
        multiply(["float", "float"], shape, [f32, f32]);
    }
}

#[test]
fn matrices_of_integers() {
    let i8 = |value: i32| (value as i8).to_le_bytes().to_vec();
    let i32 = |value: i32| value.to_le_bytes().to_vec();
    for shape in SHAPES {
        multiply(["int8_t", "int"], shape, [i8, i32]);
        multiply(["uint8_t", "uint"], shape, [i8, i32]);
        multiply(["int", "int"], shape, [i32, i32]);
    }
}

#[test]
fn large_frames_have_a_stack() {
    // Each array is just small enough for the stack, and indexed so that it must be in memory.
    let arrays = 120;
    let declare: String = (0..arrays).map(|i| format!("uint a{i}[32];\n")).collect();
    let write: String = (0..arrays).map(|i| format!("a{i}[j] = x[j] + {i};\n")).collect();
    let read: String = (0..arrays).map(|i| format!("sum += a{i}[at];\n")).collect();
    let source = format!(
        "layout(local_size_x = 256) in;
         layout(binding = 0) buffer A {{ uint x[]; }};
         void main() {{
             {declare}
             for (uint j = 0; j < 32; j++) {{ {write} }}
             uint at = x[gl_LocalInvocationIndex] & 31, sum = 0;
             barrier();
             {read}
             x[gl_LocalInvocationIndex] = sum;
         }}"
    );
    for device in devices() {
        let module = device.create_module(&compile(&source)).unwrap();
        let descriptor = PipelineDescriptor { subgroup_size: Some(128), ..PipelineDescriptor::new(&module) };
        let pipeline = device.create_pipeline(&descriptor).unwrap();
        let buffer = device.create_buffer_from(&(0..256).collect::<Vec<u32>>()).unwrap();
        let bindings = [Binding::new(0, 0, &buffer)];
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        let constant: u32 = (0..arrays).sum();
        let expected: Vec<u32> = (0..256).map(|l| (l & 31) * arrays + constant).collect();
        assert_eq!(buffer.read_slice::<u32>(0, 256).unwrap(), expected);
    }
}

#[test]
fn compiling_that_takes_too_long_or_is_cancelled_is_given_up() {
    let words = compile("layout(local_size_x = 32) in; void main() {}");
    let limit = Duration::from_nanos(1);
    let options =
        DeviceOptions { threads: Some(1), compile_timeout: Some(limit), ..DeviceOptions::default() };
    for kind in [DeviceKind::Cpu, DeviceKind::Interpreter] {
        // If this thread has to wait for a processor, the work may be done before anybody looks at the time.
        let error = (0..50).find_map(|_| {
            let device = Device::new(&DeviceOptions { kind, ..options.clone() }).unwrap();
            let module = device.create_module(&words).unwrap();
            device.create_pipeline(&PipelineDescriptor::new(&module)).err()
        });
        let error = error.unwrap();
        let limit_of = |error: &Error| match error {
            Error::Compilation(Abandoned::Timeout { limit }) => Some(*limit),
            _ => None,
        };
        assert_eq!((limit_of(&error), error.class()), (Some(limit), ErrorClass::Runtime), "{error}");
    }
    let device = Device::new(&DeviceOptions { compile_timeout: None, ..options }).unwrap();
    let module = device.create_module(&words).unwrap();
    let descriptor = PipelineDescriptor::new(&module);
    let token = CancelToken::default();
    token.cancel();
    let error = device.create_pipeline_or_cancel(&descriptor, Some(&token)).unwrap_err();
    assert!(matches!(error, Error::Compilation(Abandoned::Cancelled)), "{error}");
    device.create_pipeline(&descriptor).unwrap();
}

/// A chain of multiply-adds in f16 that overflows on the way: 60000 + 60000 - 60000 - 60000.
const CHAIN: &str = "layout(local_size_x = 32) in;
    layout(binding = 0) buffer A { float16_t a[]; };
    layout(binding = 1) buffer B { float16_t b[]; };
    layout(binding = 2) buffer C { float16_t c[]; };
    void main() {
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
        coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> sum;
        sum = coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0hf);
        coopMatLoad(y, b, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
        for (uint k = 0; k < 4; ++k) {
            coopMatLoad(x, a, k * 256, 16, gl_CooperativeMatrixLayoutRowMajor);
            sum = coopMatMulAdd(x, y, sum);
        }
        coopMatStore(sum, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
    }";

#[test]
fn sums_are_rounded_each_time_unless_that_is_relaxed() {
    const INFINITY: u16 = 0x7c00;
    let directory = tempfile::tempdir().unwrap();
    let words = compile(CHAIN);
    // 60000 / 16 in f16, and its negative.
    let (tile, minus) = ([0x6b53_u16; 256], [0xeb53_u16; 256]);
    let a = [tile, tile, minus, minus].concat();
    let run = |device: &Device| {
        let module = device.create_module(&words).unwrap();
        let pipeline = device.create_pipeline(&PipelineDescriptor::new(&module)).unwrap();
        let key = device.pipeline_key(&PipelineDescriptor::new(&module));
        let buffers = [a.as_slice(), &[0x3c00; 256], &[1; 256]];
        let buffers = buffers.map(|data| device.create_buffer_from(data).unwrap());
        let bindings: Vec<_> = (0..).zip(&buffers).map(|(i, buffer)| Binding::new(0, i, buffer)).collect();
        device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&pipeline, [1; 3]) }).unwrap();
        (buffers[2].read_slice::<u16>(0, 256).unwrap(), key)
    };
    let device = |kind, relaxed_accumulation| {
        let cache_dir = Some(directory.path().into());
        let options = DeviceOptions { kind, cache_dir, relaxed_accumulation, ..DeviceOptions::default() };
        Device::new(&options).unwrap()
    };
    let (sums, key) = run(&device(DeviceKind::Cpu, false));
    assert_eq!(sums, [INFINITY; 256]);
    // The cache of the one is not that of the other.
    let (sums, relaxed_key) = run(&device(DeviceKind::Cpu, true));
    // Steps may be rounded to f16 where it is added up in f16, in which numbers as large as 60000 are 32 apart.
    const SMALL: u16 = 0x5400;
    assert!(sums.iter().all(|bits| bits & !0x8000 <= SMALL), "{sums:x?}");
    assert_ne!(key, relaxed_key);
    assert_eq!(run(&device(DeviceKind::Cpu, false)).0, [INFINITY; 256]);
    // The reference makes no use of the leave.
    for relaxed in [false, true] {
        assert_eq!(run(&device(DeviceKind::Interpreter, relaxed)).0, [INFINITY; 256]);
    }
}
