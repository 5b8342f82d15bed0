//! Messages and their attributes, as bytes.

// linux/netlink.h
/// Size of the header of each message.
pub const HEADER: usize = 16;
const KIND_AT: usize = 4;
const ATTRIBUTE_HEADER: usize = 4;
const KIND_MASK: u16 = 0x3fff;

/// A message of this type, with flags.
pub fn message(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
    let mut message = Vec::with_capacity(HEADER + body.len());
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // sequence, port
    message.extend(body);
    message
}

/// The type of a message.
pub fn kind(message: &[u8]) -> Option<u16> {
    u16_at(message, KIND_AT)
}

/// The messages received together; ends at the first that is truncated or shorter than its header.
pub fn messages(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let length = u32_at(bytes, 0)? as usize;
        let one = bytes.get(..length).filter(|_| length >= HEADER)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(one)
    })
}

/// Returns the bytes after `headers` bytes of headers in a message of this type; `None` for another
/// message, or a truncated one.
pub fn body(message: &[u8], of_kind: u16, headers: usize) -> Option<&[u8]> {
    let length = u32_at(message, 0)? as usize;
    let body = message.get(headers..length)?;
    (kind(message)? == of_kind).then_some(body)
}

/// Type and value of each attribute; ends at the first that does not fit.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?);
        let kind = u16_at(bytes, 2)? & KIND_MASK;
        let value = bytes.get(ATTRIBUTE_HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The value of the first attribute with this type.
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes)
        .find(|(it, _)| *it == kind)
        .map(|(_, value)| value)
}

/// Encodes an attribute of a message.
pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((ATTRIBUTE_HEADER + value.len()) as u16)
        .to_ne_bytes()
        .to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// The text before the first NUL.
pub fn text(value: &[u8]) -> String {
    let text = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// The number at offset `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number at offset `at`.
pub fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The number at offset `at`.
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_read_as_it_is_written_and_a_cut_one_ends_the_list() {
        let mut bytes = attribute(1, b"prio\0");
        bytes.extend(attribute(40 | 0x8000, &7u32.to_ne_bytes()));
        let read: Vec<(u16, &[u8])> = attributes(&bytes).collect();
        assert_eq!(read, [(1, &b"prio\0"[..]), (40, &7u32.to_ne_bytes()[..])]);
        assert_eq!(text(read[0].1), "prio");
        assert_eq!(find(&bytes, 40), Some(&7u32.to_ne_bytes()[..]));
        assert_eq!(attributes(&bytes[..bytes.len() - 1]).count(), 1);
        assert_eq!(attributes(&[3, 0, 1, 0]).count(), 0);
    }

    #[test]
    fn messages_end_at_what_cannot_be_read() {
        let (one, other) = (message(30, 0, &[1; 5]), message(31, 0, &[]));
        let mut both = one.clone();
        both.resize(both.len().next_multiple_of(4), 0);
        let begin = both.len();
        both.extend(&other);
        assert_eq!(messages(&both).collect::<Vec<_>>(), [&one[..], &other[..]]);
        for length in begin..both.len() {
            assert_eq!(messages(&both[..length]).count(), 1, "{length}");
        }
        assert_eq!(messages(&[0; 64]).count(), 0);
        assert_eq!(
            messages(&[15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).count(),
            0
        );
    }

    #[test]
    fn a_body_is_that_of_its_kind_and_whole() {
        let whole = message(30, 0, &[1, 2, 3, 4]);
        assert_eq!(body(&whole, 30, HEADER), Some(&[1, 2, 3, 4][..]));
        assert_eq!(body(&whole, 31, HEADER), None);
        for length in 0..whole.len() {
            assert_eq!(body(&whole[..length], 30, HEADER), None, "{length}");
        }
    }
}
