//! Tests of the device with hand-written code.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use phalanx_back_llvm::Meta;
use phalanx_host::{Buffer, CancelToken, Descriptor};

use crate::pipeline::{SINGLE, UNKNOWN_TIME};
use crate::testing::{BUFFER, EMPTY, barrier, pipeline, pipeline_of, pipeline_with, prologue, stops};
use crate::{Config, Device, Dispatch, Error, Pipeline, Report};

fn device(threads: usize) -> Device {
    Device::new(&Config { threads: Some(threads), ..Config::default() }).unwrap()
}

/// A dispatch without arguments.
fn plain(pipeline: &Arc<Pipeline>, groups: [u32; 3]) -> Dispatch<'_> {
    Dispatch { pipeline, groups, base: [0; 3], descriptors: &[], push: &[], timeout: None, cancel: None }
}

/// Runs with one buffer.
fn run_on(device: &Device, dispatch: Dispatch<'_>, buffer: &Buffer) -> Result<Report, Error> {
    let descriptors = [buffer.descriptor(0, None).unwrap()];
    device.dispatch(&Dispatch { descriptors: &[&descriptors], ..dispatch })
}

fn words(buffer: &Buffer) -> Vec<u32> {
    let bytes = buffer.read(0, buffer.size()).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn meta(invocations: u32) -> Meta {
    Meta { subgroup_size: 32, workgroup_size: [invocations, 1, 1], num_bindings: 1, ..Meta::default() }
}

#[test]
fn every_group_runs_once_on_any_number_of_threads() {
    // buf[gy * nx + gx] += gy * nx + gx + push[0]
    let body = prologue()
        + BUFFER
        + "%row = mul i32 %gy, %nx
           %i = add i32 %row, %gx
           %p = getelementptr i32, ptr %buf, i32 %i
           %k = load i32, ptr %push
           %v = add i32 %i, %k
           %old = load i32, ptr %p
           %new = add i32 %old, %v
           store i32 %new, ptr %p
           ret void";
    let pipeline = pipeline_with(&body, Meta { push_bytes: 4, ..meta(32) });
    for threads in [1, 2, 5] {
        let device = device(threads);
        for groups in [[1, 1, 1], [13, 7, 1], [100, 100, 1], [0, 5, 1]] {
            let count = groups[0] * groups[1];
            let buffer = Buffer::new(u64::from(count.max(1)) * 4).unwrap();
            let dispatch = Dispatch { push: &1000_u32.to_le_bytes(), ..plain(&pipeline, groups) };
            run_on(&device, dispatch, &buffer).unwrap();
            let expected: Vec<u32> =
                (0..count.max(1)).map(|i| if count == 0 { 0 } else { i + 1000 }).collect();
            assert_eq!(words(&buffer), expected, "{threads} {groups:?}");
        }
    }
}

#[test]
#[cfg_attr(
    not(target_arch = "x86_64"),
    ignore = "nothing in it depends on the processor, and emulators starve threads"
)]
fn dispatches_that_took_little_get_help_when_they_take_more() {
    // Work-group 0 counts to push[0]. If that is more than 1, the groups 1 and 39 wait for each other.
    let body = prologue()
        + BUFFER
        + "%end = load i32, ptr %push
           %is.long = icmp ugt i32 %end, 1
           %other = sub i32 40, %gx
           %p = getelementptr i32, ptr %buf, i32 %gx
           %q = getelementptr i32, ptr %buf, i32 %other
           store volatile i32 %end, ptr %p
           switch i32 %gx, label %done [i32 0, label %count i32 1, label %wait i32 39, label %wait]
         count:
           %i = phi i32 [0, %0], [%more, %count]
           call void asm sideeffect \"\", \"\"()
           %more = add i32 %i, 1
           %again = icmp ult i32 %more, %end
           br i1 %again, label %count, label %done
         wait:
           br i1 %is.long, label %look, label %done
         look:
           %seen = load volatile i32, ptr %q
           %stops = load volatile i32, ptr %stop
           %both = icmp ne i32 %seen, %end
           %goes = icmp eq i32 %stops, 0
           %waits = and i1 %both, %goes
           br i1 %waits, label %look, label %done
         done:
           ret void";
    let pipeline = pipeline_with(&body, Meta { push_bytes: 4, ..meta(32) });
    let device = device(4);
    let buffer = Buffer::new(4 * 40).unwrap();
    let run = |rounds: u32| {
        let timeout = Some(Duration::from_secs(60));
        let dispatch = Dispatch { push: &rounds.to_le_bytes(), timeout, ..plain(&pipeline, [40, 1, 1]) };
        run_on(&device, dispatch, &buffer).unwrap();
        assert_eq!(words(&buffer), [rounds; 40]);
    };
    run(1);
    // As if its work-groups took no time; so the next dispatch begins on the calling thread alone.
    pipeline.group_time.store(0, Ordering::Relaxed);
    run(1_000_000);
    assert_ne!(pipeline.group_time.load(Ordering::Relaxed), 0);
}

#[test]
#[cfg_attr(
    not(target_arch = "x86_64"),
    ignore = "nothing in it depends on the processor, and emulated ones take longer than what is brief"
)]
fn a_dispatch_that_only_seemed_long_is_known_to_be_brief_again() {
    let device = device(4);
    let pipeline = pipeline_with(EMPTY, Meta { num_bindings: 0, ..meta(32) });
    let is_known = || {
        // As if threads had kept each other waiting: two work-groups that take 20 µs each.
        pipeline.group_time.store(20_000, Ordering::Relaxed);
        pipeline.doubts.store(0, Ordering::Relaxed);
        device.dispatch(&plain(&pipeline, [2, 1, 1])).unwrap();
        // Where threads have met, half of that is left.
        pipeline.group_time.load(Ordering::Relaxed) < 10_000
    };
    // The machine may be busy.
    assert!((0..10_000).any(|_| is_known()));
}

/// Adds `whole` to `buf[0]` and `step` to `buf[1 + gy * nx + gx]`, and may decline.
fn count_body(whole: u32, step: u32, declines: u32) -> String {
    prologue()
        + BUFFER
        + &format!(
            "%row = mul i32 %gy, %nx
             %place = add i32 %row, %gx
             %mine = add i32 %place, 1
             %p = getelementptr i32, ptr %buf, i32 %mine
             %old = load i32, ptr %p
             %new = add i32 %old, {step}
             store i32 %new, ptr %p
             %all.old = load i32, ptr %buf
             %all.new = add i32 %all.old, {whole}
             store i32 %all.new, ptr %buf
             store i32 {declines}, ptr %declined.p
             ret void"
        )
}

#[test]
fn a_block_that_declines_is_run_one_by_one() {
    // buf[0] counts calls for a block, which decline, and the others those for a work-group.
    let meta = Meta { block: Some([2, 3]), ..meta(32) };
    let pipeline = pipeline_of(&count_body(0, 1, 0), Some(&count_body(1, 0, 1)), meta);
    let (device, buffer) = (device(1), Buffer::new(4 * (1 + 5 * 7)).unwrap());
    let dispatch = || {
        run_on(&device, plain(&pipeline, [5, 7, 1]), &buffer).unwrap();
        words(&buffer)
    };
    // Four whole blocks; after that none is tried for so many dispatches.
    for dispatches in 1..=1 + SINGLE {
        let counts = dispatch();
        assert_eq!(counts[0], 4, "{dispatches}");
        assert_eq!(counts[1..], [dispatches; 35]);
    }
    assert_eq!(dispatch()[0], 8);
}

#[test]
fn the_form_is_chosen_by_push_constants() {
    for (runs_groups, waits) in [(false, false), (true, false), (false, true)] {
        let meta = Meta { push_bytes: 12, aligned: vec![(0, 5), (8, 2)], runs_groups, ..meta(64) };
        let meta = if waits { stops(meta) } else { meta };
        // Work-groups have two subgroups, or are run in a row by calls that each count as one.
        let pipeline = pipeline_of(&count_body(1, 0, 0), Some(&count_body(1000, 0, 0)), meta);
        let device = device(1);
        for (words_pushed, is_special) in [
            ([32, 1, 4], true),
            ([0, 0, 0], true),
            ([0xffff_ffe0, 7, 0x8000_0000], true),
            ([16, 1, 4], false),
            ([32, 1, 2], false),
            ([33, 0, 5], false),
        ] {
            let push = words_pushed.map(u32::to_le_bytes).concat();
            let buffer = Buffer::new(4 * 2).unwrap();
            run_on(&device, Dispatch { push: &push, ..plain(&pipeline, [1, 1, 1]) }, &buffer).unwrap();
            let calls = if runs_groups { 1 } else { 2 };
            assert_eq!(words(&buffer)[0], calls * if is_special { 1000 } else { 1 }, "{words_pushed:?}");
        }
    }
}

/// In 10 rounds each subgroup adds its neighbour's number to its own: all must keep step.
fn rounds_body() -> String {
    prologue()
        + BUFFER
        + "%mine = getelementptr i32, ptr %shared, i32 %sg
           %next.i = add i32 %sg, 1
           %next.m = urem i32 %next.i, 8
           %next = getelementptr i32, ptr %shared, i32 %next.m
           store i32 %sg, ptr %mine
           store i32 %sg, ptr %scratch
           br label %loop
         loop:
           %round = phi i32 [0, %start], [%round.next, %read]\n"
        + &barrier("written")
        + "%n = load i32, ptr %next\n"
        + &barrier("read")
        + "%m = load i32, ptr %mine
           %sum = add i32 %m, %n
           store i32 %sum, ptr %mine
           %round.next = add i32 %round, 1
           %more = icmp ult i32 %round.next, 10
           br i1 %more, label %loop, label %done
         done:
           %result = load i32, ptr %mine
           %kept = load i32, ptr %scratch
           %same = icmp eq i32 %kept, %sg
           %safe = select i1 %same, i32 %result, i32 -1
           %g = mul i32 %gx, 8
           %i = add i32 %g, %sg
           %p = getelementptr i32, ptr %buf, i32 %i
           store i32 %safe, ptr %p
           ret void"
}

fn rounds_expected() -> Vec<u32> {
    let mut values: Vec<u32> = (0..8).collect();
    for _ in 0..10 {
        values = (0..8).map(|i| values[i] + values[(i + 1) % 8]).collect();
    }
    values
}

#[test]
fn barriers_keep_subgroups_in_step() {
    let pipeline =
        pipeline_with(&rounds_body(), stops(Meta { shared_bytes: 32, scratch_bytes: 100, ..meta(256) }));
    for threads in [1, 3] {
        let device = device(threads);
        let buffer = Buffer::new(8 * 4 * 50).unwrap();
        run_on(&device, plain(&pipeline, [50, 1, 1]), &buffer).unwrap();
        for group in words(&buffer).chunks_exact(8) {
            assert_eq!(group, rounds_expected());
        }
    }
}

#[test]
fn a_subgroup_that_returned_is_not_waited_for() {
    // Subgroup s passes s barriers, then counts up its word.
    let body = prologue()
        + BUFFER
        + "br label %loop
         loop:
           %round = phi i32 [0, %start], [%round.next, %behind]
           %more = icmp ult i32 %round, %sg
           br i1 %more, label %wait, label %done
         wait:\n"
        + &barrier("behind")
        + "%round.next = add i32 %round, 1
           br label %loop
         done:
           %p = getelementptr i32, ptr %buf, i32 %sg
           %old = load i32, ptr %p
           %new = add i32 %old, 1
           store i32 %new, ptr %p
           ret void";
    let pipeline = pipeline_with(&body, stops(meta(128)));
    let buffer = Buffer::new(16).unwrap();
    run_on(&device(1), plain(&pipeline, [7, 1, 1]), &buffer).unwrap();
    assert_eq!(words(&buffer), [7; 4]);
}

#[test]
fn a_single_subgroup_passes_barriers() {
    let body = prologue() + &barrier("behind") + "ret void";
    let pipeline = pipeline_with(&body, stops(Meta { num_bindings: 0, ..meta(20) }));
    device(1).dispatch(&plain(&pipeline, [3, 1, 1])).unwrap();
}

/// Loops until stopped.
fn endless(with_barrier: bool) -> Arc<Pipeline> {
    let barrier = if with_barrier { barrier("behind") } else { String::new() };
    let body = prologue()
        + &format!(
            "br label %loop
         loop:
           {barrier}
           %flag = load atomic i32, ptr %stop monotonic, align 4
           %go = icmp eq i32 %flag, 0
           br i1 %go, label %loop, label %done
         done:
           ret void"
        );
    let meta = Meta { num_bindings: 0, ..meta(128) };
    pipeline_with(&body, if with_barrier { stops(meta) } else { meta })
}

#[test]
fn the_watchdog_ends_endless_loops() {
    for with_barrier in [false, true] {
        let pipeline = endless(with_barrier);
        let device = device(2);
        for _ in 0..2 {
            let start = Instant::now();
            let timeout = Some(Duration::from_millis(30));
            let result = device.dispatch(&Dispatch { timeout, ..plain(&pipeline, [1000, 1, 1]) });
            assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}");
            assert!(start.elapsed() < Duration::from_secs(5));
        }
        // The device lives on.
        device.dispatch(&plain(&crate::testing::pipeline(EMPTY), [10, 1, 1])).unwrap();
    }
}

#[test]
fn the_devices_own_limit_holds() {
    let config = Config { timeout: Some(Duration::from_millis(20)), threads: Some(1), ..Config::default() };
    let result = Device::new(&config).unwrap().dispatch(&plain(&endless(false), [1, 1, 1]));
    assert!(matches!(result, Err(Error::Timeout { limit }) if limit == Duration::from_millis(20)));
}

#[test]
fn another_thread_can_cancel() {
    let token = CancelToken::default();
    let pipeline = endless(true);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            token.cancel();
        });
        let result = device(2).dispatch(&Dispatch { cancel: Some(&token), ..plain(&pipeline, [10, 1, 1]) });
        assert!(matches!(result, Err(Error::Cancelled)), "{result:?}");
    });
}

#[test]
fn printing_is_collected() {
    let body = prologue()
        + "%args = alloca [2 x i64]
           %x = zext i32 %gx to i64
           store i64 %x, ptr %args
           call void %printf(ptr %c, i32 1, i32 0, ptr %args, i32 1)
           call void %printf(ptr %c, i32 0, i32 0, ptr null, i32 0)
           ret void";
    let formats = vec!["plain".into(), "group %u".into()];
    let pipeline = pipeline_with(&body, Meta { formats, num_bindings: 0, ..meta(32) });
    let mut printed = device(2).dispatch(&plain(&pipeline, [3, 1, 1])).unwrap().printed;
    printed.sort();
    assert_eq!(printed, ["group 0", "group 1", "group 2", "plain", "plain", "plain"]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let device = device(1);
    let with_push = pipeline_with(EMPTY, Meta { push_bytes: 8, ..meta(32) });
    let buffer = Buffer::new(4).unwrap();
    let result = run_on(&device, plain(&with_push, [1, 1, 1]), &buffer);
    assert!(matches!(result, Err(Error::PushConstants { expected: 8, found: 0 })));
    let result = device.dispatch(&plain(&with_push, [1, 1, 1]));
    assert!(matches!(result, Err(Error::Bindings { expected: 1, found: 0 })));
    let single = pipeline_with(EMPTY, Meta { workgroup_size: [1; 3], num_bindings: 0, ..meta(1) });
    let most = phalanx_ir::MAX_DISPATCH_INVOCATIONS;
    let result = device.dispatch(&plain(&single, [most; 3]));
    assert!(matches!(result, Err(Error::TooManyGroups { .. })));
    for (groups, base, axis) in [([1, 1, most + 1], [0; 3], 'z'), ([1; 3], [0, most, 0], 'y')] {
        let result = device.dispatch(&Dispatch { base, ..plain(&single, groups) });
        let found = u64::from(most) + 1;
        assert!(
            matches!(result, Err(Error::TooManyInvocations { axis: a, found: f, limit }) if (a, f, limit) == (axis, found, most))
        );
    }
}

#[test]
fn deep_stacks_are_provided() {
    // A frame of 5 MiB, touched at its far end.
    let body = prologue()
        + "%a = alloca [5242880 x i8], align 64
           store volatile i8 1, ptr %a
           ret void";
    let frame = Meta { stack_bytes: 5_242_880 + 256, num_bindings: 0, ..meta(128) };
    let deep = pipeline_with(&body, frame.clone());
    let alone = pipeline_with(&body, Meta { workgroup_size: [32, 1, 1], ..frame });
    let device = device(2);
    for pipeline in [&deep, &alone, &pipeline(EMPTY), &deep] {
        device.dispatch(&plain(pipeline, [4, 1, 1])).unwrap();
    }
    let absurd = Meta { stack_bytes: u64::MAX, num_bindings: 0, ..meta(128) };
    let result = device.dispatch(&plain(&pipeline_with(EMPTY, absurd), [1; 3]));
    assert!(matches!(result, Err(Error::Memory(_))), "{result:?}");
}

#[test]
fn absurd_scratch_memory_is_a_typed_error() {
    for scratch_bytes in [u64::MAX, 1 << 60] {
        let pipeline = pipeline_with(EMPTY, Meta { scratch_bytes, num_bindings: 0, ..meta(128) });
        let result = device(2).dispatch(&plain(&pipeline, [10, 1, 1]));
        assert!(matches!(result, Err(Error::Memory(_))), "{result:?}");
        let frames = Meta { frame_bytes: scratch_bytes, ..stops(Meta { num_bindings: 0, ..meta(128) }) };
        let result = device(2).dispatch(&plain(&pipeline_with(EMPTY, frames), [10, 1, 1]));
        assert!(matches!(result, Err(Error::Memory(_))), "{result:?}");
    }
}

#[test]
fn dispatches_may_run_at_once() {
    let device = device(2);
    let pipeline =
        pipeline_with(&rounds_body(), stops(Meta { shared_bytes: 32, scratch_bytes: 64, ..meta(256) }));
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..20 {
                    let buffer = Buffer::new(8 * 4 * 5).unwrap();
                    run_on(&device, plain(&pipeline, [5, 1, 1]), &buffer).unwrap();
                    assert!(words(&buffer).chunks_exact(8).all(|group| group == rounds_expected()));
                }
            });
        }
    });
}

/// Work-group 0 of a dispatch stores 1 to word push[0], and waits until word push[1] is not 0, or it has to stop.
fn meets() -> Arc<Pipeline> {
    let body = prologue()
        + BUFFER
        + "%own = load i32, ptr %push
           %other.p = getelementptr i32, ptr %push, i32 1
           %other = load i32, ptr %other.p
           %p = getelementptr i32, ptr %buf, i32 %own
           %q = getelementptr i32, ptr %buf, i32 %other
           store atomic i32 1, ptr %p release, align 4
           br label %look
         look:
           %seen = load atomic i32, ptr %q acquire, align 4
           %stops = load volatile i32, ptr %stop
           %alone = icmp eq i32 %seen, 0
           %goes = icmp eq i32 %stops, 0
           %waits = and i1 %alone, %goes
           br i1 %waits, label %look, label %done
         done:
           ret void";
    pipeline_with(&body, Meta { push_bytes: 8, ..meta(32) })
}

/// Push constants of dispatches that wait for another's word.
fn pushes<const N: usize>(words: [[u32; 2]; N]) -> [Vec<u8>; N] {
    words.map(|words| words.map(u32::to_ne_bytes).concat())
}

#[test]
fn dispatches_of_a_batch_run_at_once() {
    // Each waits for the other, and those around them are over at once.
    let (device, pipeline) = (device(2), meets());
    for _ in 0..20 {
        // What is known to be brief begins on the calling thread alone.
        pipeline.group_time.store(UNKNOWN_TIME, Ordering::Relaxed);
        let buffer = Buffer::new(16).unwrap();
        let descriptors: [&[_]; 1] = [&[buffer.descriptor(0, None).unwrap()]];
        let all = pushes([[0, 0], [1, 2], [2, 1], [3, 3]]);
        let timeout = Some(Duration::from_secs(60));
        let dispatch =
            |push| Dispatch { push, descriptors: &descriptors, timeout, ..plain(&pipeline, [1; 3]) };
        let results = device.dispatch_all(&all.each_ref().map(|push| dispatch(push)));
        assert!(results.iter().all(Result::is_ok), "{results:?}");
        assert_eq!(words(&buffer), [1; 4]);
    }
}

#[test]
fn the_time_of_a_dispatch_begins_with_it() {
    // On one thread three wait for words that come one after the other, the last later than each may take.
    let (device, pipeline) = (device(1), meets());
    let buffer = Buffer::new(24).unwrap();
    let descriptors: [&[_]; 1] = [&[buffer.descriptor(0, None).unwrap()]];
    let all = pushes([[0, 3], [1, 4], [2, 5]]);
    let timeout = Some(Duration::from_millis(900));
    let dispatch = |push| Dispatch { push, descriptors: &descriptors, timeout, ..plain(&pipeline, [1; 3]) };
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for word in 3..6 {
                std::thread::sleep(Duration::from_millis(400));
                buffer.write(4 * word, &1_u32.to_ne_bytes()).unwrap();
            }
        });
        let results = device.dispatch_all(&all.each_ref().map(|push| dispatch(push)));
        assert!(results.iter().all(Result::is_ok), "{results:?}");
    });
}

#[test]
fn results_are_those_of_their_dispatches() {
    let device = device(2);
    let good = pipeline_with(EMPTY, Meta { num_bindings: 0, ..meta(32) });
    let [misfit, late] = [pipeline_with(EMPTY, meta(32)), endless(true)];
    let body = prologue() + "call void %printf(ptr %c, i32 0, i32 0, ptr null, i32 0)\nret void";
    let prints = Meta { formats: vec!["here".into()], num_bindings: 0, ..meta(32) };
    let prints = pipeline_with(&body, prints);
    assert!(device.dispatch_all(&[]).is_empty());
    let all = [&good, &misfit, &prints, &good].map(|pipeline| plain(pipeline, [2, 1, 1]));
    let results = device.dispatch_all(&all);
    assert!(matches!(results[1], Err(Error::Bindings { expected: 1, found: 0 })));
    let printed: Vec<_> = results.iter().flatten().map(|report| report.printed.len()).collect();
    assert_eq!(printed, [0, 2, 0]);

    // More than a batch, of which one does not end: what comes after it ends, or is stopped with it.
    let timeout = Some(Duration::from_millis(30));
    let mut all = vec![plain(&good, [1; 3]); 200];
    all[100] = Dispatch { timeout, ..plain(&late, [50, 1, 1]) };
    let results = device.dispatch_all(&all);
    assert_eq!(results.len(), 200);
    for (index, result) in results.iter().enumerate() {
        match index {
            100 => assert!(matches!(result, Err(Error::Timeout { .. })), "{result:?}"),
            64..128 => assert!(matches!(result, Ok(_) | Err(Error::Cancelled)), "{result:?}"),
            _ => assert!(result.is_ok(), "{index}: {result:?}"),
        }
    }
}

#[test]
fn empty_descriptors_are_allowed() {
    let pipeline = pipeline_with(EMPTY, meta(32));
    for descriptors in [&[][..], &[Descriptor::default(); 3]] {
        device(1).dispatch(&Dispatch { descriptors: &[descriptors], ..plain(&pipeline, [1; 3]) }).unwrap();
    }
}

#[test]
fn prints_the_cost_of_a_dispatch() {
    let device = [device(1), device(2)];
    let time = |pipeline: &Arc<Pipeline>, groups: u32| {
        device.each_ref().map(|device| {
            device.dispatch(&plain(pipeline, [groups, 1, 1])).unwrap();
            let start = Instant::now();
            for _ in 0..100 {
                device.dispatch(&plain(pipeline, [groups, 1, 1])).unwrap();
            }
            start.elapsed() / 100
        })
    };
    for groups in [1, 2, 100, 10_000] {
        println!("{groups} groups on 1 and 2 threads: {:?}", time(&pipeline(EMPTY), groups));
    }
    let body = prologue()
        + "br label %loop
         loop:
           %round = phi i32 [0, %start], [%round.next, %behind]\n"
        + &barrier("behind")
        + "%round.next = add i32 %round, 1
           %more = icmp ult i32 %round.next, ";
    for (subgroups, barriers) in [(2, 1), (8, 1), (32, 1), (2, 100), (8, 100), (32, 100)] {
        let body = format!("{body}{barriers}\nbr i1 %more, label %loop, label %done\ndone: ret void");
        let pipeline = pipeline_with(&body, stops(Meta { num_bindings: 0, ..meta(32 * subgroups) }));
        let [one, two] = time(&pipeline, 100).map(|time| time.as_nanos() / u128::from(100 * subgroups));
        println!("{subgroups} subgroups, {barriers} barriers: {one} and {two} ns per subgroup");
    }
}
