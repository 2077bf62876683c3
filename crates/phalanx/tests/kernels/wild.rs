//! Kernels that follow device addresses to nowhere: what the dispatch says, and that the process and a new device go on.
//!
//! What concerns the whole process, such as handlers of signals, is tried by clients: processes of this same program
//! that run one function of this file and say in the end that they are well.

#![expect(clippy::panic, reason = "that is how a test fails")]

use std::process::{Command, Output};
use std::time::Duration;

use phalanx::{
    Addresses, Binding, Device, DeviceKind, DeviceOptions, Dispatch, Error, ErrorClass, Fault, Pipeline,
};

use crate::pipeline;

fn device_that(addresses: Addresses, threads: usize) -> Device {
    let options =
        DeviceOptions { addresses: Some(addresses), threads: Some(threads), ..DeviceOptions::default() };
    Device::new(&options).unwrap()
}

/// Kernels that access 4 bytes and more at the address in their push constants, in every way that there is.
const ACCESSES: [(&str, &str); 7] = [
    ("read", "y[0] = at.x[0];"),
    ("read in each lane", "y[gl_LocalInvocationIndex] = at.x[gl_LocalInvocationIndex];"),
    ("write", "at.x[gl_LocalInvocationIndex % 3] = 1;"),
    ("atomic", "y[0] = atomicAdd(at.x[0], 1);"),
    ("between barriers", "s = 1; barrier(); if (gl_SubgroupID == 1) { at.x[0] = s; } barrier(); y[0] = s;"),
    (
        "matrix load",
        "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> m;
         coopMatLoad(m, at.x, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
         coopMatStore(m, y, 0, 8, gl_CooperativeMatrixLayoutRowMajor);",
    ),
    (
        "matrix store",
        "coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> m =
             coopmat<float, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA>(1.0);
         coopMatStore(m, at.x, 0, 8, gl_CooperativeMatrixLayoutColumnMajor);",
    ),
];

fn visitor(device: &Device, access: &str) -> Pipeline {
    let source = format!(
        "layout(local_size_x = 64) in;
         layout(buffer_reference, std430) buffer Ref {{ uint x[]; }};
         layout(binding = 0) buffer B {{ uint y[]; }};
         layout(push_constant) uniform P {{ Ref at; }};
         shared uint s;
         void main() {{ {access} }}"
    );
    pipeline(device, &source)
}

fn visit(device: &Device, pipeline: &Pipeline, address: u64, groups: u32) -> Result<(), Error> {
    let output = device.create_buffer(4096)?;
    let dispatch = Dispatch {
        bindings: &[Binding::new(0, 0, &output)],
        push_constants: &address.to_le_bytes(),
        timeout: Some(Duration::from_secs(60)),
        ..Dispatch::new(pipeline, [groups, 1, 1])
    };
    device.dispatch(&dispatch).map(|_report| ())
}

fn fault_of(result: Result<(), Error>) -> Fault {
    match result {
        Err(Error::Fault(fault)) => *fault,
        other => panic!("expected a fault, found {other:?}"),
    }
}

/// The device gives right results.
fn works(device: &Device) {
    let double = pipeline(
        device,
        "layout(local_size_x = 64) in;
         layout(binding = 0) buffer B { uint y[]; };
         void main() { y[gl_GlobalInvocationID.x] *= 2; }",
    );
    let numbers: Vec<u32> = (0..6400).collect();
    let buffer = device.create_buffer_from(&numbers).unwrap();
    let bindings = [Binding::new(0, 0, &buffer)];
    device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&double, [100, 1, 1]) }).unwrap();
    let doubled: Vec<u32> = numbers.iter().map(|x| 2 * x).collect();
    assert_eq!(buffer.read_slice::<u32>(0, 6400).unwrap(), doubled);
}

#[test]
fn every_access_to_nowhere_is_a_fault_and_the_process_goes_on() {
    for (name, access) in ACCESSES {
        for threads in [1, 4] {
            let device = device_that(Addresses::Catch, threads);
            let pipeline = visitor(&device, access);
            let home = device.create_buffer(4096).unwrap();
            for address in
                [0, 64, 0xdead_0000, 0x7ead_0000_0000_0000, 0xdead_0000_0000_0000, 0xffff_9000_0000_0000]
            {
                for groups in [1, 100] {
                    let fault = fault_of(visit(&device, &pipeline, address, groups));
                    assert_eq!(fault.kernel, "main", "{name}");
                    if let Some(found) = fault.address {
                        assert!((address..address + 256).contains(&found), "{name} {address:#x}: {fault}");
                        assert!(fault.nearest.is_some_and(|nearest| nearest.size == 4096), "{name}: {fault}");
                    } else {
                        assert!(address > u64::MAX / 4, "{name} {address:#x}: {fault}");
                    }
                }
            }
            visit(&device, &pipeline, home.device_address(), 100).unwrap();
            works(&device);
        }
        works(&device_that(Addresses::Catch, 2));
    }
}

#[test]
fn checked_accesses_stay_within_one_buffer() {
    let device = device_that(Addresses::Check, 2);
    for (name, access) in ACCESSES {
        let pipeline = visitor(&device, access);
        let home = device.create_buffer(256).unwrap();
        // The next bytes are there, but are nobody's, or another buffer's.
        let neighbours = [(); 8].map(|()| device.create_buffer(256).unwrap());
        let end = home.device_address() + 256;
        for address in [0, home.device_address() - 4, end - 2, end, 0xdead_0000_0000_0000, u64::MAX - 1] {
            let fault = fault_of(visit(&device, &pipeline, address, 3));
            let found = fault.address.expect("a check knows the address");
            assert!((address..=address.saturating_add(256)).contains(&found), "{name} {address:#x}: {fault}");
            assert!(fault.wrote.is_some() && fault.nearest.is_some(), "{name}: {fault}");
            let place = fault.place.clone().unwrap_or_default();
            assert!(
                place.rsplit([':', ' ']).next().is_some_and(|line| line.parse::<u32>().is_ok()),
                "{name}: {fault}"
            );
        }
        visit(&device, &pipeline, home.device_address(), 100).unwrap();
        assert!(
            neighbours.iter().all(|other| other.read(0, 256).unwrap().iter().all(|&byte| byte == 0)),
            "{name}"
        );
        let gone = home.device_address();
        drop(home);
        fault_of(visit(&device, &pipeline, gone, 1));
    }
    works(&device);
}

#[test]
fn a_fault_is_the_users_and_says_where_it_went() {
    let device = device_that(Addresses::Catch, 1);
    let error = visit(&device, &visitor(&device, ACCESSES[2].1), 0x40, 1).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    let text = error.to_string();
    assert!(text.starts_with("the kernel `main` ") && text.contains("address 0x40"), "{text}");
    assert!(text.contains(", which is in no buffer: "), "{text}");
    let Error::Fault(fault) = error else { unreachable!("asserted above") };
    let line = fault.place.expect("the shader has lines");
    assert!(line.rsplit([':', ' ']).next().is_some_and(|line| line.parse::<u32>().is_ok()), "{line}");
    assert!(text.contains(" bytes before the buffer of 4096 bytes at 0x"), "{text}");
}

#[test]
fn the_bound_on_invocations_is_kept() {
    for kind in [DeviceKind::Cpu, DeviceKind::Interpreter] {
        let device =
            Device::new(&DeviceOptions { kind, threads: Some(1), ..DeviceOptions::default() }).unwrap();
        let pipeline = pipeline(&device, "layout(local_size_x = 4, local_size_y = 256) in; void main() {}");
        let limit = phalanx::MAX_DISPATCH_INVOCATIONS;
        let with_base =
            |groups, base| device.dispatch(&Dispatch { base, ..Dispatch::new(&pipeline, groups) });
        for (groups, base, axis, found) in [
            ([limit / 4 + 1, 1, 1], [0; 3], 'x', u64::from(limit) + 4),
            ([1, limit / 256 + 1, 1], [0; 3], 'y', u64::from(limit) + 256),
            ([1, 1, 1], [limit / 4, 0, 0], 'x', u64::from(limit) + 4),
            ([1, 1, 1], [0, 0, limit], 'z', u64::from(limit) + 1),
            ([u32::MAX, 1, 1], [0; 3], 'x', 4 * u64::from(u32::MAX)),
        ] {
            match with_base(groups, base) {
                Err(Error::TooManyInvocations { axis: a, found: f, limit: l }) => {
                    assert_eq!((a, f, l), (axis, found, limit));
                }
                other => panic!("{groups:?} {base:?}: {other:?}"),
            }
        }
        // The last work-group that there may be, and none of very many.
        with_base([1, 1, 1], [limit / 4 - 1, limit / 256 - 1, limit - 1]).unwrap();
        with_base([0, u32::MAX, 1], [0; 3]).unwrap();
    }
}

/// Runs a function of this file in a process of its own.
fn client(name: &str) -> Output {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("wild::{name}"), "--nocapture", "--test-threads=1"]);
    command.env("PHALANX_TEST_CLIENT", name).output().unwrap()
}

/// Whether this process is a client that runs this function.
fn is_client(name: &str) -> bool {
    std::env::var("PHALANX_TEST_CLIENT").is_ok_and(|client| client == name)
}

#[cfg(target_os = "linux")]
mod clients {
    use super::*;
    use std::ffi::{c_int, c_void};
    use std::os::unix::process::ExitStatusExt;
    use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

    static CALLS: AtomicU32 = AtomicU32::new(0);
    static PAGE: AtomicUsize = AtomicUsize::new(0);
    static NEXT: AtomicUsize = AtomicUsize::new(0);

    /// A handler as a virtual machine has: it makes the page readable, and the access is done again.
    extern "C" fn repair(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
        CALLS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the signal carries an address.
        let address = unsafe { (*info).si_addr() }.addr();
        let page = PAGE.load(Ordering::SeqCst);
        if page != 0 && address & !4095 == page {
            // SAFETY: a mapping of this test's.
            unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(page), 4096, libc::PROT_READ) };
            return;
        }
        let next = NEXT.load(Ordering::SeqCst);
        if next > 1 {
            // SAFETY: the handler that was installed before, with `SA_SIGINFO`.
            let next: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) =
                unsafe { std::mem::transmute(next) };
            return next(signal, info, context);
        }
        // SAFETY: ends the process.
        unsafe { libc::_exit(77) }
    }

    fn install_repair() {
        // SAFETY: the action is zeroed and then filled in; the handler has the signature that the flag asks for.
        unsafe {
            let mut old: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = repair;
            action.sa_sigaction = handler as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            assert_eq!(libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut old), 0);
            NEXT.store(old.sa_sigaction, Ordering::SeqCst);
        }
    }

    /// A fault of the process's own, which its handler repairs.
    fn own_fault() {
        // SAFETY: a fresh mapping touches nothing else.
        let page = unsafe {
            let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            libc::mmap(std::ptr::null_mut(), 4096, libc::PROT_NONE, kind, -1, 0)
        };
        PAGE.store(page.expose_provenance(), Ordering::SeqCst);
        let calls = CALLS.load(Ordering::SeqCst);
        // SAFETY: the handler makes the page readable.
        assert_eq!(unsafe { page.cast::<u8>().read_volatile() }, 0);
        assert_eq!(CALLS.load(Ordering::SeqCst), calls + 1);
        PAGE.store(0, Ordering::SeqCst);
    }

    fn faults(device: &Device) {
        fault_of(visit(device, &visitor(device, ACCESSES[0].1), 8, 50));
    }

    #[test]
    fn handlers_of_others_get_what_is_theirs() {
        if !is_client("clients::handlers_of_others_get_what_is_theirs") {
            let output = client("clients::handlers_of_others_get_what_is_theirs");
            return assert!(output.status.success(), "{output:?}");
        }
        // One that came before us.
        NEXT.store(0, Ordering::SeqCst);
        install_repair();
        let device = device_that(Addresses::Catch, 3);
        faults(&device);
        assert_eq!(CALLS.load(Ordering::SeqCst), 0, "a kernel's fault is no business of others");
        own_fault();
        // One that came after us, and hands on to us what is not its own.
        install_repair();
        own_fault();
        faults(&device);
        own_fault();
        works(&device);
    }

    #[test]
    fn a_fault_of_the_host_ends_it_as_ever() {
        if !is_client("clients::a_fault_of_the_host_ends_it_as_ever") {
            let output = client("clients::a_fault_of_the_host_ends_it_as_ever");
            return assert_eq!(output.status.signal(), Some(libc::SIGSEGV), "{output:?}");
        }
        faults(&device_that(Addresses::Catch, 2));
        // SAFETY: none: this is what ends the client.
        unsafe { std::ptr::without_provenance::<u8>(8).read_volatile() };
    }

    #[test]
    fn a_signal_that_somebody_sent_is_no_fault() {
        if !is_client("clients::a_signal_that_somebody_sent_is_no_fault") {
            let output = client("clients::a_signal_that_somebody_sent_is_no_fault");
            return assert_eq!(output.status.signal(), Some(libc::SIGBUS), "{output:?}");
        }
        faults(&device_that(Addresses::Catch, 2));
        // The handler of Rust's runtime, which was there before ours, goes back to the default at the first one.
        for _ in 0..2 {
            // SAFETY: sends a signal to this thread.
            unsafe { libc::raise(libc::SIGBUS) };
        }
        // SAFETY: ends the client, which should not have come so far.
        unsafe { libc::_exit(0) }
    }

    #[test]
    fn threads_that_block_signals_are_served() {
        if !is_client("clients::threads_that_block_signals_are_served") {
            let output = client("clients::threads_that_block_signals_are_served");
            return assert!(output.status.success(), "{output:?}");
        }
        // SAFETY: blocks all signals of this thread, which the device's threads inherit.
        unsafe {
            let mut all: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut all);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        }
        faults(&device_that(Addresses::Catch, 3));
    }

    #[test]
    fn a_copy_of_the_process_needs_a_device_of_its_own() {
        if !is_client("clients::a_copy_of_the_process_needs_a_device_of_its_own") {
            let output = client("clients::a_copy_of_the_process_needs_a_device_of_its_own");
            return assert!(output.status.success(), "{output:?}");
        }
        let device = device_that(Addresses::Catch, 3);
        works(&device);
        let kernel = visitor(&device, ACCESSES[0].1);
        // SAFETY: the child uses this thread only, and threads that it starts itself.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_told = matches!(visit(&device, &kernel, 8, 50), Err(Error::Forked)) && device.is_forked();
            let own = device_that(Addresses::Catch, 3);
            faults(&own);
            works(&own);
            drop((own, device, kernel));
            // SAFETY: ends the child without what the parent has to do in its end.
            unsafe { libc::_exit(if is_told { 3 } else { 4 }) };
        }
        let mut status = 0;
        // SAFETY: waits for the child.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 3, "{status}");
        faults(&device);
        works(&device);
    }

    #[test]
    fn time_in_which_the_process_was_stopped_does_not_count() {
        if !is_client("clients::time_in_which_the_process_was_stopped_does_not_count") {
            let output = client("clients::time_in_which_the_process_was_stopped_does_not_count");
            return assert!(output.status.success(), "{output:?}");
        }
        let options = DeviceOptions { timeout: Some(Duration::from_secs(4)), ..DeviceOptions::default() };
        let device = Device::new(&options).unwrap();
        let waits = pipeline(
            &device,
            "layout(binding = 0) buffer B { uint go; uint on; };
             void main() { atomicAdd(on, 1); while (atomicAdd(go, 0) == 0) { } }",
        );
        let buffer = device.create_buffer(8).unwrap();
        let parent = std::process::id();
        // Stops this process for longer than the dispatch may take.
        let script = format!("sleep 0.3; kill -STOP {parent}; sleep 6; kill -CONT {parent}");
        let mut stopper = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                stopper.wait().unwrap();
                buffer.write(0, &1_u32.to_le_bytes()).unwrap();
            });
            let bindings = [Binding::new(0, 0, &buffer)];
            device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&waits, [1, 1, 1]) }).unwrap();
        });
        works(&device);
    }

    #[test]
    fn kernels_for_which_there_is_no_memory_are_refused() {
        if !is_client("clients::kernels_for_which_there_is_no_memory_are_refused") {
            let output = client("clients::kernels_for_which_there_is_no_memory_are_refused");
            return assert!(output.status.success(), "{output:?}");
        }
        let device = device_that(Addresses::Catch, 4);
        works(&device);
        let scratch = pipeline(
            &device,
            "layout(local_size_x = 1024) in;
             layout(binding = 0) buffer B { uint y[]; };
             void main() {
                 uint big[4000];
                 for (uint i = 0; i < 4000; i++) { big[i] = y[i % 7] + i; }
                 barrier();
                 y[gl_LocalInvocationIndex] = big[y[0] % 4000];
             }",
        );
        let limit = |bytes| {
            let limit = libc::rlimit { rlim_cur: bytes, rlim_max: libc::RLIM_INFINITY };
            // SAFETY: sets a limit of this process, which is a client.
            assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
        };
        limit(64 << 20);
        assert!(matches!(device.create_buffer(1 << 30), Err(Error::Memory(_))));
        let small = device.create_buffer(1 << 14).unwrap();
        let bindings = [Binding::new(0, 0, &small)];
        let run =
            || device.dispatch(&Dispatch { bindings: &bindings, ..Dispatch::new(&scratch, [64, 1, 1]) });
        match run() {
            Err(Error::Memory(_)) => {}
            other => panic!("expected a lack of memory, found {other:?}"),
        }
        limit(libc::RLIM_INFINITY);
        run().unwrap();
        works(&device);
    }
}
