//! Lua without what is there for people alone: comments, spaces, and the length of local names.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;
use std::str::Chars;

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

/// The same script in fewer bytes, on one line. A name that is local anywhere gets the same short one
/// everywhere, except where it is that of a field.
pub fn shortened(script: &str) -> String {
    let tokens = tokens(script);
    let names = short_names(&tokens);
    let mut short = String::new();
    let mut brackets = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let before = before.map_or("", String::as_str);
        let after = tokens.get(at + 1).map_or("", String::as_str);
        match token.as_str() {
            "{" | "(" | "[" => brackets.push(token.as_str()),
            "}" | ")" | "]" => drop(brackets.pop()),
            _ => {}
        }
        let is_field = before == "."
            || (brackets.last() == Some(&"{") && ["{", ","].contains(&before) && after == "=");
        let name = names.get(token.as_str()).filter(|_| !is_field);
        let token = name.unwrap_or(token);
        if runs_together(&short, token) {
            short.push(' ');
        }
        short.push_str(token);
    }
    short
}

/// Whether two tokens would be another one without a space between.
fn runs_together(before: &str, token: &str) -> bool {
    let is_word = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let (Some(last), Some(first)) = (before.chars().last(), token.chars().next()) else {
        return false;
    };
    is_word(last) && is_word(first)
        || last == '-' && first == '-'
        || last == '[' && first == '['
        || last.is_ascii_digit() && first == '.'
}

/// The local names of a script, and short ones that are nothing else in it: the shorter the more often
/// a name is there.
fn short_names(tokens: &[String]) -> BTreeMap<&str, String> {
    let locals = locals(tokens);
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut taken: BTreeSet<&str> = KEYWORDS.into();
    for token in tokens {
        if locals.contains(token.as_str()) {
            *counts.entry(token).or_default() += 1;
        } else {
            taken.insert(token);
        }
    }
    let mut names: Vec<&str> = locals.into_iter().collect();
    names.sort_by_key(|name| std::cmp::Reverse(counts.get(name).copied()));
    let letters = || ('a'..='z').chain('A'..='Z');
    let ones = letters().map(String::from);
    let twos = letters().flat_map(|one| letters().map(move |two| String::from_iter([one, two])));
    let free = ones
        .chain(twos)
        .filter(|short| !taken.contains(short.as_str()));
    names.into_iter().zip(free).collect()
}

/// The names that a script declares as local: variables, functions, parameters and those of loops.
fn locals(tokens: &[String]) -> BTreeSet<&str> {
    let mut locals = BTreeSet::new();
    let mut rest = tokens.iter().map(String::as_str).peekable();
    while let Some(token) = rest.next() {
        match token {
            "local" if rest.peek() == Some(&"function") => {
                rest.next();
                locals.extend(rest.next());
                rest.next();
            }
            // Of a function, its parameters come after its name, if it has one.
            "function" => while rest.next().is_some_and(|token| token != "(") {},
            "local" | "for" => {}
            _ => continue,
        }
        while let Some(name) = rest.next_if(|token| is_name(token)) {
            locals.insert(name);
            if rest.next_if_eq(&",").is_none() {
                break;
            }
        }
    }
    locals
}

fn is_name(token: &str) -> bool {
    token.starts_with(|char: char| char.is_ascii_alphabetic() || char == '_')
        && !KEYWORDS.contains(&token)
}

/// The tokens of a script, without its comments.
fn tokens(script: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = script.chars().peekable();
    while let Some(char) = rest.next() {
        let mut token = String::from(char);
        if char.is_whitespace() {
            continue;
        } else if char == '-' && rest.next_if_eq(&'-').is_some() {
            while rest.next().is_some_and(|char| char != '\n') {}
            continue;
        } else if char == '\'' || char == '"' {
            quoted(&mut rest, &mut token, char);
        } else if char == '[' && rest.peek() == Some(&'[') {
            while !token.ends_with("]]") {
                token.extend(rest.next());
            }
        } else if char.is_ascii_alphanumeric() || char == '_' {
            while let Some(char) = rest.next_if(|char| char.is_ascii_alphanumeric() || *char == '_')
            {
                token.push(char);
            }
        } else {
            let longer = |next: &char| match char {
                '.' => *next == '.',
                '=' | '~' | '<' | '>' => *next == '=',
                _ => false,
            };
            token.extend(rest.next_if(longer));
            if token == ".." {
                token.extend(rest.next_if_eq(&'.'));
            }
        }
        tokens.push(token);
    }
    tokens
}

/// The rest of a text in quotes.
fn quoted(rest: &mut Peekable<Chars<'_>>, token: &mut String, quote: char) {
    while let Some(char) = rest.next() {
        token.push(char);
        if char == '\\' {
            token.extend(rest.next());
        } else if char == quote {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::shortened;

    #[test]
    fn comments_and_spaces_go_where_they_part_nothing() {
        for (script, short) in [
            ("return 1 -- one\n", "return 1"),
            ("x = 'a -- b'  ..  'it\\'s'", "x='a -- b'..'it\\'s'"),
            ("x = \" to '\" .. y .. \"'\"", "x=\" to '\"..y..\"'\""),
            ("x = [[a  'b']]", "x=[[a  'b']]"),
            ("x = 1 .. 2", "x=1 ..2"),
            ("x = 1 - -2", "x=1- -2"),
            ("x = y[ [[z]] ]", "x=y[ [[z]]]"),
            ("f(...)", "f(...)"),
            ("if a ~= b then\n  c()\nend", "if a~=b then c()end"),
        ] {
            assert_eq!(shortened(script), short);
        }
    }

    #[test]
    fn local_names_are_short_and_no_others() {
        for (script, short) in [
            ("local one, two = 1, f(one)", "local a,b=1,f(a)"),
            (
                "local function go(what) return what end",
                "local function b(a)return a end",
            ),
            (
                "for key, value in pairs(t) do key() end",
                "for a,b in pairs(t)do a()end",
            ),
            ("for i = 1, 2 do print(i) end", "for a=1,2 do print(a)end"),
            (
                "function o.op(name, ...) return name.name, ... end",
                "function o.op(a,...)return a.name,...end",
            ),
            // Fields keep theirs,
            (
                "local name = { name = name, other = t.name }",
                "local a={name=a,other=t.name}",
            ),
            ("local name = t['name'] name = 1", "local a=t['name']a=1"),
            // and what is taken stays free.
            ("local name = a + b", "local c=a+b"),
        ] {
            assert_eq!(shortened(script), short);
        }
    }
}
