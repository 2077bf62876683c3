//! Kernels that go where nothing is, in this process, which lives on.

use std::sync::Arc;
use std::time::Duration;

use phalanx_back_llvm::Meta;
use phalanx_host::{Addresses, Buffer, Descriptor, Fault};

use crate::testing::{BUFFER, barrier, pipeline_with, prologue, stops};
use crate::{Config, Device, Dispatch, Error, Pipeline, Report};

fn device(threads: usize) -> Device {
    Device::new(&Config { threads: Some(threads), ..Config::default() }).unwrap()
}

/// Runs a kernel that goes to `address`, with so many work-groups, and one buffer.
fn run(
    device: &Device,
    pipeline: &Arc<Pipeline>,
    address: u64,
    groups: u32,
    buffer: &Buffer,
) -> Result<Report, Error> {
    device.dispatch(&Dispatch {
        pipeline,
        groups: [groups, 1, 1],
        base: [0; 3],
        descriptors: &[&[buffer.descriptor(0, None).unwrap()]],
        push: &address.to_le_bytes(),
        timeout: Some(Duration::from_secs(60)),
        cancel: None,
    })
}

fn meta() -> Meta {
    Meta {
        uses_addresses: true,
        subgroup_size: 32,
        workgroup_size: [32, 1, 1],
        num_bindings: 1,
        push_bytes: 8,
        ..Meta::default()
    }
}

/// Goes to the address in the push constants and says in the buffer that it could.
fn visitor(visit: &str, meta: Meta) -> Arc<Pipeline> {
    let body = prologue()
        + BUFFER
        + "%at = load ptr, ptr %push\n"
        + visit
        + "\n%old = atomicrmw add ptr %buf, i32 1 monotonic
           ret void";
    pipeline_with(&body, meta)
}

fn fault_of(result: Result<Report, Error>) -> Fault {
    match result {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("expected a fault, found {other:?}"),
    }
}

const WRITE: &str = "store volatile i32 1, ptr %at";
const READ: &str = "%x = load volatile i32, ptr %at";

#[test]
fn a_fault_is_an_error_and_the_device_works_on() {
    for threads in [1, 4] {
        let device = device(threads);
        let buffer = device.create_buffer(64).unwrap();
        for (visit, wrote) in [(WRITE, true), (READ, false)] {
            let pipeline = visitor(visit, meta());
            for address in [0, 16, 0xdead_0000] {
                for _ in 0..20 {
                    let fault = fault_of(run(&device, &pipeline, address, 50, &buffer));
                    assert_eq!((fault.address, fault.kernel.as_str()), (Some(address), "test"));
                    assert!(!cfg!(target_arch = "x86_64") || fault.wrote == Some(wrote));
                    assert_eq!(fault.nearest.unwrap().address, buffer.device_address());
                }
            }
            // One that no memory can have; on AArch64 the system tells it nevertheless.
            let fault = fault_of(run(&device, &pipeline, 0xdead_0000_0000_0000, 1, &buffer));
            assert!(!cfg!(target_arch = "x86_64") || fault.address.is_none(), "{fault}");
            let before = buffer.read(0, 4).unwrap()[0];
            run(&device, &pipeline, buffer.device_address() + 4, 3, &buffer).unwrap();
            assert_eq!(buffer.read(0, 4).unwrap()[0], before + 3);
        }
    }
}

#[test]
fn a_fault_between_barriers_ends_all_subgroups() {
    // The last of four subgroups faults; the others wait at a barrier, before or behind it.
    let body = prologue()
        + BUFFER
        + "%at = load ptr, ptr %push\n"
        + &barrier("begun")
        + "%last = icmp eq i32 %sg, 3
           br i1 %last, label %go, label %on
         go:
           store volatile i32 1, ptr %at
           br label %on
         on:\n"
        + &barrier("stored")
        + "%old = atomicrmw add ptr %buf, i32 1 monotonic
           ret void";
    let meta = stops(Meta { workgroup_size: [128, 1, 1], ..meta() });
    let pipeline = pipeline_with(&body, meta);
    for threads in [1, 3] {
        let device = device(threads);
        for _ in 0..20 {
            let buffer = device.create_buffer(64).unwrap();
            assert_eq!(fault_of(run(&device, &pipeline, 8, 40, &buffer)).address, Some(8));
            let buffer = device.create_buffer(64).unwrap();
            run(&device, &pipeline, buffer.device_address() + 4, 10, &buffer).unwrap();
            assert_eq!(buffer.read(0, 4).unwrap()[0], 40);
        }
    }
}

#[test]
fn the_end_of_a_stack_is_told_from_a_wild_address() {
    // Recursion without end, where the compiler found no need of a stack.
    let body = "%room = alloca [64 x i64]
        store volatile i64 1, ptr %room
        call void @phalanx_entry(ptr %c)
        store volatile i64 2, ptr %room
        ret void";
    let pipeline = pipeline_with(body, meta());
    let (device, buffer) = (device(1), Buffer::new(64).unwrap());
    for _ in 0..3 {
        let result = run(&device, &pipeline, 0, 1, &buffer);
        assert!(matches!(&result, Err(Error::StackOverflow { kernel }) if kernel == "test"), "{result:?}");
    }
    let pipeline = visitor(READ, meta());
    run(&device, &pipeline, buffer.device_address(), 1, &buffer).unwrap();
}

#[test]
fn memory_that_is_lent_may_be_gone() {
    // A binding to a page that cannot be accessed, as of a file that was truncated.
    let page = 4096;
    // SAFETY: a fresh mapping touches nothing else.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            page,
            libc::PROT_NONE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert_ne!(start, libc::MAP_FAILED);
    let address = start.expose_provenance() as u64;
    let device = device(1);
    let lent = device.lend(address, page as u64);
    let pipeline = visitor("", Meta { uses_addresses: false, ..meta() });
    // SAFETY: it cannot be read, which is what the device was told to expect.
    let descriptor = unsafe { Descriptor::from_raw(address, page as u64) };
    let result = device.dispatch(&Dispatch {
        pipeline: &pipeline,
        groups: [1; 3],
        base: [0; 3],
        descriptors: &[&[descriptor]],
        push: &[0; 8],
        timeout: None,
        cancel: None,
    });
    let text = fault_of(result).to_string();
    assert!(text.contains("at byte 0 of the buffer of 4096 bytes"), "{text}");
    drop(lent);
    // SAFETY: a mapping of our own, used no more.
    unsafe { libc::munmap(start, page) };
}

#[test]
fn programs_that_trust_addresses_get_no_handler_for_them() {
    let config = Config { addresses: Addresses::Trust, threads: Some(1), ..Config::default() };
    let device = Device::new(&config).unwrap();
    let buffer = Buffer::new(64).unwrap();
    run(&device, &visitor(WRITE, meta()), buffer.device_address(), 1, &buffer).unwrap();
}
