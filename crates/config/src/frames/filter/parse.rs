//! Parser of expressions.
//!
//! ```text
//! expression := conjunction { ("or" | "||") conjunction }
//! conjunction := factor { ("and" | "&&") factor }
//! factor := ("not" | "!") factor | "(" expression ")" | primitive
//! ```
//!
//! The book lists the primitives (docs/src/operations/capture.md).

use std::net::IpAddr;

use weir_core::{DropReason, MacAddress, Priority};

use super::{End, Filter, Next, Question, Test, TESTS_MAX};
use crate::frames::sight::Direction;

/// Maximum depth of nested parentheses and negations.
const DEPTH_MAX: usize = 16;
/// Maximum length of an expression in bytes.
const LENGTH_MAX: usize = 4_096;

const PRIMITIVES: &str =
    "admitted, arp, broadcast, clcm, control, data, dropped [REASON], dscp N, dst …, echo, \
    ecn …, ether …, feedback, greater N, held, host A, icmp, in, ip, ip6, less N, lldp, marked, \
    multicast, net A/N, out, pause, pausing, pfc, port N, priority N, sent, src …, tcp, udp, \
    vlan [ID], xoff, xon";

/// Error in an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// A word that is not valid at its position.
    #[error("filter: `{word}` (word {number}) is not valid here; expected: {legal}")]
    Word {
        /// The word.
        word: String,
        /// Its number, from 1.
        number: usize,
        /// Valid words.
        legal: String,
    },
    /// The expression is incomplete.
    #[error("filter: incomplete; expected: {legal}")]
    End {
        /// Valid continuations.
        legal: String,
    },
    /// The expression is too long, or nested too deeply.
    #[error("filter: {0}")]
    Bound(String),
}

/// Compiles an expression; an empty one matches every frame. `depths` has D of each priority of a class with Levels,
/// and 0 for others.
///
/// # Errors
///
/// [`FilterError`], with the word and valid alternatives.
pub fn parse(text: &str, depths: [u8; 8]) -> Result<Filter, FilterError> {
    if text.len() > LENGTH_MAX {
        let reason = format!("longer than {LENGTH_MAX} bytes");
        return Err(FilterError::Bound(reason));
    }
    let words = words(text);
    if words.is_empty() {
        return Ok(Filter::default());
    }
    let mut parser = Parser {
        words: &words,
        at: 0,
        depths,
        questions: 0,
    };
    let tree = parser.expression(0)?;
    if parser.peek().is_some() {
        return Err(parser.wrong("and, or, )"));
    }
    let mut tests = Vec::with_capacity(parser.questions);
    emit(&tree, Next::Accept, Next::Reject, &mut tests);
    tests.reverse();
    Ok(Filter {
        tests: point_forwards(&tests),
    })
}

#[derive(Debug)]
enum Tree {
    Question(Question),
    Not(Box<Tree>),
    And(Vec<Tree>),
    Or(Vec<Tree>),
}

/// Appends the tests of a tree, the last one first, and returns the entry point. Tests are identified by their index in
/// this order.
fn emit(tree: &Tree, then: Next, otherwise: Next, tests: &mut Vec<Test>) -> Next {
    match tree {
        Tree::Question(question) => {
            tests.push(Test {
                question: *question,
                then,
                otherwise,
            });
            Next::Test((tests.len() - 1) as u8)
        }
        Tree::Not(inner) => emit(inner, otherwise, then, tests),
        Tree::And(factors) => factors
            .iter()
            .rev()
            .fold(then, |next, factor| emit(factor, next, otherwise, tests)),
        Tree::Or(terms) => terms
            .iter()
            .rev()
            .fold(otherwise, |next, term| emit(term, then, next, tests)),
    }
}

/// The list has been reversed, so indices are as well.
fn point_forwards(tests: &[Test]) -> Vec<Test> {
    let turned = |next| match next {
        Next::Test(place) => Next::Test((tests.len() - 1 - usize::from(place)) as u8),
        other => other,
    };
    tests
        .iter()
        .map(|test| Test {
            question: test.question,
            then: turned(test.then),
            otherwise: turned(test.otherwise),
        })
        .collect()
}

fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' => 1,
            '!' => 1,
            _ => rest
                .find(|c: char| c.is_whitespace() || matches!(c, '(' | ')'))
                .unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(length);
        words.push(word);
        rest = after.trim_start();
    }
    words
}

struct Parser<'a> {
    words: &'a [&'a str],
    at: usize,
    depths: [u8; 8],
    questions: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn accept(&mut self, any_of: &[&str]) -> bool {
        let accepted = self.peek().is_some_and(|word| any_of.contains(&word));
        self.at += usize::from(accepted);
        accepted
    }

    /// Error about the next word.
    fn wrong(&self, legal: &str) -> FilterError {
        let legal = legal.to_owned();
        match self.peek() {
            Some(word) => FilterError::Word {
                word: word.chars().take(64).collect(),
                number: self.at + 1,
                legal,
            },
            None => FilterError::End { legal },
        }
    }

    fn expression(&mut self, depth: usize) -> Result<Tree, FilterError> {
        let mut terms = vec![self.conjunction(depth)?];
        while self.accept(&["or", "||"]) {
            terms.push(self.conjunction(depth)?);
        }
        Ok(Tree::Or(terms))
    }

    fn conjunction(&mut self, depth: usize) -> Result<Tree, FilterError> {
        let mut factors = vec![self.factor(depth)?];
        while self.accept(&["and", "&&"]) {
            factors.push(self.factor(depth)?);
        }
        Ok(Tree::And(factors))
    }

    fn factor(&mut self, depth: usize) -> Result<Tree, FilterError> {
        if depth > DEPTH_MAX {
            let reason = format!("more than {DEPTH_MAX} nested parentheses and negations");
            return Err(FilterError::Bound(reason));
        }
        if self.accept(&["not", "!"]) {
            return Ok(Tree::Not(Box::new(self.factor(depth + 1)?)));
        }
        if self.accept(&["("]) {
            let inner = self.expression(depth + 1)?;
            if !self.accept(&[")"]) {
                return Err(self.wrong("and, or, )"));
            }
            return Ok(inner);
        }
        self.questions += 1;
        if self.questions > TESTS_MAX {
            return Err(FilterError::Bound(format!("more than {TESTS_MAX} tests")));
        }
        self.primitive().map(Tree::Question)
    }

    fn primitive(&mut self) -> Result<Question, FilterError> {
        let legal = || format!("not, (, {PRIMITIVES}");
        let Some(word) = self.peek() else {
            return Err(self.wrong(&legal()));
        };
        self.at += 1;
        Ok(match word {
            "in" | "inbound" => Question::Direction(Direction::In),
            "out" | "outbound" => Question::Direction(Direction::Out),
            "data" => Question::Data,
            "control" => Question::Control,
            "pause" => Question::Pause,
            "pfc" => Question::Pfc,
            "clcm" => Question::Clcm,
            "echo" => Question::Echo,
            "lldp" => Question::Lldp,
            "xoff" => Question::Xoff,
            "xon" => Question::Xon,
            "feedback" => Question::Feedback(self.depths),
            "admitted" => Question::Admitted,
            "sent" => Question::Sent,
            "marked" => Question::Marked,
            "held" => Question::Held,
            "pausing" => Question::Pausing,
            "broadcast" => Question::Broadcast,
            "multicast" => Question::Multicast,
            "ip" => Question::EtherType(0x0800),
            "ip6" => Question::EtherType(0x86dd),
            "arp" => Question::EtherType(0x0806),
            "icmp" => Question::Protocol(1),
            "tcp" => Question::Protocol(6),
            "udp" => Question::Protocol(17),
            "priority" => {
                let number = self.number("a priority from 0 to 7", 7)?;
                Question::Priority(Priority::from_low_bits(number as u8))
            }
            "dropped" => Question::Dropped(self.reason()?),
            "vlan" => Question::Vlan(self.vlan()?),
            "dscp" => Question::Dscp(self.number("a DSCP from 0 to 63", 63)? as u8),
            "ecn" => Question::Ecn(self.ecn()?),
            "less" => Question::LengthAtMost(self.number("a length in bytes", 65_535)?),
            "greater" => Question::LengthAtLeast(self.number("a length in bytes", 65_535)?),
            "ether" => self.ether()?,
            "host" => self.host(End::Either)?,
            "net" => self.net(End::Either)?,
            "port" => self.port(End::Either)?,
            "src" => self.of_end(End::Source)?,
            "dst" => self.of_end(End::Destination)?,
            _ => {
                self.at -= 1;
                return Err(self.wrong(&legal()));
            }
        })
    }

    /// Parses after `src` and `dst`.
    fn of_end(&mut self, end: End) -> Result<Question, FilterError> {
        if self.accept(&["host"]) {
            self.host(end)
        } else if self.accept(&["net"]) {
            self.net(end)
        } else if self.accept(&["port"]) {
            self.port(end)
        } else if self
            .peek()
            .is_some_and(|word| word.parse::<IpAddr>().is_ok())
        {
            self.host(end)
        } else {
            Err(self.wrong("host A, net A/N, port N, an IP address"))
        }
    }

    fn ether(&mut self) -> Result<Question, FilterError> {
        if self.accept(&["proto"]) {
            let legal = "an EtherType such as 0x8808, or ip, ip6, arp, lldp, mac-control, clcm";
            let Some(word) = self.peek() else {
                return Err(self.wrong(legal));
            };
            let ethertype = match word {
                "ip" => Some(0x0800),
                "ip6" => Some(0x86dd),
                "arp" => Some(0x0806),
                "lldp" => Some(0x88cc),
                "mac-control" => Some(0x8808),
                "clcm" => Some(0x88b5),
                _ => integer(word).and_then(|number| u16::try_from(number).ok()),
            };
            let ethertype = ethertype.ok_or_else(|| self.wrong(legal))?;
            self.at += 1;
            return Ok(Question::EtherType(ethertype));
        }
        if self.accept(&["broadcast"]) {
            return Ok(Question::Broadcast);
        }
        if self.accept(&["multicast"]) {
            return Ok(Question::Multicast);
        }
        let end = if self.accept(&["src"]) {
            End::Source
        } else if self.accept(&["dst"]) {
            End::Destination
        } else {
            End::Either
        };
        let named = self.accept(&["host"]);
        let legal = match (end, named) {
            (End::Either, false) => "proto, src, dst, host, broadcast, multicast, or a MAC address",
            _ => "a MAC address such as 02:00:00:00:00:01",
        };
        let address = self.peek().and_then(|word| word.parse::<MacAddress>().ok());
        let address = address.ok_or_else(|| self.wrong(legal))?;
        self.at += 1;
        Ok(Question::EtherHost(end, address))
    }

    fn host(&mut self, end: End) -> Result<Question, FilterError> {
        let address = self.peek().and_then(|word| word.parse::<IpAddr>().ok());
        let legal = "an IPv4 or IPv6 address (`ether host` takes a MAC address)";
        let address = address.ok_or_else(|| self.wrong(legal))?;
        self.at += 1;
        Ok(Question::Net(end, address, bits_of(address)))
    }

    fn net(&mut self, end: End) -> Result<Question, FilterError> {
        let legal = "a network such as 10.0.0.0/8 or fd00::/8";
        let network = self.peek().and_then(|word| {
            let (address, prefix) = word.split_once('/')?;
            let address: IpAddr = address.parse().ok()?;
            let prefix: u8 = prefix.parse().ok()?;
            (prefix <= bits_of(address)).then_some((address, prefix))
        });
        let (address, prefix) = network.ok_or_else(|| self.wrong(legal))?;
        self.at += 1;
        Ok(Question::Net(end, address, prefix))
    }

    fn port(&mut self, end: End) -> Result<Question, FilterError> {
        let port = self.number("a port from 0 to 65535", 65_535)?;
        Ok(Question::Port(end, port as u16))
    }

    fn number(&mut self, legal: &str, max: usize) -> Result<usize, FilterError> {
        let number = self
            .peek()
            .and_then(integer)
            .filter(|number| *number <= max);
        let number = number.ok_or_else(|| self.wrong(legal))?;
        self.at += 1;
        Ok(number)
    }

    fn vlan(&mut self) -> Result<Option<u16>, FilterError> {
        match self.peek().map(integer) {
            Some(Some(_)) => Ok(Some(self.number("a VLAN ID from 0 to 4095", 4_095)? as u16)),
            _ => Ok(None),
        }
    }

    fn ecn(&mut self) -> Result<u8, FilterError> {
        let bits = match self.peek() {
            Some("not-ect") => 0,
            Some("ect1") => 1,
            Some("ect0") => 2,
            Some("ce") => 3,
            _ => return Err(self.wrong("not-ect, ect0, ect1, ce")),
        };
        self.at += 1;
        Ok(bits)
    }

    /// An optional reason; nothing else that may follow is a reason's name.
    fn reason(&mut self) -> Result<Option<DropReason>, FilterError> {
        let Some(word) = self.peek() else {
            return Ok(None);
        };
        if matches!(word, "and" | "&&" | "or" | "||" | ")") {
            return Ok(None);
        }
        let reason = DropReason::ALL
            .into_iter()
            .find(|reason| reason.name() == word);
        let Some(reason) = reason else {
            let names = DropReason::ALL.map(DropReason::name).join(", ");
            return Err(self.wrong(&format!("and, or, {names}")));
        };
        self.at += 1;
        Ok(Some(reason))
    }
}

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() {
        32
    } else {
        128
    }
}

fn integer(word: &str) -> Option<usize> {
    match word.strip_prefix("0x") {
        Some(digits) => usize::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}
