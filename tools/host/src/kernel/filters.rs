//! Filters of `prio`, which assign frames to bands by their bytes. They are removed with it.

use std::io;

use weir_core::Priority;
use weir_netlink::message::attribute;
use weir_netlink::queueing::{tcmsg, TCA_KIND, TCA_OPTIONS};
use weir_netlink::socket::{order, Protocol, NLM_F_CREATE, NLM_F_EXCL};

use super::plug::{class, ROOT};
use crate::settings::{Settings, Source};

// linux/rtnetlink.h, linux/pkt_cls.h, linux/if_ether.h
const RTM_NEWTFILTER: u16 = 44;
const TCA_FLOWER_CLASSID: u16 = 1;
const TCA_FLOWER_KEY_ETH_TYPE: u16 = 8;
const TCA_FLOWER_KEY_IP_PROTO: u16 = 9;
const TCA_FLOWER_KEY_UDP_DST: u16 = 21;
const TCA_FLOWER_FLAGS: u16 = 22;
const TCA_FLOWER_KEY_VLAN_PRIO: u16 = 24;
const TCA_FLOWER_KEY_IP_TOS: u16 = 73;
const TCA_FLOWER_KEY_IP_TOS_MASK: u16 = 74;
const TCA_CLS_FLAGS_SKIP_HW: u32 = 1;
const ETH_P_ALL: u16 = 3;
const IP: [u16; 2] = [0x0800, 0x86dd];
const VLAN: [u16; 2] = [0x8100, 0x88a8];
/// Shift of the DSCP in the field with the ECN bits.
const DSCP_SHIFT: u32 = 2;
const DSCP_MASK: u8 = 0xfc;
/// Shift of its upper three bits.
const CLASS_SHIFT: u32 = 5;
const CLASS_MASK: u8 = 0xe0;

/// Frames matched by a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Match {
    Udp(u16),
    /// Value and mask.
    Tos(u8, u8),
    Pcp(u8),
}

/// Assigns matching frames of one EtherType to a priority. Filters apply in ascending `order`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Filter {
    order: u16,
    ethertype: u16,
    matches: Match,
    priority: Priority,
}

fn filters(settings: &Settings) -> Vec<Filter> {
    let mut all = Vec::new();
    let mut add = |order, ethertypes: [u16; 2], matches, priority| {
        all.extend(ethertypes.map(|ethertype| Filter {
            order,
            ethertype,
            matches,
            priority,
        }));
    };
    for rule in &settings.ports {
        add(1, IP, Match::Udp(rule.port), rule.priority);
    }
    match settings.source {
        Source::Socket => {}
        Source::Dscp => {
            for (dscp, priority) in (0u8..).zip(&settings.dscp) {
                // Most are an eighth, which a single filter covers.
                if priority.get() != dscp >> 3 {
                    add(2, IP, Match::Tos(dscp << DSCP_SHIFT, DSCP_MASK), *priority);
                }
            }
            for priority in Priority::ALL {
                let value = priority.get() << CLASS_SHIFT;
                add(3, IP, Match::Tos(value, CLASS_MASK), priority);
            }
        }
        Source::Vlan => {
            for priority in Priority::ALL {
                add(3, VLAN, Match::Pcp(priority.get()), priority);
            }
        }
    }
    all
}

fn body(ifindex: u32, filter: &Filter) -> Vec<u8> {
    let mut options = attribute(
        TCA_FLOWER_CLASSID,
        &class(filter.priority.index()).to_ne_bytes(),
    );
    let mut add = |kind, value: &[u8]| options.extend(attribute(kind, value));
    add(TCA_FLOWER_FLAGS, &TCA_CLS_FLAGS_SKIP_HW.to_ne_bytes());
    add(TCA_FLOWER_KEY_ETH_TYPE, &filter.ethertype.to_be_bytes());
    match filter.matches {
        Match::Udp(port) => {
            add(TCA_FLOWER_KEY_IP_PROTO, &[libc::IPPROTO_UDP as u8]);
            add(TCA_FLOWER_KEY_UDP_DST, &port.to_be_bytes());
        }
        Match::Tos(value, mask) => {
            add(TCA_FLOWER_KEY_IP_TOS, &[value]);
            add(TCA_FLOWER_KEY_IP_TOS_MASK, &[mask]);
        }
        Match::Pcp(pcp) => add(TCA_FLOWER_KEY_VLAN_PRIO, &[pcp]),
    }
    // Regardless of tags: the key's EtherType is the one behind them.
    let info = u32::from(filter.order) << 16 | u32::from(ETH_P_ALL.to_be());
    let mut body = tcmsg(ifindex, 0, ROOT << 16, info);
    body.extend(attribute(TCA_KIND, b"flower\0"));
    body.extend(attribute(TCA_OPTIONS, &options));
    body
}

/// Installs the filters for the settings; sockets' priorities need none.
///
/// # Errors
///
/// The kernel's error; `NotFound` without the classifier `flower`.
pub fn make(ifindex: u32, settings: &Settings) -> io::Result<()> {
    for filter in filters(settings) {
        order(
            Protocol::NetlinkRoute,
            RTM_NEWTFILTER,
            NLM_F_CREATE | NLM_F_EXCL,
            &body(ifindex, &filter),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use weir_core::BitRate;
    use weir_netlink::message::{attributes, u32_at};
    use weir_netlink::queueing::TCMSG;

    use super::*;
    use crate::settings::PortRule;

    fn settings(source: Source) -> Settings {
        let mut settings = Settings::new(BitRate::new(1_000_000_000).unwrap());
        settings.source = source;
        settings
    }

    /// Returns the priority of an IP frame with this DSCP by the kernel's rule: the first matching filter.
    fn priority_of(filters: &[Filter], dscp: u8) -> Option<Priority> {
        let mut sorted = filters.to_vec();
        sorted.sort_by_key(|filter| filter.order);
        let tos = dscp << DSCP_SHIFT | 1;
        let found = sorted.iter().find(|filter| match filter.matches {
            Match::Tos(value, mask) => tos & mask == value,
            _ => false,
        });
        found.map(|filter| filter.priority)
    }

    #[test]
    fn every_dscp_has_the_priority_that_is_set() {
        let mut settings = settings(Source::Dscp);
        settings.dscp[26] = Priority::ALL[4];
        settings.dscp[0] = Priority::ALL[7];
        let made = filters(&settings);
        assert_eq!(made.len(), 2 * (2 + 8));
        for (dscp, priority) in (0u8..).zip(settings.dscp) {
            assert_eq!(priority_of(&made, dscp), Some(priority), "{dscp}");
        }
    }

    #[test]
    fn sockets_priorities_take_no_filter_and_ports_come_first() {
        let mut settings = settings(Source::Socket);
        assert_eq!(filters(&settings), []);
        settings.ports = vec![PortRule {
            port: 4791,
            priority: Priority::ALL[3],
        }];
        settings.source = Source::Vlan;
        let made = filters(&settings);
        assert_eq!(made.len(), 2 + 2 * 8);
        assert!(made[2..].iter().all(|filter| filter.order > made[0].order));
        let body = body(7, &made[0]);
        assert_eq!(u32_at(&body, 12), Some(0x7748_0000));
        assert_eq!(body[16..20], [0x00, 0x03, 0x01, 0x00]);
        let options = attributes(&body[TCMSG..]).nth(1).unwrap().1;
        let options: Vec<(u16, Vec<u8>)> = attributes(options)
            .map(|(kind, value)| (kind, value.to_vec()))
            .collect();
        let expected = [
            (TCA_FLOWER_CLASSID, 0x7748_0005u32.to_ne_bytes().to_vec()),
            (TCA_FLOWER_FLAGS, 1u32.to_ne_bytes().to_vec()),
            (TCA_FLOWER_KEY_ETH_TYPE, vec![8, 0]),
            (TCA_FLOWER_KEY_IP_PROTO, vec![17]),
            (TCA_FLOWER_KEY_UDP_DST, vec![0x12, 0xb7]),
        ];
        assert_eq!(options, expected);
    }
}
