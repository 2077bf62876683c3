//! `phalanx compile`: a shader as SPIR-V, for other programs.

use std::io::{IsTerminal, Write, stdout};

use anyhow::{Result, ensure};

use super::load_spirv;
use crate::args::CompileArgs;
use crate::{Status, output};

pub(crate) fn run(args: &CompileArgs) -> Result<Status> {
    let to_stdout = args.output.as_os_str() == "-";
    ensure!(
        !to_stdout || !stdout().is_terminal(),
        "SPIR-V is nothing to read; standard output must be a file or a pipe"
    );
    let words = load_spirv(&args.shader, &args.glsl)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    if to_stdout {
        stdout().write_all(&bytes)?;
    } else {
        output::write(&args.output, bytes)?;
    }
    Ok(Status::Done)
}
