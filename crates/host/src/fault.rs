//! Accesses to memory that is not there.

use std::fmt;

use crate::allocations::NearestBuffer;

/// What is done about device addresses that lead nowhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Addresses {
    /// Nothing: the process ends, as by a wild pointer of its own. No handler of a signal is installed.
    Trust,
    /// The fault of such an access is caught, and the dispatch ends with an error. For this a handler of `SIGSEGV` and
    /// `SIGBUS` is installed when the first pipeline runs that uses addresses; faults that are not a kernel's go to the
    /// handler before it. An address that leads to memory of something else is not noticed.
    #[default]
    Catch,
    /// Each access by address is checked against the buffers of the device that are there, so that none goes anywhere
    /// else: not to memory of something else, nor from one buffer into the next. Kernels with addresses are many times
    /// slower for it. Faults are caught as well.
    Check,
}

/// An access of a kernel to memory that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The entry point.
    pub kernel: String,
    /// Where the access stands in the source, as `file:line`, where that is known.
    pub place: Option<String>,
    /// The address; unknown if it is one that no memory can have.
    pub address: Option<u64>,
    /// Whether it wrote, where that is known.
    pub wrote: Option<bool>,
    /// The buffer that is nearest to the address.
    pub nearest: Option<NearestBuffer>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the kernel `{}` ", self.kernel.escape_debug())?;
        f.write_str(match self.wrote {
            Some(true) => "wrote to ",
            Some(false) => "read from ",
            None => "accessed ",
        })?;
        match self.address {
            Some(address) => write!(f, "address {address:#x}")?,
            None => f.write_str("an address that no memory can have")?,
        }
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        match (&self.nearest, self.address) {
            (Some(nearest), _) if nearest.is_inside() => write!(f, ", {nearest}, which is gone"),
            (Some(nearest), _) => write!(f, ", which is in no buffer: {nearest}"),
            (None, Some(_)) => f.write_str(", which is in no buffer; there are none"),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_what_is_known() {
        let nearest = NearestBuffer { address: 0x1000, size: 16, wanted: 0x1018 };
        let fault = Fault {
            kernel: "main".into(),
            place: Some("a.comp:7".into()),
            address: Some(0x1018),
            wrote: Some(true),
            nearest: Some(nearest),
        };
        assert_eq!(
            fault.to_string(),
            "the kernel `main` wrote to address 0x1018 at a.comp:7, which is in no buffer: \
             8 bytes behind the end of the buffer of 16 bytes at 0x1000"
        );
        let fault = Fault { place: None, address: None, wrote: None, nearest: None, ..fault };
        assert_eq!(fault.to_string(), "the kernel `main` accessed an address that no memory can have");
    }
}
