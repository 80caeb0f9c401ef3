//! Reading: one pass over a text finds where the values of an object or array lie; what each of
//! them says is read from its own part.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::str::Chars;

/// How deep arrays and objects may lie in each other.
pub const MAX_DEPTH: usize = 64;

/// The largest whole number that counts: what JavaScript still counts exactly.
pub const MAX_WHOLE: u64 = 1 << 53;

/// Whether the text is one JSON value.
pub fn is_json(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    scanner.value(0).is_some() && scanner.is_at_end()
}

/// Goes through an object's fields: name and value, each as it stands in the text. `None` if the
/// text is not one object, or where `field` says so.
pub(crate) fn fields<'a>(
    text: &'a str,
    field: &mut dyn FnMut(&'a str, &'a str) -> Option<()>,
) -> Option<()> {
    let mut scanner = Scanner::new(text);
    scanner.list(b'{', b'}', &mut |scanner| {
        let name = scanner.part(&mut Scanner::string)?;
        scanner.symbol(b':')?;
        let value = scanner.part(&mut |scanner| scanner.value(1))?;
        field(name, value)
    })?;
    scanner.is_at_end().then_some(())
}

/// Goes through an array's items, each as it stands in the text. `None` if the text is not one
/// array, or where `item` says so.
pub fn array<'a>(text: &'a str, item: &mut dyn FnMut(&'a str) -> Option<()>) -> Option<()> {
    let mut scanner = Scanner::new(text);
    scanner.list(b'[', b']', &mut |scanner| {
        let value = scanner.part(&mut |scanner| scanner.value(1))?;
        item(value)
    })?;
    scanner.is_at_end().then_some(())
}

/// What a string says. `None` for any other value, and for text that is not Unicode: a lone
/// surrogate would turn into another character on its way.
pub(crate) fn text(value: &str) -> Option<Cow<'_, str>> {
    let inside = value.strip_prefix('"')?.strip_suffix('"')?;
    if !inside.bytes().any(|byte| byte == b'\\') {
        return Some(Cow::Borrowed(inside));
    }
    let mut rest = inside.chars();
    let mut out = String::with_capacity(inside.len());
    while let Some(char) = rest.next() {
        out.push(if char == '\\' {
            unescaped(&mut rest)?
        } else {
            char
        });
    }
    Some(Cow::Owned(out))
}

/// The texts in an array of strings. `None` for anything else.
pub fn text_items(value: &str) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    array(value, &mut |value| {
        texts.push(text(value)?.into());
        Some(())
    })?;
    Some(texts)
}

/// A whole number up to [`MAX_WHOLE`], written without fraction or exponent.
pub(crate) fn whole(value: &str) -> Option<u64> {
    value.bytes().try_fold(0, |number: u64, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        Some(number * 10 + digit).filter(|number| *number <= MAX_WHOLE)
    })
}

/// The character that an escape stands for.
fn unescaped(rest: &mut Chars<'_>) -> Option<char> {
    Some(match rest.next()? {
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'u' => {
            let first = unit(rest)?;
            if let Some(char) = char::from_u32(first) {
                return Some(char);
            }
            (rest.next()? == '\\' && rest.next()? == 'u').then_some(())?;
            let second = unit(rest)?;
            if first >= 0xdc00 || !(0xdc00..0xe000).contains(&second) {
                return None;
            }
            char::from_u32(0x1_0000 + ((first & 0x3ff) << 10) + (second & 0x3ff))?
        }
        char => char,
    })
}

/// A UTF-16 code unit in hexadecimal.
fn unit(rest: &mut Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit << 4 | rest.next()?.to_digit(16)?))
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        let mut scanner = Self { text, at: 0 };
        scanner.space();
        scanner
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn next(&mut self) -> Option<u8> {
        let byte = self.peek()?;
        self.at += 1;
        Some(byte)
    }

    fn skip(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let from = self.at;
        while self.peek().is_some_and(&wanted) {
            self.at += 1;
        }
        self.at - from
    }

    fn space(&mut self) {
        self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    fn is_at_end(&mut self) -> bool {
        self.space();
        self.at == self.text.len()
    }

    /// The part of the text that `read` goes over.
    fn part(&mut self, read: &mut dyn FnMut(&mut Self) -> Option<()>) -> Option<&'a str> {
        let from = self.at;
        read(self)?;
        self.text.get(from..self.at)
    }

    /// Goes over this symbol, with space around it.
    fn symbol(&mut self, wanted: u8) -> Option<()> {
        self.space();
        (self.next()? == wanted).then_some(())?;
        self.space();
        Some(())
    }

    /// Goes over one value, which lies in so many others.
    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'{' | b'[' if depth == MAX_DEPTH => None,
            b'{' => self.list(b'{', b'}', &mut |scanner| {
                scanner.string()?;
                scanner.symbol(b':')?;
                scanner.value(depth + 1)
            }),
            b'[' => self.list(b'[', b']', &mut |scanner| scanner.value(depth + 1)),
            b'"' => self.string(),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number(),
        }
    }

    fn list(
        &mut self,
        open: u8,
        close: u8,
        item: &mut dyn FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.symbol(open)?;
        if self.peek() == Some(close) {
            return self.next().map(drop);
        }
        loop {
            item(self)?;
            self.space();
            match self.next()? {
                b',' => self.space(),
                byte => return (byte == close).then_some(()),
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        (self.next()? == b'"').then_some(())?;
        loop {
            self.skip(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next()?.is_ascii_hexdigit().then_some(())?;
                        }
                    }
                    _ => return None,
                },
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<()> {
        let digits = |scanner: &mut Self| {
            let count = scanner.skip(|byte| byte.is_ascii_digit());
            (count > 0).then_some(())
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            digits(self)?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            digits(self)?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            digits(self)?;
        }
        Some(())
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text.get(self.at..)?.starts_with(word).then_some(())?;
        self.at += word.len();
        Some(())
    }
}
