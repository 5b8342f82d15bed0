//! Linked list of a hash bucket.

pub(super) trait Chained {
    fn chain_mut(&mut self) -> &mut u32;
}

pub(super) fn unchain<T: Chained>(first: &mut u32, all: &mut [T], index: u32) {
    let after = *all[index as usize].chain_mut();
    if *first == index {
        *first = after;
        return;
    }
    let mut at = *first;
    while let Some(member) = all.get_mut(at as usize) {
        let chain = member.chain_mut();
        if *chain == index {
            *chain = after;
            return;
        }
        at = *chain;
    }
}
