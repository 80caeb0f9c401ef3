//! Structure out of arbitrary bytes.

/// Reads bytes from front to back. Past the end every choice is the first one, so that any bytes
/// make sense, and a part cut off the end takes away from the end of the story only.
#[derive(Clone, Debug)]
pub struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// All of `data`, from its front.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// Whether everything has been read.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte; zero past the end.
    pub fn byte(&mut self) -> u8 {
        match self.rest.split_first() {
            Some((first, rest)) => {
                self.rest = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below `end`, which is from 1 to 256.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// A number that is small as often as it is huge: so many bytes as the first one says.
    pub fn number(&mut self) -> u64 {
        let length = self.below(9);
        (0..length).fold(0, |value, _| value << 8 | u64::from(self.byte()))
    }

    /// Up to `most` bytes as they are.
    pub fn some(&mut self, most: usize) -> &'a [u8] {
        let length = self.below(256).min(most).min(self.rest.len());
        let (some, rest) = self.rest.split_at(length);
        self.rest = rest;
        some
    }

    /// Text of up to `most` bytes, with a sign in place of what is no text.
    pub fn text(&mut self, most: usize) -> String {
        String::from_utf8_lossy(self.some(most)).into_owned()
    }

    /// What has not been read.
    pub fn remainder(self) -> &'a [u8] {
        self.rest
    }
}
