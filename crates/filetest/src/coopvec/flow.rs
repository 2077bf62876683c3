//! The invocations of a problem, and the control flow around its operation.

use crate::random::Random;

/// What is around the operation, which is done with a number `t`.
#[derive(Clone, Copy, Debug)]
enum Flow {
    /// Nothing: all invocations do it with 0.
    Straight,
    /// Some invocations have returned before.
    EarlyReturn,
    /// Some do it with 1 in the other branch.
    Branch,
    /// Up to three times, as often as the invocation wants.
    Loop,
}

/// The invocations of a dispatch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    local: u32,
    groups: u32,
    subgroup: u32,
    flow: Flow,
}

impl Lanes {
    pub(super) fn pick(random: &mut Random) -> Self {
        Self {
            local: *random.pick(&[1, 3, 8, 17, 32, 33, 48]),
            groups: *random.pick(&[1, 2]),
            subgroup: *random.pick(&[4, 8, 16, 32, 64, 128]),
            flow: *random.pick(&[Flow::Straight, Flow::EarlyReturn, Flow::Branch, Flow::Loop]),
        }
    }

    /// How many there are.
    pub(super) const fn count(&self) -> u32 {
        self.local * self.groups
    }

    /// The numbers that invocation `i` does the operation with.
    pub(super) fn turns(&self, i: u32) -> std::ops::Range<u32> {
        match self.flow {
            Flow::EarlyReturn if i % 5 == 2 => 0..0,
            Flow::Straight | Flow::EarlyReturn => 0..1,
            Flow::Branch if i.is_multiple_of(3) => 1..2,
            Flow::Branch => 0..1,
            Flow::Loop => 0..i % 3 + 1,
        }
    }

    /// Whether invocation `i` comes to the end.
    pub(super) fn ends(&self, i: u32) -> bool {
        !self.turns(i).is_empty()
    }

    /// The directives.
    pub(super) fn directives(&self) -> String {
        format!("// test run\n// subgroup {}\n// dispatch {} 1 1\n", self.subgroup, self.groups)
    }

    /// A shader: what it declares, what comes before the operation, the operation, and what comes behind it.
    pub(super) fn shader(&self, declarations: &str, before: &str, operation: &str, behind: &str) -> String {
        let around = match self.flow {
            Flow::Straight => format!("    uint t = 0;\n{operation}"),
            Flow::EarlyReturn => format!("    if (i % 5 == 2) return;\n    uint t = 0;\n{operation}"),
            Flow::Branch => format!(
                "    if (i % 3 == 0) {{\n    uint t = 1;\n{operation}    }} else {{\n    uint t = 0;\n{operation}    }}\n"
            ),
            Flow::Loop => format!("    for (uint t = 0; t <= i % 3; ++t) {{\n{operation}    }}\n"),
        };
        format!(
            "#version 460\n\
             #extension GL_NV_cooperative_vector : require\n\
             #extension GL_EXT_shader_explicit_arithmetic_types : require\n\
             #extension GL_EXT_shader_8bit_storage : require\n\
             #extension GL_EXT_shader_16bit_storage : require\n\
             layout(local_size_x = {}) in;\n\
             {declarations}void main()\n{{\n    uint i = gl_GlobalInvocationID.x;\n{before}{around}{behind}}}\n",
            self.local
        )
    }
}

/// Which of several things in memory an invocation uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Choice {
    /// Invocations in a row that use the same.
    run: u32,
    /// How many things there are.
    pub(super) of: u32,
}

impl Choice {
    pub(super) fn pick(random: &mut Random) -> Self {
        Self { run: *random.pick(&[1, 2, 5, 16, 1000]), of: *random.pick(&[1, 2, 3, 4]) }
    }

    /// The thing that invocation `i` uses in turn `t`.
    pub(super) const fn of(&self, i: u32, t: u32) -> u32 {
        (i / self.run + t) % self.of
    }

    /// The same in GLSL.
    pub(super) fn glsl(&self) -> String {
        format!("(i / {} + t) % {}", self.run, self.of)
    }
}
