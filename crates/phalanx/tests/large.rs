//! Buffers of more than 4 GiB, of which next to nothing is touched: memory comes page by page.
#![expect(clippy::unwrap_used, reason = "a failure here fails the test")]

use phalanx::glsl::{self, GlslOptions};
use phalanx::{Binding, Buffer, Device, DeviceOptions, Dispatch, Error, MemoryError, PipelineDescriptor};

const BYTES: u64 = 6 << 30;

/// A large buffer; none where the system lends no more memory than there is. Then nothing is tested, which is said.
#[expect(clippy::print_stderr, reason = "a test has nobody else to tell")]
fn large(device: &Device) -> Option<Buffer> {
    match device.create_buffer(BYTES) {
        Err(Error::Memory(MemoryError::OutOfMemory { bytes })) => {
            eprintln!("not tested: there is no room for {bytes} bytes");
            None
        }
        buffer => Some(buffer.unwrap()),
    }
}

fn run(device: &Device, source: &str, bindings: &[Binding<'_>], push: &[u64]) {
    let header = "#version 460
        #extension GL_KHR_cooperative_matrix : enable
        #extension GL_NV_cooperative_matrix2 : enable
        #extension GL_KHR_memory_scope_semantics : enable
        #extension GL_EXT_shader_explicit_arithmetic_types : enable
        #extension GL_EXT_buffer_reference : enable
        #extension GL_EXT_shader_64bit_indexing : require
        #pragma shader_64bit_indexing
        layout(local_size_x = 32) in;\n";
    let words = glsl::compile(&format!("{header}{source}"), &GlslOptions::default()).unwrap();
    let module = device.create_module(&words).unwrap();
    let pipeline = device.create_pipeline(&PipelineDescriptor::new(&module)).unwrap();
    let push_constants: Vec<u8> = push.iter().flat_map(|word| word.to_le_bytes()).collect();
    let dispatch = Dispatch { bindings, push_constants: &push_constants, ..Dispatch::new(&pipeline, [1; 3]) };
    device.dispatch(&dispatch).unwrap();
}

#[test]
fn elements_beyond_4_gib() {
    let device = Device::new(&DeviceOptions::default()).unwrap();
    let Some(buffer) = large(&device) else { return };
    let out = device.create_buffer_from(&[7_u32; 66]).unwrap();
    let bindings = [Binding::new(0, 0, &buffer), Binding::new(0, 1, &out)];
    // From 4 GiB on, and around the end.
    let push = [1 << 30, BYTES / 4 - 16, buffer.device_address()];
    run(
        &device,
        "layout(binding = 0) buffer Words { uint x[]; };
         layout(binding = 1) buffer Out { uint64_t length; uint seen[]; };
         layout(buffer_reference, std430) buffer Address { uint x[]; };
         layout(push_constant) uniform Push { uint64_t at; uint64_t end; uint64_t address; };
         void main() {
             uint lane = gl_LocalInvocationIndex;
             x[at + lane] = 100 + lane;
             x[at + 50 + 3 * lane] = 200 + lane;
             atomicAdd(x[at + 200], lane);
             Address(address).x[at + 300 + lane] = 300 + lane;
             x[end + lane] = 400 + lane;
             length = x.length64();
             seen[lane] = x[end + lane];
             seen[32 + lane] = x[at + lane] + x[at + 50 + 3 * lane];
         }",
        &bindings,
        &push,
    );
    let words: Vec<u32> = buffer.read_slice(4 << 30, 400).unwrap();
    for lane in 0..32 {
        assert_eq!(words[lane], 100 + lane as u32);
        assert_eq!(words[50 + 3 * lane], 200 + lane as u32);
        assert_eq!(words[300 + lane], 300 + lane as u32);
    }
    assert_eq!(words[200], 31 * 32 / 2);
    assert_eq!(buffer.read_slice::<u32>(0, 400).unwrap(), [0; 400], "nothing has wrapped");
    assert_eq!(buffer.read_slice::<u32>(BYTES - 64, 16).unwrap(), Vec::from_iter(400..416));
    assert_eq!(out.read_slice::<u64>(0, 1).unwrap(), [BYTES / 4]);
    let seen: Vec<u32> = out.read_slice(8, 64).unwrap();
    assert_eq!(seen[..32], Vec::from_iter((0..32).map(|i| if i < 16 { 400 + i } else { 0 })));
    assert_eq!(seen[32..], Vec::from_iter((0..32).map(|i| 300 + 2 * i)));
}

#[test]
fn matrices_beyond_4_gib() {
    let device = Device::new(&DeviceOptions::default()).unwrap();
    let Some(buffer) = large(&device) else { return };
    let input = device.create_buffer_from(&Vec::from_iter(0..=255_u8)).unwrap();
    let out = device.create_buffer(3 * 256).unwrap();
    let bindings = [Binding::new(0, 0, &buffer), Binding::new(0, 1, &input), Binding::new(0, 2, &out)];
    // Rows lie 320 MiB and a little apart.
    let (stride, at): (u64, u64) = ((320 << 20) + 64, 1 << 30);
    run(
        &device,
        "layout(binding = 0) buffer Large { uint8_t x[]; };
         layout(binding = 1) buffer In { uint8_t a[]; };
         layout(binding = 2) buffer Out { uint8_t b[]; };
         layout(push_constant) uniform Push { uint64_t at; uint64_t stride; };
         const int rows = gl_CooperativeMatrixLayoutRowMajor, columns = gl_CooperativeMatrixLayoutColumnMajor;
         layout(buffer_reference) buffer Byte { uint8_t x; };
         uint8_t decode(const in Byte byte, const in uint32_t block[2], const in uint32_t place[2]) {
             return byte.x;
         }
         void main() {
             coopmat<uint8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> m;
             tensorLayoutNV<2> t = createTensorLayoutNV(2);
             t = setTensorLayoutDimensionNV(t, 16, 16);
             t = setTensorLayoutStrideNV(t, uint(stride), 1);
             coopMatLoad(m, a, 0u, 16, rows);
             coopMatStore(m, x, at, uint(stride), rows);
             coopMatStore(m, x, at + 16, uint(stride), columns);
             coopMatStoreTensorNV(m, x, at + 32, t);
             coopMatLoad(m, x, at + 16, uint(stride), columns);
             coopMatStore(m, b, 0u, 16, rows);
             coopMatLoadTensorNV(m, x, at, t);
             coopMatStore(m, b, 256u, 16, rows);
             coopMatLoadTensorNV(m, x, at + 32, t, decode);
             coopMatStore(m, b, 512u, 16, rows);
         }",
        &bindings,
        &[at, stride],
    );
    for row in 0..16_u8 {
        let found = buffer.read(at + stride * u64::from(row), 48).unwrap();
        let own = Vec::from_iter((0..16).map(|column| 16 * row + column));
        let transposed = Vec::from_iter((0..16).map(|column| 16 * column + row));
        assert_eq!(found, [own.clone(), transposed, own].concat(), "row {row}");
    }
    assert_eq!(out.read(0, 3 * 256).unwrap(), Vec::from_iter(0..=255_u8).repeat(3));
}
