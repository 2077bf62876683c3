//! What warps wait for, as samples of their program counters say: CUPTI's "PC sampling".
//!
//! CUPTI is a library of the CUDA toolkit and not of the driver: where it is not found, or the driver lets only administrators
//! count, there are no stalls to tell of. It writes to memory that is handed over once, and again and again after each
//! dispatch.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::Arc;

use cudarc::cupti::sys::{self, CUptiResult};
use cudarc::driver::sys::CUcontext;

use crate::context::Context;

/// Places of code that are told of at once.
const PLACES: usize = 4096;

/// Bytes of a reason's name with its zero (`CUPTI_STALL_REASON_STRING_SIZE`).
const NAME_BYTES: usize = 128;

/// Bytes for samples on the GPU and on the host. Samples that find no room are lost.
const HARDWARE_BYTES: usize = 128 << 20;
const SCRATCH_BYTES: usize = 16 << 20;

/// What names of reasons begin with, and what those end with that count a part of others.
const PREFIX: &str = "smsp__pcsamp_warps_issue_stalled_";
const PART: &str = "_not_issued";

/// How often warps were seen to wait for what; `selected` are those that executed.
pub(crate) type Stalls = BTreeMap<String, u64>;

/// Takes samples of a context.
pub(crate) struct Sampler {
    context: Arc<Context>,
    names: BTreeMap<u32, String>,
    room: Box<Room>,
}

// SAFETY: what the pointers of `Room` point to belongs to it, and CUPTI is called by one thread at a time, with `&mut Sampler`.
unsafe impl Send for Sampler {}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler").field("reasons", &self.names.len()).finish_non_exhaustive()
    }
}

/// Memory that CUPTI writes to, which stays where it is. Places point into `reasons`, and `data` to them.
struct Room {
    data: sys::CUpti_PCSamplingData,
    /// Each of `place_bytes`, of which the first are a `CUpti_PCSamplingPCData`.
    places: Vec<u64>,
    place_bytes: usize,
    reasons: Vec<sys::CUpti_PCSamplingStallReason>,
    numbers: Vec<u32>,
}

/// Since this version (CUDA 12.4) a record of a place has a number more at its end.
const LONG_PLACES: u32 = 22;

impl Room {
    fn new(numbers: Vec<u32>, version: u32) -> Box<Self> {
        let none = sys::CUpti_PCSamplingStallReason { pcSamplingStallReasonIndex: 0, samples: 0 };
        let place_bytes =
            size_of::<sys::CUpti_PCSamplingPCData>() + if version >= LONG_PLACES { 8 } else { 0 };
        // SAFETY: the record is numbers and pointers, for all of which zeros are a value.
        let data: sys::CUpti_PCSamplingData = unsafe { std::mem::zeroed() };
        let mut room = Box::new(Self {
            data,
            places: vec![0; PLACES * place_bytes / size_of::<u64>()],
            place_bytes,
            reasons: vec![none; PLACES * numbers.len()],
            numbers,
        });
        let reasons = room.reasons.as_mut_ptr();
        for number in 0..PLACES {
            // SAFETY: there are so many reasons for each place.
            let reasons = unsafe { reasons.add(number * room.numbers.len()) };
            // SAFETY: as above.
            let mut place: sys::CUpti_PCSamplingPCData = unsafe { std::mem::zeroed() };
            place.size = place_bytes;
            place.stallReason = reasons;
            // SAFETY: the place is one of those that there are, at a multiple of 8 bytes.
            unsafe { room.place(number).write(place) };
        }
        room.data.size = size_of::<sys::CUpti_PCSamplingData>();
        room.data.collectNumPcs = PLACES;
        room.data.pPcData = room.place(0);
        room
    }

    /// Where the record of a place is; the number is less than `PLACES`.
    fn place(&mut self, number: usize) -> *mut sys::CUpti_PCSamplingPCData {
        self.places.as_mut_ptr().wrapping_byte_add(number * self.place_bytes).cast()
    }
}

impl Sampler {
    /// Begins with a context; an error says why nothing can be seen.
    pub(crate) fn new(context: &Arc<Context>) -> Result<Self, String> {
        // SAFETY: loading the library runs its constructors and nothing else.
        if !unsafe { sys::is_culib_present() } {
            return Err("no libcupti.so, a library of the CUDA toolkit, is found".to_owned());
        }
        context.enter().map_err(|error| error.to_string())?;
        let mut params = sys::CUpti_PCSamplingEnableParams {
            size: size_of::<sys::CUpti_PCSamplingEnableParams>(),
            pPriv: ptr::null_mut(),
            ctx: context.raw(),
        };
        // SAFETY: the context is there, the record says its size.
        check("cuptiPCSamplingEnable", unsafe { sys::cuptiPCSamplingEnable(&raw mut params) })?;
        let names = names(context.raw())?;
        let mut version = 0;
        // SAFETY: the number is written.
        check("cuptiGetVersion", unsafe { sys::cuptiGetVersion(&raw mut version) })?;
        let room = Room::new(names.keys().copied().collect(), version);
        // From here on, dropping it ends the sampling.
        let mut sampler = Self { context: Arc::clone(context), names, room };
        sampler.configure()?;
        Ok(sampler)
    }

    fn configure(&mut self) -> Result<(), String> {
        use sys::CUpti_PCSamplingConfigurationAttributeType as Kind;
        let set = |kind, write: &dyn Fn(&mut sys::CUpti_PCSamplingConfigurationInfo)| {
            let mut info = sys::CUpti_PCSamplingConfigurationInfo {
                attributeType: kind,
                attributeStatus: CUptiResult::CUPTI_SUCCESS,
                attributeData: sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1 {
                    invalidData: sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_1 {
                        data: [0; 3],
                    },
                },
            };
            write(&mut info);
            info
        };
        let room = &mut *self.room;
        let (numbers, data) = (room.numbers.as_mut_ptr(), (&raw mut room.data).cast::<c_void>());
        let count = room.numbers.len();
        let mut infos = [
            set(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_STALL_REASON, &|info| {
                info.attributeData.stallReasonData =
                    sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_3 {
                        stallReasonCount: count,
                        pStallReasonIndex: numbers,
                    };
            }),
            set(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SCRATCH_BUFFER_SIZE, &|info| {
                info.attributeData.scratchBufferSizeData =
                    sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_4 {
                        scratchBufferSize: SCRATCH_BYTES,
                    };
            }),
            set(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_HARDWARE_BUFFER_SIZE, &|info| {
                info.attributeData.hardwareBufferSizeData =
                    sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_5 {
                        hardwareBufferSize: HARDWARE_BYTES,
                    };
            }),
            set(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_COLLECTION_MODE, &|info| {
                info.attributeData.collectionModeData =
                    sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_6 {
                        collectionMode:
                            sys::CUpti_PCSamplingCollectionMode::CUPTI_PC_SAMPLING_COLLECTION_MODE_CONTINUOUS,
                    };
            }),
            set(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_ENABLE_START_STOP_CONTROL, &|info| {
                info.attributeData.enableStartStopControlData =
                    sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_7 {
                        enableStartStopControl: 1,
                    };
            }),
            set(Kind::CUPTI_PC_SAMPLING_CONFIGURATION_ATTR_TYPE_SAMPLING_DATA_BUFFER, &|info| {
                info.attributeData.samplingDataBufferData =
                    sys::CUpti_PCSamplingConfigurationInfo__bindgen_ty_1__bindgen_ty_9 {
                        samplingDataBuffer: data,
                    };
            }),
        ];
        let mut params = sys::CUpti_PCSamplingConfigurationInfoParams {
            size: size_of::<sys::CUpti_PCSamplingConfigurationInfoParams>(),
            pPriv: ptr::null_mut(),
            ctx: self.context.raw(),
            numAttributes: infos.len(),
            pPCSamplingConfigurationInfo: infos.as_mut_ptr(),
        };
        // SAFETY: sampling is enabled in this context; records say their sizes and numbers, and what they point to is the
        // room's, which outlives the sampling.
        check("cuptiPCSamplingSetConfigurationAttribute", unsafe {
            sys::cuptiPCSamplingSetConfigurationAttribute(&raw mut params)
        })
    }

    /// Begins to look.
    pub(crate) fn start(&mut self) -> Result<(), String> {
        let mut params = sys::CUpti_PCSamplingStartParams {
            size: size_of::<sys::CUpti_PCSamplingStartParams>(),
            pPriv: ptr::null_mut(),
            ctx: self.context.raw(),
        };
        // SAFETY: sampling is enabled in this context and configured; the record says its size.
        check("cuptiPCSamplingStart", unsafe { sys::cuptiPCSamplingStart(&raw mut params) })
    }

    /// Ends looking, and gives what was seen.
    pub(crate) fn stop(&mut self) -> Result<Stalls, String> {
        let ctx = self.context.raw();
        let size = size_of::<sys::CUpti_PCSamplingStopParams>();
        let mut params = sys::CUpti_PCSamplingStopParams { size, pPriv: ptr::null_mut(), ctx };
        // SAFETY: as above.
        check("cuptiPCSamplingStop", unsafe { sys::cuptiPCSamplingStop(&raw mut params) })?;
        let mut stalls = Stalls::new();
        loop {
            self.count(&mut stalls);
            if self.room.data.remainingNumPcs == 0 {
                return Ok(stalls);
            }
            let mut params = sys::CUpti_PCSamplingGetDataParams {
                size: size_of::<sys::CUpti_PCSamplingGetDataParams>(),
                pPriv: ptr::null_mut(),
                ctx,
                pcSamplingData: (&raw mut self.room.data).cast(),
            };
            // SAFETY: as above; the data is the room's, with as many places as it says.
            check("cuptiPCSamplingGetData", unsafe { sys::cuptiPCSamplingGetData(&raw mut params) })?;
            if self.room.data.totalNumPcs == 0 {
                return Ok(stalls);
            }
        }
    }

    /// Adds up what the room holds, and leaves it empty.
    fn count(&mut self, stalls: &mut Stalls) {
        let room = &mut *self.room;
        let of_place = room.numbers.len();
        for number in 0..room.data.totalNumPcs.min(PLACES) {
            let place = room.place(number);
            // SAFETY: the place is one of those that there are, and CUPTI has returned.
            let count = unsafe { (*place).stallReasonCount };
            for reason in room.reasons.iter_mut().skip(number * of_place).take(count.min(of_place)) {
                let name = self.names.get(&reason.pcSamplingStallReasonIndex).map_or("", String::as_str);
                let name = name.strip_prefix(PREFIX).unwrap_or(name);
                if !name.is_empty() && !name.ends_with(PART) {
                    *stalls.entry(name.to_owned()).or_default() += u64::from(reason.samples);
                }
                reason.samples = 0;
            }
            // SAFETY: as above.
            unsafe { (*place).stallReasonCount = 0 };
        }
        room.data.totalNumPcs = 0;
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if self.context.enter().is_err() {
            return;
        }
        let mut params = sys::CUpti_PCSamplingDisableParams {
            size: size_of::<sys::CUpti_PCSamplingDisableParams>(),
            pPriv: ptr::null_mut(),
            ctx: self.context.raw(),
        };
        // SAFETY: sampling is enabled in this context, which lives as long as `self`.
        let _failed = unsafe { sys::cuptiPCSamplingDisable(&raw mut params) };
    }
}

/// The reasons that the GPU tells of.
fn names(ctx: CUcontext) -> Result<BTreeMap<u32, String>, String> {
    let mut count = 0;
    let mut params = sys::CUpti_PCSamplingGetNumStallReasonsParams {
        size: size_of::<sys::CUpti_PCSamplingGetNumStallReasonsParams>(),
        pPriv: ptr::null_mut(),
        ctx,
        numStallReasons: &raw mut count,
    };
    // SAFETY: sampling is enabled in this context; `count` is written.
    check("cuptiPCSamplingGetNumStallReasons", unsafe {
        sys::cuptiPCSamplingGetNumStallReasons(&raw mut params)
    })?;
    let mut numbers = vec![0_u32; count];
    let mut texts = vec![0_u8; NAME_BYTES * count];
    let mut places: Vec<*mut c_char> =
        texts.chunks_exact_mut(NAME_BYTES).map(|text| text.as_mut_ptr().cast()).collect();
    let mut params = sys::CUpti_PCSamplingGetStallReasonsParams {
        size: size_of::<sys::CUpti_PCSamplingGetStallReasonsParams>(),
        pPriv: ptr::null_mut(),
        ctx,
        numStallReasons: count,
        stallReasonIndex: numbers.as_mut_ptr(),
        stallReasons: places.as_mut_ptr(),
    };
    // SAFETY: as above; there are as many numbers, and texts of the size that CUPTI states, as it said that there are.
    check("cuptiPCSamplingGetStallReasons", unsafe { sys::cuptiPCSamplingGetStallReasons(&raw mut params) })?;
    let text =
        |bytes: &[u8]| CStr::from_bytes_until_nul(bytes).unwrap_or_default().to_string_lossy().into_owned();
    Ok(numbers.into_iter().zip(texts.chunks_exact(NAME_BYTES).map(text)).collect())
}

fn check(call: &str, result: CUptiResult) -> Result<(), String> {
    match result {
        CUptiResult::CUPTI_SUCCESS => Ok(()),
        CUptiResult::CUPTI_ERROR_INSUFFICIENT_PRIVILEGES => {
            Err("the driver lets only administrators see what warps wait for (NVreg_RestrictProfilingToAdminUsers)"
                .to_owned())
        }
        other => Err(format!("{call}: {other:?}")),
    }
}
