//! SPIR-V to IR at specialisation time.
