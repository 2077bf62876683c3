//! Reads shaders from files.

use std::path::Path;

use crate::error::Error;
use crate::glsl::{self, GlslOptions};

/// Reads a shader and gives it as SPIR-V: GLSL (`.comp`, `.glsl`), SPIR-V (`.spv`) or its text form (`.spvasm`).
///
/// In messages GLSL is called by its path, whatever name the options state.
///
/// # Errors
///
/// When the file cannot be read, or is not what its name says.
pub fn load(path: impl AsRef<Path>, options: &GlslOptions<'_>) -> Result<Vec<u32>, Error> {
    let path = path.as_ref();
    let bytes = || std::fs::read(path).map_err(|error| Error::File { path: path.to_path_buf(), error });
    let text = || {
        String::from_utf8(bytes()?).map_err(|error| Error::File {
            path: path.to_path_buf(),
            error: std::io::Error::new(std::io::ErrorKind::InvalidData, error.utf8_error()),
        })
    };
    match path.extension().and_then(std::ffi::OsStr::to_str) {
        Some("comp" | "glsl") => {
            let name = path.to_string_lossy();
            Ok(glsl::compile(&text()?, &GlslOptions { name: &name, ..*options })?)
        }
        Some("spv") => Ok(phalanx_front_spirv::words_from_bytes(&bytes()?)?),
        Some("spvasm") => assemble(&text()?, path),
        _ => Err(Error::FileType { path: path.to_path_buf() }),
    }
}

/// Assembles the text form of SPIR-V. Messages call it `path`.
///
/// # Errors
///
/// [`Error::Assembly`] with line and column.
pub fn assemble(text: &str, path: &Path) -> Result<Vec<u32>, Error> {
    phalanx_spirv_asm::assemble(text).map_err(|error| Error::Assembly { path: path.to_path_buf(), error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            load(&path, &GlslOptions::default())
        };
        let words = file("a.comp", b"#version 450\nvoid main() {}\n").unwrap();
        let little: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let big: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        assert_eq!(file("little.spv", &little).unwrap(), words);
        assert_eq!(file("big.spv", &big).unwrap(), words);
        assert!(file("a.spvasm", b"OpCapability Shader\nOpMemoryModel Logical GLSL450\n").is_ok());
        assert!(matches!(file("bad.comp", b"\xff\xfe"), Err(Error::File { .. })));
        assert!(matches!(file("bad.spv", b"12345"), Err(Error::Spirv(_))));
        assert!(matches!(file("bad.spvasm", b"OpNonsense"), Err(Error::Assembly { .. })));
        assert!(matches!(file("what.txt", b""), Err(Error::FileType { .. })));
        assert!(matches!(
            load(directory.path().join("absent.spv"), &GlslOptions::default()),
            Err(Error::File { .. })
        ));
    }
}
