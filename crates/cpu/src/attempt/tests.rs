//! Tests of giving up.

use super::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

#[test]
fn work_gives_its_result_and_threads_are_used_again() {
    let id = || Attempt::default().run(|| thread::current().id()).unwrap();
    let ids: Vec<_> = (0..20).map(|_| id()).collect();
    assert!(ids.iter().any(|id| *id == ids[0] && *id != thread::current().id()));
    assert!(ids.windows(2).any(|pair| pair[0] == pair[1]), "{ids:?}");
    let nested = Attempt::default()
        .run(|| (thread::current().id(), Attempt::default().run(|| thread::current().id())));
    let (outer, inner) = nested.unwrap();
    assert_eq!(inner, Ok(outer));
}

#[test]
fn what_does_not_end_is_given_up() {
    let ended = Arc::new(AtomicBool::new(false));
    let loops = |ended: &Arc<AtomicBool>| {
        let ended = Arc::clone(ended);
        move || {
            while !ended.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    };
    let limit = Duration::from_millis(30);
    let attempt = Attempt { limit: Some(limit), ..Attempt::default() };
    assert_eq!(attempt.run(loops(&ended)), Err(Abandoned::Timeout { limit }));
    let token = CancelToken::default();
    let attempt = Attempt { cancel: Some(&token), ..Attempt::default() };
    let result = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(Duration::from_millis(30));
            token.cancel();
        });
        attempt.run(loops(&ended))
    });
    assert_eq!(result, Err(Abandoned::Cancelled));
    // Others go on.
    assert_eq!(Attempt::default().run(|| 7), Ok(7));
    ended.store(true, Ordering::Relaxed);
}

#[test]
fn a_thread_that_was_left_behind_does_nothing_more() {
    let (hand, begun) = sync_channel(1);
    let (done, end) = sync_channel::<()>(0);
    let slow = move || {
        hand.send(thread::current().id()).unwrap();
        // Until nobody waits for it any more.
        let _dropped = end.recv();
    };
    let limit = Duration::from_millis(30);
    let attempt = Attempt { limit: Some(limit), ..Attempt::default() };
    assert_eq!(attempt.run(slow), Err(Abandoned::Timeout { limit }));
    drop(done);
    let left_behind = begun.recv().unwrap();
    for _ in 0..50 {
        thread::sleep(Duration::from_millis(1));
        assert_ne!(Attempt::default().run(|| thread::current().id()), Ok(left_behind));
    }
}

#[test]
fn a_part_is_done_beside_the_rest() {
    fn id() -> thread::ThreadId {
        thread::current().id()
    }
    // Each waits for the other to begin.
    let meet = || {
        let (one, other) = (Arc::new(std::sync::Barrier::new(2)), id());
        let for_part = Arc::clone(&one);
        let part = move || {
            for_part.wait();
            (ending::watched().is_some(), id())
        };
        let rest = || {
            one.wait();
            id()
        };
        (Beside.both(rest, part), other)
    };
    let ((rest, (is_watched, part)), own) = Attempt::default().run(meet).unwrap();
    assert_eq!(rest, own);
    assert!(is_watched && part != own);
    // Nobody waits for this thread's work, so it does both.
    assert_eq!(Beside.both(id, id), (id(), id()));
}

#[test]
fn how_a_part_ends_is_how_the_work_ends() {
    // SAFETY: the layout is not empty, and no such memory can be had.
    let exhaust = || unsafe {
        std::alloc::GlobalAlloc::alloc(
            &exhaustion::Allocator,
            std::alloc::Layout::from_size_align(usize::MAX / 4, 8).unwrap(),
        )
    } as usize;
    assert_eq!(Attempt::default().run(move || Beside.both(|| 1, exhaust)), Err(Abandoned::OutOfMemory));
    let panics = || Beside.both(|| 1, || -> usize { resume_unwind(Box::new("why")) });
    let result = catch_unwind(|| Attempt::default().run(panics));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&"why"));
    let ended = Arc::new(AtomicBool::new(false));
    let for_part = Arc::clone(&ended);
    let endless = move || {
        Beside.both(
            || 1,
            move || {
                while !for_part.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(1));
                }
            },
        )
    };
    let limit = Duration::from_millis(30);
    let attempt = Attempt { limit: Some(limit), ..Attempt::default() };
    assert_eq!(attempt.run(endless), Err(Abandoned::Timeout { limit }));
    assert_eq!(Attempt::default().run(|| Beside.both(|| 7, || 8)), Ok((7, 8)), "others go on");
    ended.store(true, Ordering::Relaxed);
}

#[test]
fn stacks_are_deep() {
    fn depth(left: usize) -> usize {
        let frame = std::hint::black_box([left; 128]);
        if left == 0 { 0 } else { frame[left % 128] - left + 1 + depth(left - 1) }
    }
    assert_eq!(Attempt::default().run(|| depth(30_000)), Ok(30_000), "30 MiB");
}

#[test]
fn panics_go_on_where_the_work_was_asked_for() {
    let result = catch_unwind(|| Attempt::default().run(|| resume_unwind(Box::new("why"))).map(|()| 0));
    assert_eq!(result.unwrap_err().downcast_ref(), Some(&"why"));
    assert_eq!(Attempt::default().run(|| 7), Ok(7));
}

#[test]
fn the_end_of_memory_is_an_error() {
    unsafe extern "C-unwind" {
        /// `operator new(size_t)`
        #[link_name = "_Znwm"]
        fn new(bytes: usize) -> *mut u8;
    }
    // SAFETY: no such object can be, so the handler is called.
    let cpp = || unsafe { new(usize::MAX / 4) } as usize;
    assert_eq!(Attempt::default().run(cpp), Err(Abandoned::OutOfMemory));
    // SAFETY: the layout is not empty, and no such memory can be had.
    let rust = || unsafe {
        std::alloc::GlobalAlloc::alloc(
            &exhaustion::Allocator,
            std::alloc::Layout::from_size_align(usize::MAX / 4, 8).unwrap(),
        )
    } as usize;
    assert_eq!(Attempt::default().run(rust), Err(Abandoned::OutOfMemory));
    assert_eq!(rust(), 0, "elsewhere it is the caller's to handle");
    assert_eq!(Attempt::default().run(|| 7), Ok(7));
}

#[test]
fn fatal_errors_of_llvm_are_errors() {
    // An instruction of another machine cannot be selected.
    let llvm = || {
        let text = "declare void @llvm.aarch64.isb(i32)
            define void @f() { call void @llvm.aarch64.isb(i32 15) ret void }";
        crate::testing::object_for("x86_64-unknown-linux-gnu", text).len()
    };
    let result = Attempt::default().run(llvm);
    assert!(matches!(&result, Err(Abandoned::Fatal(text)) if text.contains("select")), "{result:?}");
    assert_eq!(Attempt::default().run(|| 7), Ok(7));
}

#[test]
fn prints_the_cost_of_an_attempt() {
    Attempt::default().run(|| ()).unwrap();
    let start = Instant::now();
    (0..1000).for_each(|_| Attempt::default().run(|| ()).unwrap());
    println!("{:?} for an attempt", start.elapsed() / 1000);
}
