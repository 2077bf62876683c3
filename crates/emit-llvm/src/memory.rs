//! Addresses, loads and stores, constants in memory.

use crate::error::{Error, Result};
use crate::{Emit, V};
use inkwell::llvm_sys::core as llvm;
use inkwell::module::Linkage;
use inkwell::types::{AsTypeRef, BasicType, BasicTypeEnum};
use inkwell::values::{
    AsValueRef, BasicMetadataValueEnum, BasicValue, InstructionValue, MetadataValue, PointerValue,
};

impl<'c> Emit<'c> {
    /// `ptr + bytes`; a vector if either is one.
    pub fn offset(&self, ptr: V<'c>, bytes: V<'c>) -> Result<V<'c>> {
        self.element_ptr(self.cx.i8_type().into(), ptr, bytes)
    }

    /// The address of element `index` of an array of `elem` at `ptr`; a vector if either is one.
    pub fn element_ptr(&self, elem: BasicTypeEnum<'c>, ptr: V<'c>, index: V<'c>) -> Result<V<'c>> {
        let mut indices = [index.as_value_ref()];
        // SAFETY: the builder is positioned, `ptr` is a pointer or a vector of them, `index` is an
        // integer or a vector of the same length; without `inbounds` no address is undefined.
        Ok(unsafe {
            V::new(llvm::LLVMBuildGEP2(
                self.b.as_mut_ptr(),
                elem.as_type_ref(),
                ptr.as_value_ref(),
                indices.as_mut_ptr(),
                1,
                c"".as_ptr(),
            ))
        })
    }

    /// `ptr + bytes` for one pointer and a constant.
    pub fn field(&self, ptr: PointerValue<'c>, bytes: u64) -> Result<PointerValue<'c>> {
        if bytes == 0 {
            return Ok(ptr);
        }
        Ok(self.offset(ptr.into(), self.i64(bytes as i64))?.into_pointer_value())
    }

    /// Reads from memory.
    pub fn load(&self, ty: impl BasicType<'c>, ptr: PointerValue<'c>, align: u32) -> Result<V<'c>> {
        let v = self.b.build_load(ty, ptr, "")?;
        align_to(v.as_instruction_value(), align)?;
        self.is_no_note(v.as_instruction_value())?;
        Ok(v)
    }

    /// Reads memory that nothing writes while the code runs, so that the read may be moved.
    pub fn load_invariant(&self, ty: impl BasicType<'c>, ptr: PointerValue<'c>, align: u32) -> Result<V<'c>> {
        let v = self.load(ty, ptr, align)?;
        if let Some(inst) = v.as_instruction_value() {
            let kind = self.cx.get_kind_id("invariant.load");
            inst.set_metadata(self.cx.metadata_node(&[]), kind).map_err(|e| Error::bug(e.to_string()))?;
        }
        Ok(v)
    }

    /// Says of a pointer that was loaded what it is a multiple of.
    pub fn points_to_multiples(&self, pointer: V<'c>, align: u64) -> Result<()> {
        let Some(inst) = pointer.as_instruction_value() else { return Ok(()) };
        let align = self.cx.i64_type().const_int(align, false);
        let node = self.cx.metadata_node(&[align.into()]);
        inst.set_metadata(node, self.cx.get_kind_id("align")).map_err(|e| Error::bug(e.to_string()))
    }

    /// Writes to memory.
    pub fn store(&self, x: V<'c>, ptr: PointerValue<'c>, align: u32) -> Result<InstructionValue<'c>> {
        let inst = self.b.build_store(ptr, x)?;
        align_to(Some(inst), align)?;
        self.is_no_note(Some(inst))?;
        Ok(inst)
    }

    /// Notes for a profiler where the code is. No other access is to that word, so others may be moved and combined as if
    /// it were not there.
    pub fn note(&self, number: u32, word: PointerValue<'c>) -> Result<()> {
        let inst = self.b.build_store(word, self.i32(number))?;
        inst.set_alignment(4).map_err(|e| Error::bug(e.to_string()))?;
        inst.set_volatile(true).map_err(|e| Error::bug(e.to_string()))?;
        inst.set_metadata(self.notes(), self.cx.get_kind_id("alias.scope"))
            .map_err(|e| Error::bug(e.to_string()))
    }

    /// Says of an access that it is to other memory than notes are, where there are any.
    fn is_no_note(&self, inst: Option<InstructionValue<'c>>) -> Result<()> {
        match inst {
            Some(inst) if self.has_notes => {
                let kind = self.cx.get_kind_id("noalias");
                inst.set_metadata(self.notes(), kind).map_err(|e| Error::bug(e.to_string()))
            }
            _ => Ok(()),
        }
    }

    /// The scope of the memory that notes are in (LLVM's *scoped noalias*).
    fn notes(&self) -> MetadataValue<'c> {
        let name = |text| BasicMetadataValueEnum::from(self.cx.metadata_string(text));
        let domain = self.cx.metadata_node(&[name("profile")]);
        let scope = self.cx.metadata_node(&[name("notes"), domain.into()]);
        self.cx.metadata_node(&[scope.into()])
    }

    /// A read-only table in the object.
    pub fn constant_data(&self, value: V<'c>, align: u32) -> PointerValue<'c> {
        let global = self.module.add_global(value.get_type(), None, "data");
        global.set_initializer(&value);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        global.set_unnamed_addr(true);
        global.set_alignment(align);
        global.as_pointer_value()
    }

    /// Read-only bytes in the object.
    pub fn constant_bytes(&self, bytes: &[u8], align: u32) -> PointerValue<'c> {
        self.constant_data(self.cx.const_string(bytes, false).into(), align)
    }

    /// Makes a load one that is neither removed nor repeated.
    pub fn set_volatile(&self, load: V<'c>) -> Result<()> {
        match load.as_instruction_value() {
            Some(inst) => inst.set_volatile(true).map_err(|e| Error::bug(e.to_string())),
            None => Ok(()),
        }
    }
}

fn align_to(inst: Option<InstructionValue<'_>>, align: u32) -> Result<()> {
    match inst {
        Some(i) => i.set_alignment(align).map_err(|e| Error::bug(e.to_string())),
        None => Ok(()),
    }
}
