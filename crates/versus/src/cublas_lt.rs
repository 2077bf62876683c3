//! The part of cuBLAS that multiplies floats of 8 bits, `cublasLtMatmul`, where the right factor lies by columns.
//!
//! Without its mode of fast accumulation, which sums in fewer digits than binary32 has all along K.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::cublas::sys::cublasOperation_t;
use cudarc::cublaslt::result::{self, CublasError};
use cudarc::cublaslt::sys;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut};

use crate::{Element, Product};

/// Bytes of memory that it may use, as NVIDIA recommends for Hopper.
const WORKSPACE: usize = 32 << 20;

/// A product that is ready to be computed.
#[derive(Debug)]
pub(crate) struct Lt {
    descriptions: Descriptions,
    algorithm: sys::cublasLtMatmulAlgo_t,
    workspace: CudaSlice<u8>,
    /// What the result holds is multiplied by this before the product is added.
    beta: f32,
}

/// What the library is told; each is null until it is made.
#[derive(Debug)]
struct Descriptions {
    handle: sys::cublasLtHandle_t,
    product: sys::cublasLtMatmulDesc_t,
    /// Of the right factor, the left one and the result, each as the transpose that the library sees.
    matrices: [sys::cublasLtMatrixLayout_t; 3],
    preference: sys::cublasLtMatmulPreference_t,
}

impl Lt {
    /// A product; nothing if the library has none such.
    pub(crate) fn new(stream: &Arc<CudaStream>, product: Product, adds: bool) -> Option<Self> {
        let element = |element| match element {
            Element::E4m3 => Some(sys::cudaDataType_t::CUDA_R_8F_E4M3),
            Element::E5m2 => Some(sys::cudaDataType_t::CUDA_R_8F_E5M2),
            _ => None,
        };
        let (Some(of_a), Some(of_b)) = (element(product.a), element(product.b)) else { return None };
        // SAFETY: loading the library runs its constructors and nothing else.
        let is_there = unsafe { sys::is_culib_present() };
        if !is_there || product.d != Element::F32 || !product.is_b_column_major {
            return None;
        }
        let mut descriptions = Descriptions {
            handle: std::ptr::null_mut(),
            product: std::ptr::null_mut(),
            matrices: [std::ptr::null_mut(); 3],
            preference: std::ptr::null_mut(),
        };
        let algorithm = descriptions.make(product, [of_a, of_b]).ok()?;
        let workspace = stream.alloc_zeros(WORKSPACE).ok()?;
        Some(Self { descriptions, algorithm, workspace, beta: if adds { 1.0 } else { 0.0 } })
    }

    /// Multiplies.
    pub(crate) fn run(
        &self,
        stream: &Arc<CudaStream>,
        a: &CudaSlice<u8>,
        b: &CudaSlice<u8>,
        d: &mut CudaSlice<u8>,
    ) -> Result<(), CublasError> {
        let one = 1.0_f32;
        let [of_b, of_a, of_d] = self.descriptions.matrices;
        let (a, _a) = a.device_ptr(stream);
        let (b, _b) = b.device_ptr(stream);
        let (d, _d) = d.device_ptr_mut(stream);
        let (workspace, _workspace) = self.workspace.device_ptr(stream);
        // SAFETY: the matrices are on the GPU and are what their descriptions say, as is the memory to work in; the
        // factors are numbers of the type that the product was made with, and C is the result.
        unsafe {
            result::matmul(
                self.descriptions.handle,
                self.descriptions.product,
                (&raw const one).cast(),
                (&raw const self.beta).cast(),
                b as *const c_void,
                of_b,
                a as *const c_void,
                of_a,
                d as *const c_void,
                of_d,
                d as *mut c_void,
                of_d,
                &raw const self.algorithm,
                workspace as *mut c_void,
                WORKSPACE,
                stream.cu_stream().cast(),
            )
        }
    }
}

impl Descriptions {
    /// Describes a product, and asks for the way to compute it that the library takes for the fastest.
    fn make(
        &mut self,
        product: Product,
        [of_a, of_b]: [sys::cudaDataType_t; 2],
    ) -> Result<sys::cublasLtMatmulAlgo_t, CublasError> {
        let [m, n, k] = [product.m, product.n, product.k].map(|size| size as u64);
        let of_d = sys::cudaDataType_t::CUDA_R_32F;
        self.handle = result::create_handle()?;
        self.product = result::create_matmul_desc(sys::cublasComputeType_t::CUBLAS_COMPUTE_32F, of_d)?;
        let shapes = [(of_b, k, n), (of_a, k, m), (of_d, n, m)];
        for (matrix, (ty, rows, columns)) in self.matrices.iter_mut().zip(shapes) {
            *matrix = result::create_matrix_layout(ty, rows, columns, rows as i64)?;
        }
        self.preference = result::create_matmul_pref()?;
        let (transposes, bytes) = (cublasOperation_t::CUBLAS_OP_T, WORKSPACE);
        let [of_b, of_a, of_d] = self.matrices;
        // SAFETY: all of them were made, and each attribute has the type that is read.
        unsafe {
            result::set_matmul_desc_attribute(
                self.product,
                sys::cublasLtMatmulDescAttributes_t::CUBLASLT_MATMUL_DESC_TRANSA,
                (&raw const transposes).cast(),
                size_of_val(&transposes),
            )?;
            result::set_matmul_pref_attribute(
                self.preference,
                sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                (&raw const bytes).cast(),
                size_of_val(&bytes),
            )?;
            let found = result::get_matmul_algo_heuristic(
                self.handle,
                self.product,
                of_b,
                of_a,
                of_d,
                of_d,
                self.preference,
            )?;
            Ok(found.algo)
        }
    }
}

impl Drop for Descriptions {
    fn drop(&mut self) {
        // SAFETY: each was made by the library and is given back once; what was not made is null.
        unsafe {
            if !self.preference.is_null() {
                let _status = result::destroy_matmul_pref(self.preference);
            }
            for matrix in self.matrices.into_iter().filter(|matrix| !matrix.is_null()) {
                let _status = result::destroy_matrix_layout(matrix);
            }
            if !self.product.is_null() {
                let _status = result::destroy_matmul_desc(self.product);
            }
            if !self.handle.is_null() {
                let _status = result::destroy_handle(self.handle);
            }
        }
    }
}
