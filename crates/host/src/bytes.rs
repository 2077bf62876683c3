//! Numbers, texts and lists as bytes, for code that is kept.
//!
//! Numbers are little-endian, lists and texts start with their length. Reading checks every length
//! against what is left, so that no bytes can ask for more memory than they have.

use phalanx_ir::{BindingInfo, BindingKind};

/// What is written so far.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    /// All that was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// A number.
    pub fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    /// A number.
    pub fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    /// Bytes of any number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.0.extend(bytes);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// A list, which [`Reader::list`] reads.
    pub fn list<T>(&mut self, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|it| item(self, it));
    }

    /// A binding.
    pub fn binding(&mut self, info: &BindingInfo) {
        let BindingInfo { set, binding, count, kind, writable, name } = info;
        self.u32(*set);
        self.u32(*binding);
        self.u32(u32::from(count.is_some()));
        self.u32(count.unwrap_or(0));
        self.text(&kind.name());
        self.u32(u32::from(*writable));
        self.text(name);
    }
}

/// What is left to read.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// Reads bytes from the first on.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Whether nothing is left.
    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    /// A number.
    pub fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    /// A number.
    pub fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    /// A number that is 0 or 1.
    pub fn flag(&mut self) -> Option<bool> {
        match self.u32()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Bytes of any number.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u64()?).ok()?;
        let (head, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(head)
    }

    /// A text.
    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    /// A list; it grows with what is really there, whatever length is stated.
    pub fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.u32()?;
        let mut list = Vec::new();
        for _ in 0..length {
            list.push(item(self)?);
        }
        Some(list)
    }

    /// A binding.
    pub fn binding(&mut self) -> Option<BindingInfo> {
        let (set, binding, counted, count) = (self.u32()?, self.u32()?, self.flag()?, self.u32()?);
        if !counted && count != 0 {
            return None;
        }
        let kind = BindingKind::from_name(std::str::from_utf8(self.bytes()?).ok()?)?;
        let (writable, name) = (self.flag()?, self.text()?);
        Some(BindingInfo { set, binding, count: counted.then_some(count), kind, writable, name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let mut out = Writer::default();
        out.u32(7);
        out.list(&["a", ""], |out, text| out.text(text));
        out.u64(1 << 40);
        let bytes = out.into_bytes();
        let mut input = Reader::new(&bytes);
        assert_eq!(input.u32(), Some(7));
        assert_eq!(input.list(Reader::text), Some(vec!["a".to_owned(), String::new()]));
        assert_eq!((input.u64(), input.is_at_end(), input.u32()), (Some(1 << 40), true, None));
    }

    #[test]
    fn lengths_that_are_not_there_are_refused() {
        let bytes = [0xff; 12];
        assert_eq!(Reader::new(&bytes).bytes(), None);
        assert_eq!(Reader::new(&bytes).list(Reader::u32), None);
    }
}
