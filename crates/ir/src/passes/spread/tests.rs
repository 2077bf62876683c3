use super::*;
use crate::{text, verify};

/// A kernel of two subgroups with the variable `$m` of the work-group.
fn spread_code(code: &str) -> Option<String> {
    let module = format!(
        "workgroup_size 8 1 1 subgroup_size 4 shared 100
        binding buf0 = 0.0 storage writable
        var $m: mat<4x4xf32, workgroup, acc>
        var $i: i32
        {{
        %zero: i32 = const 0
        %one: i32 = const 1
        %p: ptr<buffer> = buffer_ptr<buf0> %zero
        %s: i64 = const 16
        %own: i32 = local_invocation_index
        %is: bool = ieq %own, %one
        {code} }}"
    );
    let module = verify(text::parse(&module).unwrap_or_else(|e| panic!("{e}"))).unwrap();
    let spread = spread(&module, &Options { verify: true, ..Options::default() }).unwrap();
    spread.map(|module| outline(&module.body, Function::ENTRY))
}

/// What matters here of the code: publish, collect, barrier, component, whole access, other matrices.
fn outline(body: &Function, block: Block) -> String {
    let mut words = Vec::new();
    for &inst in body.block(block) {
        let info = body.inst(inst);
        let is_shared = |v: &Value| body.ty(*v) == Type::Ptr(Space::Shared);
        let word = match &info.op {
            Op::Barrier(_) => "wait".to_owned(),
            Op::MatStore { .. } if info.args.first().is_some_and(is_shared) => "publish".to_owned(),
            Op::MatLoad { .. } if info.args.first().is_some_and(is_shared) => "collect".to_owned(),
            Op::MatStore { .. } => "write".to_owned(),
            Op::Load(_) if info.args.first().is_some_and(is_shared) => "get".to_owned(),
            Op::Store(_) if info.args.first().is_some_and(is_shared) => "put".to_owned(),
            Op::Br(_) => "br".to_owned(),
            Op::Return => "return".to_owned(),
            op if op.bodies().next().is_some() => {
                let inner: Vec<String> = op.bodies().map(|body_block| outline(body, body_block)).collect();
                let inner = inner.join(" ");
                if inner.trim().is_empty() || inner.trim() == "put" {
                    inner
                } else {
                    format!("({})", inner.trim())
                }
            }
            _ => continue,
        };
        words.push(word);
    }
    words.retain(|word| !word.trim().is_empty());
    words.iter().map(|word| word.trim()).collect::<Vec<_>>().join(" ")
}

fn expect(code: &str, outline: &str) {
    assert_eq!(spread_code(code).as_deref(), Some(outline), "{code}");
}

const LOAD: &str = "%a: mat<4x4xf32, workgroup, acc> = mat_load %p, %s var_store<$m> %a";
const STORE: &str = "%z: mat<4x4xf32, workgroup, acc> = var_load<$m> mat_store %p, %z, %s";
const PUT: &str = "%x: f32 = var_component_load<$m> %zero, %one var_component_store<$m> %zero, %one, %x";

#[test]
fn one_region_for_accesses_that_follow_each_other() {
    expect(
        &format!("{LOAD} {PUT} {} {STORE}", PUT.replace("%x", "%y")),
        "publish wait get put get put wait collect write",
    );
}

#[test]
fn a_loop_without_whole_accesses_is_a_region() {
    let code =
        format!("{LOAD} loop @l {{ if %is {{ {PUT} }} else {{ }} if %is {{ br @l }} else {{ }} }} {STORE}");
    expect(&code, "publish wait ((get put) (br)) wait collect write");
}

#[test]
fn whole_accesses_bound_the_regions_in_a_loop() {
    let code = format!("{LOAD} loop @l {{ {PUT} {STORE} if %is {{ br @l }} else {{ }} }}");
    expect(&code, "(publish wait get put wait collect write (br))");
}

#[test]
fn invocations_that_go_on_make_the_loop_one_region() {
    let code = format!(
        "{LOAD} loop @l {{ {STORE} if %is {{ {PUT} br @l }} else {{ }} }} {}",
        STORE.replace("%z", "%w")
    );
    expect(&code, "publish wait (wait collect wait write (get put br)) wait collect write");
}

#[test]
fn who_left_before_an_access_widens_the_region() {
    let code = format!("block @b {{ {LOAD} if %is {{ br @b }} else {{ }} {PUT} }} {STORE}");
    expect(&code, "publish wait (wait collect publish wait (br) get put) wait collect write");
}

#[test]
fn behind_the_last_whole_access_invocations_may_leave() {
    let code = format!("{LOAD} if %is {{ return }} else {{ }} {PUT}");
    expect(&code, "publish wait (return) get put");
}

#[test]
fn a_return_in_the_middle_keeps_the_variable_there() {
    let code = format!("{LOAD} if %is {{ {PUT} return }} else {{ }} {STORE}");
    expect(&code, "wait collect publish wait (get put return) wait collect wait write");
}

#[test]
fn values_get_variables() {
    let code = "%a: mat<4x4xf32, workgroup, acc> = mat_load %p, %s
        %x: f32 = mat_extract %a, %one
        %b: mat<4x4xf32, workgroup, acc> = mat_insert %a, %zero, %x
        mat_store %p, %b, %s";
    expect(code, "publish wait get publish wait put wait collect write");
}

#[test]
fn scalars_that_vary_are_stored_by_all() {
    let code = |x: &str| {
        format!(
            "%x: f32 = u_to_f {x}
            %a: mat<4x4xf32, workgroup, acc> = mat_splat %x
            %b: mat<4x4xf32, workgroup, acc> = mat_scale %a, %x
            mat_store %p, %b, %s"
        )
    };
    let filled = "publish wait (put (br)) wait collect";
    expect(&code("%own"), &format!("{filled} {filled} write"));
    assert_eq!(spread_code(&code("%one")), None);
    // What subgroups have alike, work-groups may not.
    let id = format!("%id: i32 = subgroup_id\n{}", code("%id"));
    expect(&id, &format!("{filled} {filled} write"));
}

#[test]
fn shared_memory_grows_behind_what_there_is() {
    let module = "workgroup_size 8 1 1 subgroup_size 4 shared 100
        var $m: mat<4x4xf32, workgroup, acc>[3] {
        %zero: i32 = const 0
        %x: f32 = var_component_load<$m> %zero, %zero
        }";
    let module = verify(text::parse(module).unwrap()).unwrap();
    let spread = spread(&module, &Options::default()).unwrap().unwrap();
    assert_eq!(spread.shared_bytes, 128 + 3 * 64);
    let large = module
        .to_string()
        .replace("4x4xf32", "16384x1024xf64")
        .replace("[3]", "[2]")
        .replace(": f32", ": f64");
    let large = verify(text::parse(&large).unwrap()).unwrap();
    let error = super::spread(&large, &Options::default()).unwrap_err();
    assert!(matches!(error, SpreadError::SharedMemory(bytes) if bytes > 1 << 28), "{error}");
}

#[test]
fn one_full_subgroup_has_its_components_in_place() {
    let code = "workgroup_size 4 1 1 subgroup_size 4
        var $m: mat<4x4xf32, workgroup, acc> {
        %zero: i32 = const 0
        %x: f32 = var_component_load<$m> %zero, %zero
        }";
    let run = |code: &str| {
        let module = verify(text::parse(code).unwrap()).unwrap();
        spread(&module, &Options::default()).unwrap()
    };
    assert!(run(code).is_none());
    assert!(
        run(&code.replace("workgroup_size 4", "workgroup_size 8").replace("workgroup, acc", "subgroup, acc"))
            .is_none()
    );
    // A part of a subgroup needs no barriers.
    let part = run(&code.replace("workgroup_size 4", "workgroup_size 3")).unwrap();
    assert_eq!(outline(&part.body, Function::ENTRY), "publish get");
}
