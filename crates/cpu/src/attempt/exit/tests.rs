//! Tests of processes that end while work is left behind. Nothing in them depends on the processor, and those that are
//! emulated cannot start one.
#![cfg(target_arch = "x86_64")]

use super::super::{Abandoned, Attempt};
use super::*;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

const STATUS: i32 = 3;

/// The variable that tells a process what it is to do.
const VARIABLE: &str = "PHALANX_TEST_CLIENT";

/// Runs a test of this file in a process that is to do this; its status and what it wrote.
fn client(test: &str, what: &str) -> (ExitStatus, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("attempt::exit::tests::{test}"), "--nocapture"]);
    let output = command.env(VARIABLE, what).output().unwrap();
    (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Leaves work behind, and ends the process.
#[expect(clippy::exit, reason = "it is what is tested")]
fn exit_from(work: impl FnOnce() + Send + 'static) -> ! {
    let limit = Duration::from_millis(1);
    let attempt = Attempt { limit: Some(limit), ..Attempt::default() };
    assert_eq!(attempt.run(work), Err(Abandoned::Timeout { limit }));
    process::exit(STATUS)
}

/// An access to memory that is not there.
fn fault() {
    let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a fresh mapping touches nothing else.
    let page = unsafe { libc::mmap(ptr::null_mut(), 4096, libc::PROT_NONE, kind, -1, 0) };
    // SAFETY: the mapping is this function's; that it cannot be read is told by a signal.
    unsafe { page.cast::<u8>().read_volatile() };
}

/// Whether the process waits no more, and whether work is about to fault.
static STAGES: [AtomicBool; 2] = [const { AtomicBool::new(false) }; 2];

fn wait_for(stage: &AtomicBool) {
    while !stage.load(Ordering::Acquire) {
        thread::sleep(LOOK);
    }
}

/// Work that the process does not wait for to its end, and that faults while the process ends.
fn fault_at_exit(fault: fn()) {
    wait_for(&STAGES[0]);
    eprintln!("a fault");
    STAGES[1].store(true, Ordering::Release);
    fault();
    eprintln!("no fault");
}

#[test]
fn the_end_of_a_process_waits_for_work() {
    if std::env::var_os(VARIABLE).is_some() {
        exit_from(|| {
            wait_for(&HAS_BEGUN);
            assert_eq!(Attempt::default().run(|| 7), Ok(7), "a part of the work");
            eprintln!("worked to its end");
        });
    }
    // Not for ever: where others want all processors, the work may get none.
    let is_done = (0..5).any(|_| {
        let (status, text) = client("the_end_of_a_process_waits_for_work", "leave work");
        assert_eq!(status.code(), Some(STATUS), "{status} {text}");
        text.contains("worked to its end")
    });
    assert!(is_done);
}

#[test]
fn work_that_faults_does_not_change_the_status_of_its_process() {
    extern "C" fn slow_destructor() {
        STAGES[0].store(true, Ordering::Release);
        wait_for(&STAGES[1]);
        // For a thread that runs only when nothing else wants to.
        thread::sleep(Duration::from_millis(200));
        assert_eq!(Attempt::default().run(|| 7), Err(Abandoned::ProcessEnds));
    }
    if let Ok(what) = std::env::var(VARIABLE) {
        // SAFETY: the function is there to the end. What is registered first is called last.
        unsafe { libc::atexit(slow_destructor) };
        exit_from(move || fault_at_exit(if what == "abort" { || process::abort() } else { fault }));
    }
    for what in ["fault", "abort"] {
        let (status, text) = client("work_that_faults_does_not_change_the_status_of_its_process", what);
        assert_eq!(status.code(), Some(STATUS), "{what}: {status} {text}");
        assert!(text.contains("a fault") && !text.contains("no fault"), "{what}: {text}");
    }
}

#[test]
fn faults_of_others_are_what_they_were() {
    extern "C" fn wrong_destructor() {
        fault();
    }
    if std::env::var_os(VARIABLE).is_some() {
        // SAFETY: the function is there to the end.
        unsafe { libc::atexit(wrong_destructor) };
        exit_from(|| thread::sleep(4 * PATIENCE));
    }
    let (status, text) = client("faults_of_others_are_what_they_were", "fault");
    assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status} {text}");
}
