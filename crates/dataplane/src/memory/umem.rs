//! The memory shared by all ports.

use std::io;
use std::num::NonZeroU32;

use weir_config::daemon::HugePages;
use weir_core::Form;
use weir_ebpf::{Meta, META_LENGTH};
use xsk_rs::config::{FrameSize, QueueSize, UmemConfig};
use xsk_rs::{FrameDesc, Umem};

use super::chains::{Begun, Chains};
use super::moved::AddressField;
use super::pool::Chunk;
use super::shares::{Region, Shares};
use crate::error::DataplaneError;

/// Bytes of a huge page, unless the kernel is configured otherwise.
const HUGE_PAGE: u64 = 2 << 20;
const HUGE_PAGES_OF_MACHINE: &str = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// Returns true if the machine has huge pages, free or not: another process may free some when it ends.
pub(crate) fn machine_has_huge_pages() -> bool {
    let is_some = |file: &str| {
        let count = std::fs::read_to_string(format!("{HUGE_PAGES_OF_MACHINE}/{file}"));
        count.map_or(true, |count| count.trim() != "0")
    };
    is_some("nr_hugepages") || is_some("nr_overcommit_hugepages")
}

const ADDRESSES: usize = 12;
const TAG_LENGTH: usize = 4;

/// One UMEM with a descriptor for each chunk: offset and length of the frame, or part of a frame, in it.
#[derive(Debug)]
pub(crate) struct Memory {
    umem: Umem,
    descriptors: Vec<FrameDesc>,
    chains: Chains,
    /// `None` if frames cannot be moved within their chunks.
    address: Option<AddressField>,
    /// A power of two, as the kernel requires.
    chunk_size: usize,
    /// Its binary logarithm.
    chunk_shift: u32,
    has_huge_pages: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryOptions {
    pub(crate) count: u32,
    pub(crate) chunk_size: u32,
    pub(crate) fill_ring: u32,
    pub(crate) completion_ring: u32,
    pub(crate) huge_pages: HugePages,
    /// True if a frame may take several chunks.
    pub(crate) has_long_frames: bool,
}

impl Memory {
    pub(crate) fn new(options: MemoryOptions) -> Result<Self, DataplaneError> {
        let MemoryOptions {
            count,
            chunk_size,
            fill_ring,
            completion_ring,
            huge_pages,
            has_long_frames,
        } = options;
        let failed = |error: &dyn std::error::Error| DataplaneError::Umem {
            mebibytes: (u64::from(count) * u64::from(chunk_size)) >> 20,
            reason: format!("{}; {}", with_cause(error), remedy(error)),
        };
        let size = |entries| QueueSize::new(entries).map_err(|error| failed(&error));
        let config = UmemConfig::builder()
            .frame_size(FrameSize::new(chunk_size).map_err(|error| failed(&error))?)
            .fill_queue_size(size(fill_ring)?)
            .comp_queue_size(size(completion_ring)?)
            .build()
            .map_err(|error| failed(&error))?;
        let map = |huge: bool| {
            let count = if huge {
                whole_pages(count, chunk_size)
            } else {
                count
            };
            let made = NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
            Umem::new(config, made, huge)
        };
        let mapped = match huge_pages {
            HugePages::Off => None,
            HugePages::Auto => map(true).ok(),
            HugePages::Require => Some(map(true).map_err(|error| DataplaneError::HugePages {
                pages: u64::from(whole_pages(count, chunk_size)) * u64::from(chunk_size)
                    / HUGE_PAGE,
                reason: with_cause(&error),
            })?),
        };
        let has_huge_pages = mapped.is_some();
        let (umem, descriptors) = match mapped {
            Some(mapped) => mapped,
            None => map(false).map_err(|error| failed(&error))?,
        };
        let chained = if has_long_frames {
            descriptors.len()
        } else {
            0
        };
        Ok(Self {
            umem,
            descriptors,
            chains: Chains::new(chained),
            address: AddressField::find(),
            chunk_size: chunk_size as usize,
            chunk_shift: chunk_size.trailing_zeros(),
            has_huge_pages,
        })
    }

    pub(crate) fn has_huge_pages(&self) -> bool {
        self.has_huge_pages
    }

    /// Returns the state needed to open sockets while the memory is in use.
    pub(crate) fn shares(&self, options: MemoryOptions) -> Shares {
        let first = self.descriptors.first().copied().unwrap_or_default();
        // SAFETY: the descriptor is of this UMEM, and no byte is accessed.
        let at = unsafe { self.umem.data(&first) }.contents().as_ptr();
        let begin = at.wrapping_sub(first.addr());
        Shares::new(
            self.umem.clone(),
            Region {
                address: begin as u64,
                length: (self.descriptors.len() * self.chunk_size) as u64,
                chunk_size: self.chunk_size as u32,
                rx_ring: options.fill_ring,
                tx_ring: options.completion_ring,
            },
        )
    }

    pub(crate) fn descriptor(&self, chunk: Chunk) -> Option<&FrameDesc> {
        self.descriptors.get(chunk as usize)
    }

    /// Stores the kernel's descriptor of a received frame, or of its next part after those in `begun`. Returns the frame's
    /// first chunk once it is complete.
    pub(crate) fn note_received(
        &mut self,
        descriptor: FrameDesc,
        begun: &mut Option<Begun>,
    ) -> Option<Chunk> {
        let chunk = self.chunk_of(&descriptor)?;
        *self.descriptors.get_mut(chunk as usize)? = descriptor;
        self.prefetch(&descriptor);
        self.chains
            .append(begun, chunk, descriptor.has_more_frames())
    }

    /// Returns the first chunk of a frame whose last chunk the transmitter returns here: it returns all chunks of a frame,
    /// in order.
    pub(crate) fn note_completed(&self, descriptor: &FrameDesc) -> Option<Chunk> {
        let chunk = self.chunk_of(descriptor)?;
        let goes_on = self.descriptor(chunk)?.has_more_frames();
        (!goes_on).then(|| self.chains.after(chunk))
    }

    /// Returns the next chunk of the frame; `None` at its end.
    pub(crate) fn next(&self, chunk: Chunk) -> Option<Chunk> {
        let goes_on = self.descriptor(chunk)?.has_more_frames();
        goes_on.then(|| self.chains.after(chunk))
    }

    fn chunk_of(&self, descriptor: &FrameDesc) -> Option<Chunk> {
        let index = descriptor.addr() >> self.chunk_shift;
        (index < self.descriptors.len()).then_some(index as Chunk)
    }

    pub(crate) fn frame(&self, chunk: Chunk) -> (Option<Meta>, &[u8]) {
        let Some(descriptor) = self.descriptor(chunk) else {
            return (None, &[]);
        };
        // SAFETY: the descriptor is of this UMEM. The caller holds the chunk (contract of `Io`), so neither the kernel nor
        // this process writes to it while `self` is borrowed.
        let data = unsafe { self.umem.data(descriptor) }.contents();
        (self.read_meta(descriptor, data), data)
    }

    /// Lets `edit` change a held chunk's frame in place.
    pub(crate) fn edit(&mut self, chunk: Chunk, edit: &mut dyn FnMut(&mut [u8])) {
        if let Some(descriptor) = self.descriptors.get_mut(chunk as usize) {
            // SAFETY: the descriptor is of this UMEM and the caller holds the chunk, so this is the only
            // reference to its bytes.
            edit(unsafe { self.umem.data_mut(descriptor) }.contents_mut());
        }
    }

    /// Lets `write` store a frame in one chunk, where a received frame would begin.
    pub(crate) fn write(
        &mut self,
        chunk: Chunk,
        write: &mut dyn FnMut(&mut [u8]) -> Option<usize>,
    ) -> bool {
        let Some(descriptor) = self.descriptors.get_mut(chunk as usize) else {
            return false;
        };
        descriptor.set_options(0);
        self.chains.set_alone(chunk);
        // SAFETY: the descriptor is of this UMEM and the caller holds the chunk, so this is the only
        // reference to its bytes.
        let mut data = unsafe { self.umem.data_mut(descriptor) };
        let mut cursor = data.cursor();
        let capacity = cursor.buf_len();
        cursor.set_pos(capacity);
        let length = write(data.contents_mut());
        data.cursor().set_pos(length.unwrap_or(0));
        length.is_some()
    }

    /// Returns true if a held chunk has room for a VLAN tag in front of the frame, together with the metadata.
    pub(crate) fn has_room_for_tag(&self, chunk: Chunk) -> bool {
        let room = |descriptor: &FrameDesc| descriptor.addr() & (self.chunk_size - 1);
        let descriptor = self.descriptor(chunk);
        self.address.is_some() && descriptor.is_some_and(|it| room(it) >= META_LENGTH + TAG_LENGTH)
    }

    /// Inserts or removes the tag of the frame in a held chunk, in place: only its addresses and its metadata move. Returns
    /// false, without any change, if there is [no room](Self::has_room_for_tag) or no tag.
    pub(crate) fn reform(&mut self, chunk: Chunk, form: Form) -> bool {
        let has_room = self.has_room_for_tag(chunk);
        let (Some(field), Some(descriptor)) =
            (self.address, self.descriptors.get_mut(chunk as usize))
        else {
            return false;
        };
        let (start, length) = (descriptor.addr(), descriptor.lengths().data());
        let least = ADDRESSES + if form.grows_by() > 0 { 0 } else { TAG_LENGTH };
        if !has_room || length < least {
            return form == Form::AsIs;
        }
        // Bytes that move, and the place of the tag: metadata, addresses, tag.
        let window = META_LENGTH + ADDRESSES + TAG_LENGTH;
        let (begin, end, tag) = match form {
            Form::AsIs => return true,
            Form::Retagged(tag) => (start, start, Some(tag)),
            Form::Untagged => (start, start + TAG_LENGTH, None),
            Form::Tagged(tag) => (start - TAG_LENGTH, start - TAG_LENGTH, Some(tag)),
        };
        field.set(descriptor, begin - META_LENGTH);
        // SAFETY: the descriptor is of this UMEM and still begins in the same chunk, as just checked. The caller holds the
        // chunk, so this is the only reference to its bytes.
        let mut data = unsafe { self.umem.data_mut(descriptor) };
        data.cursor().set_pos(window);
        let bytes = data.contents_mut();
        match form {
            Form::Untagged => bytes.copy_within(..window - TAG_LENGTH, TAG_LENGTH),
            Form::Tagged(_) => bytes.copy_within(TAG_LENGTH.., 0),
            Form::AsIs | Form::Retagged(_) => {}
        }
        if let (Some(tag), Some(place)) = (tag, bytes.last_chunk_mut::<TAG_LENGTH>()) {
            let [high, low] = tag.bits().to_be_bytes();
            *place = [0x81, 0x00, high, low];
        }
        field.set(descriptor, end);
        // SAFETY: as above.
        let mut data = unsafe { self.umem.data_mut(descriptor) };
        let length = length.saturating_add_signed(form.grows_by() as isize);
        data.cursor().set_pos(length);
        true
    }

    /// Copies a frame, or a part of one, and its metadata from one held chunk to the same place in another. The copy is a
    /// complete frame. Returns false if that is impossible.
    pub(crate) fn copy(&mut self, from: Chunk, to: Chunk) -> bool {
        let (Some(field), Some(source)) = (self.address, self.descriptor(from).copied()) else {
            return false;
        };
        let (place, length) = (
            source.addr() & (self.chunk_size - 1),
            source.lengths().data(),
        );
        if from == to || place < META_LENGTH {
            return false;
        }
        let Some(descriptor) = self.descriptors.get_mut(to as usize) else {
            return false;
        };
        let mut source = source;
        let begin = source.addr() - META_LENGTH;
        field.set(&mut source, begin);
        field.set(
            descriptor,
            ((to as usize) << self.chunk_shift) + place - META_LENGTH,
        );
        descriptor.set_options(0);
        // SAFETY: both descriptors are of this UMEM and begin in their chunks, which differ, and the caller holds both.
        let mut read = unsafe { self.umem.data_mut(&mut source) };
        read.cursor().set_pos(length + META_LENGTH);
        // SAFETY: as above.
        let mut write = unsafe { self.umem.data_mut(descriptor) };
        write.cursor().set_pos(length + META_LENGTH);
        write.contents_mut().copy_from_slice(read.contents());
        field.set(descriptor, ((to as usize) << self.chunk_shift) + place);
        // SAFETY: as above.
        unsafe { self.umem.data_mut(descriptor) }
            .cursor()
            .set_pos(length);
        self.chains.set_alone(to);
        true
    }

    /// Links chunks that were [written](Self::write) as parts of one frame.
    pub(crate) fn chain(&mut self, chunks: &[Chunk]) {
        let mut begun = None;
        for (at, chunk) in chunks.iter().enumerate() {
            let goes_on = at + 1 < chunks.len();
            if let Some(descriptor) = self.descriptors.get_mut(*chunk as usize) {
                descriptor.set_options(if goes_on { libc::XDP_PKT_CONTD } else { 0 });
            }
            self.chains.append(&mut begun, *chunk, goes_on);
        }
    }

    /// Prefetches a frame's metadata and headers, which another CPU has just written, while earlier
    /// ones are processed.
    #[inline]
    fn prefetch(&self, descriptor: &FrameDesc) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
            // SAFETY: the descriptor is of this UMEM, and the kernel has handed its chunk over.
            let frame = unsafe { self.umem.data(descriptor) }.contents().as_ptr();
            // SAFETY: a prefetch reads nothing and never faults, wherever it points.
            unsafe {
                _mm_prefetch::<_MM_HINT_T0>(frame.wrapping_sub(META_LENGTH).cast());
                _mm_prefetch::<_MM_HINT_T0>(frame.cast());
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = descriptor;
    }

    fn read_meta(&self, descriptor: &FrameDesc, data: &[u8]) -> Option<Meta> {
        if descriptor.addr() & (self.chunk_size - 1) < META_LENGTH {
            return None;
        }
        let mut record = [0u8; META_LENGTH];
        // SAFETY: the frame begins at least META_LENGTH bytes into its chunk, as just checked, so the record lies in the
        // same chunk of the same mapping. The caller holds the chunk.
        unsafe {
            std::ptr::copy_nonoverlapping(
                data.as_ptr().sub(META_LENGTH),
                record.as_mut_ptr(),
                META_LENGTH,
            );
        }
        Meta::read(&record)
    }
}

/// Rounds the number of chunks up to whole huge pages, as unmapping requires. Chunks beyond `count` stay unused.
fn whole_pages(count: u32, chunk_size: u32) -> u32 {
    let chunks_of_a_page = (HUGE_PAGE / u64::from(chunk_size.max(1))).max(1) as u32;
    count.next_multiple_of(chunks_of_a_page)
}

/// Returns the remedy for a UMEM that the kernel refused.
fn remedy(error: &dyn std::error::Error) -> &'static str {
    let cause = error.source().and_then(|cause| cause.downcast_ref());
    match cause.map(io::Error::kind) {
        Some(io::ErrorKind::PermissionDenied) => {
            "AF_XDP needs CAP_NET_RAW, and packet memory CAP_IPC_LOCK (or root)"
        }
        _ => "reduce buffers (xoff, headroom, buffer) or use a larger cell",
    }
}

pub(crate) fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("failed")]
    struct Failed(#[source] io::Error);

    #[test]
    fn missing_rights_and_missing_memory_have_their_own_remedies() {
        let remedy = |code| remedy(&Failed(io::Error::from_raw_os_error(code)));
        assert!(remedy(libc::EPERM).contains("CAP_NET_RAW"));
        assert!(remedy(libc::ENOMEM).contains("reduce buffers"));
    }
}
