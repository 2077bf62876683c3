//! Which elements of an access lie inside the buffer.
//!
//! Offsets and strides come from the program and may be anything. All arithmetic is exact: an offset of 64 bits,
//! negative before the buffer, plus 2^32 strides of 63 bits stay far inside 128 bits.
//!
//! The buffer of a device address begins at address 0 and has the size 2^64 - 1, as no other has. Nothing lies before
//! it, so its offsets have no sign: those from 2^63 on fault, as any address does at which there is no memory. Places in
//! it are found by wrapping addition: the compiler may take what plain pointer addition makes of a null pointer for
//! null again.

/// Where the lines of an access lie in a buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    offset: i128,
    stride: i64,
    size: u64,
    /// Bytes of one element.
    elem: usize,
}

impl Range {
    #[inline(always)]
    pub(crate) fn new(offset: u64, stride: i64, size: u64, elem: usize) -> Self {
        let is_address = size == u64::MAX;
        let offset = if is_address { i128::from(offset) } else { i128::from(offset.cast_signed()) };
        Self { offset, stride, size, elem }
    }

    /// The offset of the first line when `lines` lines of `len` elements all lie inside.
    #[inline(always)]
    pub(crate) fn whole(&self, lines: usize, len: usize) -> Option<usize> {
        let first = self.offset;
        let last = first + i128::from(self.stride) * (lines as i128 - 1);
        let end = first.max(last) + (len * self.elem) as i128;
        (first.min(last) >= 0 && end <= i128::from(self.size)).then_some(self.offset as usize)
    }

    /// For one line: the first element inside, the end of those inside, and the byte offset of the first.
    pub(crate) fn line(&self, line: usize, len: usize) -> (usize, usize, usize) {
        let size = self.elem as i128;
        let start = self.offset + i128::from(self.stride) * line as i128;
        // Elements before the buffer begin at a negative offset, those behind it end beyond its size.
        let first = (-start).max(0).div_euclid(size) + i128::from((-start).max(0).rem_euclid(size) != 0);
        let end = (i128::from(self.size) - start).max(0).div_euclid(size).min(len as i128);
        if first >= end {
            return (0, 0, 0);
        }
        (first as usize, end as usize, (start + first * size) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::Range;

    #[test]
    fn extreme_offsets_and_strides_do_not_overflow() {
        for offset in [0, 1, 63, u64::MAX, u64::MAX - 7, 1 << 63] {
            for stride in [0, 1, -1, 8, i64::MIN, i64::MAX] {
                for size in [0, 1, 64, u64::MAX] {
                    let range = Range::new(offset, stride, size, 4);
                    let whole = range.whole(1024, 1024);
                    for line in [0, 1, 1023] {
                        let (first, end, at) = range.line(line, 1024);
                        assert!(whole.is_none() || (first, end) == (0, 1024));
                        if first < end {
                            assert!((at + (end - first) * 4) as u128 <= u128::from(size));
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_device_address_is_inside() {
        for address in [0, 1 << 47, 1 << 63, 0xdead_beef_dead_bee0, 64_u64.wrapping_neg()] {
            let range = Range::new(address, -16, u64::MAX, 4);
            assert_eq!(range.whole(1, 8), Some(address as usize));
            assert_eq!(range.line(0, 8), (0, 8, address as usize));
        }
        assert_eq!(Range::new(64, -32, u64::MAX, 4).whole(3, 8), Some(64));
        assert_eq!(Range::new(64, -32, u64::MAX, 4).whole(4, 8), None);
    }

    #[test]
    fn a_line_that_begins_before_the_buffer_ends_inside() {
        let range = Range::new(8_u64.wrapping_neg(), 4, 8, 4);
        assert_eq!(range.whole(1, 4), None);
        assert_eq!(range.line(0, 5), (2, 4, 0));
        assert_eq!(range.line(1, 5), (1, 3, 0));
        assert_eq!(range.whole(1, 2), None);
    }

    #[test]
    fn elements_that_straddle_an_end_are_outside() {
        // Line 0 starts at 6, line 1 at 1, line 2 at -4, line 3 at -9.
        let range = Range::new(6, -5, 9, 4);
        assert_eq!(range.whole(1, 1), None);
        assert_eq!(range.line(0, 4), (0, 0, 0));
        assert_eq!(range.line(1, 4), (0, 2, 1));
        assert_eq!(range.line(2, 4), (1, 3, 0));
        assert_eq!(range.line(3, 4), (3, 4, 3));
    }
}
