//! OpenBLAS: products of f32 by `cblas_sgemm`.

use std::ffi::{CStr, c_char, c_int};

use libloading::{Library, Symbol};

use crate::{Element, Error, Operands, Product};

const ROW_MAJOR: c_int = 101;
const NO_TRANS: c_int = 111;
const TRANS: c_int = 112;

#[rustfmt::skip]
type Sgemm = unsafe extern "C" fn(
    c_int, c_int, c_int, c_int, c_int, c_int, f32, *const f32, c_int, *const f32, c_int, f32, *mut f32, c_int,
);
type SetThreads = unsafe extern "C" fn(c_int);
type Text = unsafe extern "C" fn() -> *const c_char;

/// What of it is called.
#[derive(Debug)]
pub(crate) struct OpenBlas {
    sgemm: Symbol<'static, Sgemm>,
    set_threads: Symbol<'static, SetThreads>,
}

impl OpenBlas {
    /// Loads it; gives its name and version, and the processor that it takes this one for.
    pub(crate) fn open() -> Result<(Self, String), libloading::Error> {
        // SAFETY: it is the system's library; loading it starts its threads, which it keeps to itself.
        let library = unsafe { Library::new("libopenblas.so.0").or_else(|_| Library::new("libopenblas.so")) };
        // Its threads outlive whoever would unload it.
        let library: &'static Library = Box::leak(Box::new(library?));
        // SAFETY: the signatures are those of its `cblas.h`, with integers of 32 bits as this name of the library has them.
        let (sgemm, set_threads, config, core) = unsafe {
            (
                library.get::<Sgemm>(b"cblas_sgemm\0")?,
                library.get::<SetThreads>(b"openblas_set_num_threads\0")?,
                library.get::<Text>(b"openblas_get_config\0")?,
                library.get::<Text>(b"openblas_get_corename\0")?,
            )
        };
        let text = |of: &Symbol<'_, Text>| {
            // SAFETY: it takes nothing, and gives a constant text.
            let text = unsafe { of() };
            // SAFETY: as above, with a zero at its end.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        };
        let version = text(&config).split_whitespace().nth(1).unwrap_or_default().to_owned();
        let name = format!("OpenBLAS {version} ({})", text(&core));
        Ok((Self { sgemm, set_threads }, name))
    }

    /// Refuses what it does not multiply. It has layouts of its own, but no way to ask for them.
    pub(crate) fn check(&self, product: &Product, library: &str) -> Result<(), Error> {
        let &Product { a, b, d, is_packed, .. } = product;
        if [a, b, d] == [Element::F32; 3] && !is_packed {
            return Ok(());
        }
        Err(Error::Unsupported { library: library.to_owned(), a, b, d })
    }

    pub(crate) fn run(&self, operands: &mut Operands) {
        let Product { m, n, k, is_b_column_major, threads, .. } = operands.product;
        // `Product::check` has looked at them.
        let [m, n, k, threads] = [m, n, k, threads].map(|size| size as c_int);
        let (order_b, stride_b) = if is_b_column_major { (TRANS, k) } else { (NO_TRANS, n) };
        // SAFETY: it takes any number from 1 on.
        unsafe { (self.set_threads)(threads) };
        let (a, b, d) = (operands.a.address(), operands.b.address(), operands.d.address());
        // SAFETY: `operands` has matrices of f32 of these sizes without gaps, and D is ours to write.
        unsafe {
            (self.sgemm)(
                ROW_MAJOR,
                NO_TRANS,
                order_b,
                m,
                n,
                k,
                1.0,
                a.cast(),
                k,
                b.cast(),
                stride_b,
                0.0,
                d.cast(),
                n,
            );
        }
    }
}
