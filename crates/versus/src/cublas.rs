//! cuBLAS: products on a GPU by `cublasGemmEx`, or by its part for types that this lacks.
//!
//! Matrices by rows are matrices by columns of their transposes, so D = A·B is asked for as Dᵀ = Bᵀ·Aᵀ.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use cudarc::cublas::sys::{
    cublasComputeType_t as Compute, cublasGemmAlgo_t, cublasOperation_t, cudaDataType_t,
};
use cudarc::cublas::{CudaBlas, result, sys};
use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DriverError};

use crate::cublas_lt::Lt;
use crate::{Element, Error, Product};

/// The GPU's number. The ladder compares on the first one.
const ORDINAL: usize = 0;

/// What of it is called.
#[derive(Debug)]
pub(crate) struct CuBlas {
    stream: Arc<CudaStream>,
    blas: CudaBlas,
    /// Whether products are added to the result.
    adds: bool,
}

/// Matrices on the GPU.
#[derive(Debug)]
pub(crate) struct Multiplication<'a> {
    library: &'a CuBlas,
    product: Product,
    way: Way,
    a: CudaSlice<u8>,
    b: CudaSlice<u8>,
    d: CudaSlice<u8>,
}

/// How it is multiplied.
#[derive(Debug)]
enum Way {
    GemmEx { types: [cudaDataType_t; 3], compute: Compute },
    Lt(Box<Lt>),
}

impl CuBlas {
    /// Loads it; gives its name and version.
    pub(crate) fn open(adds: bool) -> Result<(Self, String), String> {
        // SAFETY: loading these libraries runs their constructors and nothing else.
        if !unsafe { cudarc::driver::sys::is_culib_present() && sys::is_culib_present() } {
            return Err("no libcuda or libcublas is found".to_owned());
        }
        let fails = |error: DriverError| error.to_string();
        let stream = CudaContext::new(ORDINAL).map_err(fails)?.default_stream();
        let blas = CudaBlas::new(Arc::clone(&stream)).map_err(|error| format!("{error:?}"))?;
        let mut version = 0;
        // SAFETY: the handle is there, the number is written.
        let _status = unsafe { sys::cublasGetVersion_v2(*blas.handle(), &raw mut version) };
        let name = format!("cuBLAS {}.{}.{}", version / 10_000, version / 100 % 100, version % 100);
        let name = if adds { format!("{name} with C") } else { name };
        Ok((Self { stream, blas, adds }, name))
    }

    /// Copies the factors to the GPU.
    pub(crate) fn prepare(
        &self,
        product: Product,
        a: &[u8],
        b: &[u8],
        library: &str,
    ) -> Result<Multiplication<'_>, Error> {
        let element = |element| match element {
            Element::F32 => Some(cudaDataType_t::CUDA_R_32F),
            Element::F16 => Some(cudaDataType_t::CUDA_R_16F),
            Element::Bf16 => Some(cudaDataType_t::CUDA_R_16BF),
            Element::S8 => Some(cudaDataType_t::CUDA_R_8I),
            Element::S32 => Some(cudaDataType_t::CUDA_R_32I),
            Element::E4m3 | Element::E5m2 | Element::U8 => None,
        };
        let compute = match (product.a, product.d) {
            (Element::S8, Element::S32) => Some(Compute::CUBLAS_COMPUTE_32I),
            (Element::F16, Element::F16) => Some(Compute::CUBLAS_COMPUTE_16F),
            (Element::S8 | Element::U8 | Element::S32, _) | (_, Element::S32) => None,
            _ => Some(Compute::CUBLAS_COMPUTE_32F),
        };
        let types = [product.a, product.b, product.d].map(element);
        let way = match (types, compute) {
            _ if product.is_packed => None,
            ([Some(of_a), Some(of_b), Some(of_d)], Some(compute)) => {
                Some(Way::GemmEx { types: [of_a, of_b, of_d], compute })
            }
            _ => Lt::new(&self.stream, product, self.adds).map(Box::new).map(Way::Lt),
        };
        let Some(way) = way else {
            let Product { a, b, d, .. } = product;
            return Err(Error::Unsupported { library: library.to_owned(), a, b, d });
        };
        let bytes = product.m * product.n * product.d.size_bytes();
        let failed = |_error: DriverError| Error::Memory { bytes: a.len() + b.len() + bytes };
        Ok(Multiplication {
            library: self,
            product,
            way,
            a: self.stream.clone_htod(a).map_err(failed)?,
            b: self.stream.clone_htod(b).map_err(failed)?,
            d: self.stream.alloc_zeros(bytes).map_err(failed)?,
        })
    }
}

impl Multiplication<'_> {
    /// Multiplies; gives the time that the GPU took.
    pub(crate) fn run(&mut self, library: &str) -> Result<Duration, Error> {
        let failed = |function, status| Error::Failed { library: library.to_owned(), function, status };
        let driver = |error: DriverError| failed("the driver", error.0 as i32);
        let stream = &self.library.stream;
        let start = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(driver)?;
        match &self.way {
            Way::Lt(lt) => lt
                .run(stream, &self.a, &self.b, &mut self.d)
                .map_err(|error| failed("cublasLtMatmul", error.0 as i32))?,
            &Way::GemmEx { types, compute } => {
                self.gemm_ex(types, compute).map_err(|error| failed("cublasGemmEx", error.0 as i32))?;
            }
        }
        let end = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT)).map_err(driver)?;
        let milliseconds = start.elapsed_ms(&end).map_err(driver)?;
        Ok(Duration::try_from_secs_f32(milliseconds / 1000.0).unwrap_or_default())
    }

    fn gemm_ex(
        &mut self,
        [of_a, of_b, of_d]: [cudaDataType_t; 3],
        compute: Compute,
    ) -> Result<(), result::CublasError> {
        let &CuBlas { ref stream, ref blas, adds } = self.library;
        let Product { m, n, k, is_b_column_major, .. } = self.product;
        // `Product::check` has looked at them.
        let [m, n, k] = [m, n, k].map(|size| size as i32);
        let (op_b, stride_b) = match is_b_column_major {
            true => (cublasOperation_t::CUBLAS_OP_T, k),
            false => (cublasOperation_t::CUBLAS_OP_N, n),
        };
        let (one_f32, one_i32, one_f16) = (1.0_f32, 1_i32, 0x3c00_u16);
        let zero = 0_u64;
        let one: *const c_void = match compute {
            Compute::CUBLAS_COMPUTE_32I => (&raw const one_i32).cast(),
            Compute::CUBLAS_COMPUTE_16F => (&raw const one_f16).cast(),
            _ => (&raw const one_f32).cast(),
        };
        let (a, _a) = self.a.device_ptr(stream);
        let (b, _b) = self.b.device_ptr(stream);
        let (d, _d) = self.d.device_ptr_mut(stream);
        // SAFETY: the matrices are on the GPU, without gaps and of these sizes and types; the factors are numbers of
        // the type in which it computes, at most 8 bytes.
        unsafe {
            result::gemm_ex(
                *blas.handle(),
                op_b,
                cublasOperation_t::CUBLAS_OP_N,
                n,
                m,
                k,
                one,
                b as *const c_void,
                of_b,
                stride_b,
                a as *const c_void,
                of_a,
                k,
                if adds { one } else { (&raw const zero).cast() },
                d as *mut c_void,
                of_d,
                n,
                compute,
                cublasGemmAlgo_t::CUBLAS_GEMM_DEFAULT_TENSOR_OP,
            )
        }
    }

    /// The result by rows.
    pub(crate) fn result(&self) -> Vec<u8> {
        self.library.stream.clone_dtoh(&self.d).unwrap_or_default()
    }
}
